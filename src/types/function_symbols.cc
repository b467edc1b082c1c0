#include "types/function_symbols.h"

#include <bit>

#include "support/hash.h"

namespace btfloom {

namespace {

bool is_part_of_function(std::string_view suffix) {
  return suffix.find(".cold") != std::string_view::npos ||
         suffix.find(".part") != std::string_view::npos;
}

}  // namespace

void FunctionSymbols::add_file(std::size_t expected) {
  File file;
  file.slots.resize(std::bit_ceil(expected * 2 + 16));
  file.first_symbol = static_cast<std::uint32_t>(symbols_.size());
  files_.push_back(std::move(file));
}

std::size_t FunctionSymbols::probe(const File& file, std::uint64_t hash, std::string_view stem,
                                   const std::vector<FunctionSymbol>& symbols) {
  const std::size_t mask = file.slots.size() - 1;
  std::size_t at = hash & mask;
  while (file.slots[at].symbol != kNotFound &&
         (file.slots[at].hash != hash || symbols[file.slots[at].symbol].stem != stem)) {
    at = (at + 1) & mask;
  }
  return at;
}

void FunctionSymbols::grow(File& file) const {
  std::vector<Slot> old(file.slots.size() * 2);
  old.swap(file.slots);
  const std::size_t mask = file.slots.size() - 1;
  for (const Slot& slot : old) {
    if (slot.symbol == kNotFound) {
      continue;
    }
    std::size_t at = slot.hash & mask;
    while (file.slots[at].symbol != kNotFound) {
      at = (at + 1) & mask;
    }
    file.slots[at] = slot;
  }
}

void FunctionSymbols::add(std::string_view name, std::uint64_t value) {
  File& file = files_.back();
  const std::size_t dot = name.find('.');
  if (dot != std::string_view::npos && is_part_of_function(name.substr(dot))) {
    return;
  }
  const std::string_view stem = name.substr(0, dot);
  if ((symbols_.size() - file.first_symbol + 1) * 2 > file.slots.size()) {
    grow(file);
  }
  const std::uint64_t hash = hash_text(stem);
  Slot& slot = file.slots[probe(file, hash, stem, symbols_)];
  const auto member = static_cast<std::uint32_t>(members_.size());
  members_.push_back({.name = name, .value = value});
  if (slot.symbol == kNotFound) {
    slot = {hash, static_cast<std::uint32_t>(symbols_.size())};
    symbols_.push_back({.stem = stem, .first_member = member, .last_member = member});
    return;
  }
  FunctionSymbol& symbol = symbols_[slot.symbol];
  // An address that follows a different one; 0 (an undefined symbol, the start of a section) says
  // nothing.
  const std::uint64_t previous = members_[symbol.last_member].value;
  symbol.is_ambiguous = symbol.is_ambiguous || (previous != 0 && previous != value);
  members_[symbol.last_member].next = member;
  symbol.last_member = member;
}

// The peer marks a stem ambiguous when its walk over the sorted table moves on to the next one, so
// the last one is never marked. Mirrored (docs/encoding-choices.md): the answers must agree.
void FunctionSymbols::finish_file() {
  FunctionSymbol* last = nullptr;
  for (std::size_t i = files_.back().first_symbol; i < symbols_.size(); ++i) {
    if (last == nullptr || last->stem < symbols_[i].stem) {
      last = &symbols_[i];
    }
  }
  if (last != nullptr) {
    last->is_ambiguous = false;
  }
}

std::uint32_t FunctionSymbols::find(std::uint32_t file, std::string_view stem) const {
  const File& table = files_[file];
  return table.slots[probe(table, hash_text(stem), stem, symbols_)].symbol;
}

}  // namespace btfloom
