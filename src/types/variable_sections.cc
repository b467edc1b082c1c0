#include "types/variable_sections.h"

namespace btfloom {

namespace {

bool contains(const VariableSection& section, std::uint64_t address) {
  return address >= section.address && address - section.address < section.size;
}

}  // namespace

void VariableSections::add_file() {
  const auto first = static_cast<std::uint32_t>(sections_.size());
  files_.push_back({.first = first, .end = first, .wanted = {}});
}

void VariableSections::add(const VariableSection& section) {
  File& file = files_.back();
  if (section.is_wanted) {
    file.wanted.push_back(file.end);
  }
  sections_.push_back(section);
  objects_.emplace_back();
  ++file.end;
}

void VariableSections::add_object(std::uint32_t section_index, std::string_view name) {
  for (const std::uint32_t wanted : files_.back().wanted) {
    if (sections_[wanted].index == section_index) {
      objects_[wanted].insert(name);
    }
  }
}

std::optional<VariableSections::Place> VariableSections::find(std::uint32_t file,
                                                              std::uint64_t address) const {
  const File& table = files_[file];
  for (const std::uint32_t wanted : table.wanted) {
    if (!contains(sections_[wanted], address)) {
      continue;
    }
    for (std::uint32_t i = table.first; i < wanted; ++i) {
      if (contains(sections_[i], address)) {
        return std::nullopt;  // an earlier section, not wanted, has it
      }
    }
    return Place{wanted, address - sections_[wanted].address};
  }
  return std::nullopt;
}

bool VariableSections::has_object(std::uint32_t section, std::string_view name) const {
  return objects_[section].contains(name);
}

}  // namespace btfloom
