// VariableSections: which variables get a VAR, by the section that their address lies in.
//
// A variable belongs to the first section, by index, whose addresses contain its own, and is kept
// if that section is one of the wanted ones: .data..percpu, or all of them. In that section offset
// 0 is special: leftovers of discarded sections end up there, so the symbol table must confirm such
// a variable by name.
//
// Sections of several files are numbered one after another. Const after setup: any thread may call
// find().
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace btfloom {

struct VariableSection {
  std::string_view name;
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint32_t index = 0;  // in its file
  bool is_wanted = false;   // its variables get VARs
};

class VariableSections {
 public:
  struct Place {
    std::uint32_t section = 0;
    std::uint64_t offset = 0;
  };

  // Starts the next input file; its sections follow in index order.
  void add_file();
  void add(const VariableSection& section);
  // An object symbol of the file; kept if its section is wanted. Its name must outlive this.
  void add_object(std::uint32_t section_index, std::string_view name);

  // Where `address` lies, if that section is wanted.
  [[nodiscard]] std::optional<Place> find(std::uint32_t file, std::uint64_t address) const;
  [[nodiscard]] bool has_object(std::uint32_t section, std::string_view name) const;
  [[nodiscard]] const VariableSection& operator[](std::uint32_t section) const {
    return sections_[section];
  }
  [[nodiscard]] std::size_t size() const { return sections_.size(); }

 private:
  struct File {
    std::uint32_t first = 0;
    std::uint32_t end = 0;
    std::vector<std::uint32_t> wanted;
  };
  std::vector<VariableSection> sections_;
  std::vector<std::unordered_set<std::string_view>> objects_;  // by section; only of wanted ones
  std::vector<File> files_;
};

}  // namespace btfloom
