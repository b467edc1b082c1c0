// Table: what is already merged, by hash. One writer, many readers, insert only, no locks.
//
//   table.insert(hash, {value, flavour});           // the merger, and nobody else
//   const Table::Entry entry = table.find(hash);    // any worker, at any time; value kAbsent if
//   not there (yet)
//
// The merger runs under the baton, so there is one writer at a time, and whatever hands the baton
// on orders the writers. Workers ask the table only "do I know that this is merged already?". Since
// a worker drops a type only when the answer is yes, and the merger would have found the same
// entry, timing changes how much is dropped early, never what comes out. A reader that misses an
// entry that is just being written loses nothing but that.
//
// Memory orders:
// - A slot is published by storing its `low` word last, with release; find() loads it with acquire,
// so it sees the
//   rest of the slot. A slot never changes afterwards.
// - Growing builds a larger array and publishes it with release; find() loads the array with
// acquire. Old arrays stay
//   until the table dies: a reader may still be in them, and all of them together are no larger
//   than the last.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "support/frozen_map.h"
#include "support/hash.h"

namespace btfloom {

class Table {
 public:
  static constexpr std::uint32_t kAbsent = 0xffffffff;

  struct Entry {
    std::uint32_t value = kAbsent;
    std::uint64_t flavour = 0;  // see forward.h; of a definition in a base: see base_keys.h
    [[nodiscard]] bool exists() const { return value != kAbsent; }
  };

  // `base` (may be null) outlives the table; no hash is in both.
  explicit Table(std::size_t expected = 256, const FrozenMap* base = nullptr);

  [[nodiscard]] Entry find(const Hash128& hash) const {
    // acquire: pairs with the release in grow()
    const Array* array = array_.load(std::memory_order_acquire);
    const std::uint64_t key = key_of(hash);
    for (std::size_t at = key & array->mask;; at = (at + 1) & array->mask) {
      const Slot& slot = array->slots[at];
      // acquire: pairs with the release in place()
      const std::uint64_t low = slot.low.load(std::memory_order_acquire);
      if (low == 0) {
        return base_ != nullptr ? find_in_base(hash) : Entry{};
      }
      if (low == key && slot.high == hash.high) {
        return slot.entry;
      }
    }
  }

  // The base alone.
  [[nodiscard]] Entry find_in_base(const Hash128& hash) const {
    const FrozenMap::Entry entry = base_ != nullptr ? base_->find(hash) : FrozenMap::Entry{};
    return {entry.value, entry.extra};
  }

  // Brings the slot of `hash` near, for a find() a little later.
  void prefetch(const Hash128& hash) const {
    // relaxed: only a hint
    const Array* array = array_.load(std::memory_order_relaxed);
    __builtin_prefetch(&array->slots[key_of(hash) & array->mask]);
  }

  // Precondition: only the merger calls it; the hash is not in the table.
  void insert(const Hash128& hash, const Entry& entry);
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  struct Slot {
    std::atomic<std::uint64_t> low{0};  // 0: free
    std::uint64_t high = 0;
    Entry entry;
  };
  struct Array {
    explicit Array(std::size_t capacity)
        : slots(std::make_unique<Slot[]>(capacity)), mask(capacity - 1) {}
    std::unique_ptr<Slot[]> slots;
    std::size_t mask;
  };

  // A hash whose low word is 0 would look like a free slot.
  static std::uint64_t key_of(const Hash128& hash) { return hash.low != 0 ? hash.low : 1; }
  static void place(Array& array, std::uint64_t key, std::uint64_t high, const Entry& entry);
  void grow();

  const FrozenMap* base_;                       // const
  std::atomic<const Array*> array_;             // shared: see memory orders above
  std::vector<std::unique_ptr<Array>> arrays_;  // the merger's
  std::size_t size_ = 0;                        // the merger's
};

}  // namespace btfloom
