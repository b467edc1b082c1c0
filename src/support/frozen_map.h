// FrozenMap: a map from content hashes to numbers, made once, then only read; its bytes can lie in
// a mapped file.
//
//   FrozenMap::Builder builder;
//   builder.add(hash, {.value = 7});
//   const std::vector<std::byte> bytes = builder.freeze();
//   FrozenMap(bytes).find(hash).value   // 7
//
// Open addressing with linear probing; the bytes follow from the order of add() alone. Words are
// the host's. Thread-safe (const).
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "support/bytes.h"
#include "support/hash.h"

namespace btfloom {

class FrozenMap {
 public:
  static constexpr std::uint32_t kAbsent = 0xffffffff;
  struct Entry {
    std::uint32_t value = kAbsent;
    std::uint64_t extra = 0;
    [[nodiscard]] bool exists() const { return value != kAbsent; }
  };

 private:
  struct Slot {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    std::uint64_t extra = 0;
    std::uint64_t value_and_use = 0;  // 0: free
  };
  static constexpr std::uint64_t kUsed = std::uint64_t{1} << 32;

 public:
  static constexpr std::size_t kSlotSize = sizeof(Slot);

  class Builder {
   public:
    // The first entry of a hash stays.
    void add(const Hash128& hash, const Entry& entry) { entries_.push_back({hash, entry}); }
    [[nodiscard]] std::vector<std::byte> freeze() const;

   private:
    struct Pending {
      Hash128 hash;
      Entry entry;
    };
    std::vector<Pending> entries_;
  };

  FrozenMap() = default;  // holds nothing
  // Precondition: what freeze() gave, aligned for 64-bit words.
  explicit FrozenMap(Bytes frozen)
      : slots_(reinterpret_cast<const Slot*>(frozen.data())),
        mask_(frozen.size() / kSlotSize - 1) {}

  [[nodiscard]] Entry find(const Hash128& hash) const {
    if (slots_ == nullptr) {
      return {};
    }
    for (std::size_t at = hash.low & mask_;; at = (at + 1) & mask_) {
      const Slot& slot = slots_[at];
      if (slot.value_and_use == 0) {
        return {};
      }
      if (slot.low == hash.low && slot.high == hash.high) {
        return {.value = static_cast<std::uint32_t>(slot.value_and_use), .extra = slot.extra};
      }
    }
  }

 private:
  const Slot* slots_ = nullptr;
  std::size_t mask_ = 0;
};

inline std::vector<std::byte> FrozenMap::Builder::freeze() const {
  // At most three quarters full, so that a search ends soon.
  const std::size_t capacity = std::bit_ceil(entries_.size() * 4 / 3 + 1);
  std::vector<std::byte> frozen(capacity * kSlotSize);
  auto* slots = reinterpret_cast<Slot*>(frozen.data());
  for (const Pending& pending : entries_) {
    std::size_t at = pending.hash.low & (capacity - 1);
    while (slots[at].value_and_use != 0 &&
           (slots[at].low != pending.hash.low || slots[at].high != pending.hash.high)) {
      at = (at + 1) & (capacity - 1);
    }
    if (slots[at].value_and_use == 0) {
      slots[at] = {pending.hash.low, pending.hash.high, pending.entry.extra,
                   kUsed | pending.entry.value};
    }
  }
  return frozen;
}

}  // namespace btfloom
