// EntryMap: DIE offset -> what the DIE became, within one unit.
//
// DIEs are entered in file order, so the entries are sorted by themselves; one table of buckets,
// each 32 bytes of .debug_info wide, says where to start looking. A look-up is two or three loads
// in memory of some kilobytes; nothing is hashed, nothing cleared. References go both ways, so
// look-ups come after the whole unit was read. Owned by one worker.
#pragma once

#include <cstdint>
#include <vector>

namespace btfloom {

struct Entry {
  enum class Kind : std::uint8_t {
    kNothing,    // no such DIE, or one that nothing refers to
    kType,       // index in Fragment::types
    kVoidType,   // a type that is C's void
    kAlias,      // stands for another DIE; index in a list of offsets
    kFunction,   // index in LoadScratch::functions
    kParameter,  // index in LoadScratch::parameters
    kVariable,   // index in LoadScratch::variables
  };
  std::uint32_t offset = 0;  // from the unit header
  std::uint32_t index : 29 = 0;
  std::uint32_t kind_bits : 3 = 0;

  [[nodiscard]] Kind kind() const { return static_cast<Kind>(kind_bits); }
};
static_assert(sizeof(Entry) == 8);
inline constexpr std::uint32_t kMaxEntryIndex = (1U << 29) - 1;

class EntryMap {
 public:
  void clear() { entries_.clear(); }

  // Enters the DIE at `offset`, which must lie behind all entered before. Returns its place for
  // set().
  std::size_t add(std::uint32_t offset) {
    entries_.push_back({.offset = offset});
    return entries_.size() - 1;
  }
  void set(std::size_t place, Entry::Kind kind, std::uint32_t index) {
    entries_[place].kind_bits = static_cast<std::uint8_t>(kind) & 7U;
    entries_[place].index = index & kMaxEntryIndex;
  }

  // Ends the entering; find() may be used from here on.
  void build(std::uint32_t unit_size) {
    buckets_.resize((unit_size >> kShift) + 2);
    std::size_t bucket = 0;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const std::size_t own = entries_[i].offset >> kShift;
      while (bucket <= own) {
        buckets_[bucket++] = static_cast<std::uint32_t>(i);
      }
    }
    while (bucket < buckets_.size()) {
      buckets_[bucket++] = static_cast<std::uint32_t>(entries_.size());
    }
  }

  [[nodiscard]] Entry find(std::uint32_t offset) const {
    const std::size_t bucket = offset >> kShift;
    if (bucket + 1 >= buckets_.size()) {
      return {};
    }
    for (std::size_t i = buckets_[bucket]; i < entries_.size(); ++i) {
      if (entries_[i].offset >= offset) {
        return entries_[i].offset == offset ? entries_[i] : Entry{};
      }
    }
    return {};
  }

 private:
  static constexpr unsigned kShift = 5;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> buckets_;  // first entry at or behind the start of the bucket
};

}  // namespace btfloom
