// FrozenMap: a map from content hashes to numbers, made once, then only read; its bytes can lie in
// a mapped file.
//
//   FrozenMap::Builder builder;
//   builder.add(hash, {.value = 7});
//   FrozenMap(builder.freeze()).find(hash).value   // 7
//
// Open addressing with linear probing; the bytes follow from the order of add() alone. Words are
// the host's. Thread-safe (const).
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
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
    explicit Builder(std::size_t expected = 64)
        : slots_(std::bit_ceil(expected * kMostLoad.second / kMostLoad.first + 2)) {}

    // The first entry of a hash stays; returns what the hash has from now on.
    Entry add(const Hash128& hash, const Entry& entry);
    [[nodiscard]] Bytes freeze() const { return std::as_bytes(std::span<const Slot>(slots_)); }

   private:
    Slot& place(const Hash128& hash);
    void grow();
    // So full may it be that a search still ends soon: 3 of 4 slots.
    static constexpr std::pair<std::size_t, std::size_t> kMostLoad{3, 4};
    std::vector<Slot> slots_;
    std::size_t size_ = 0;
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

inline FrozenMap::Slot& FrozenMap::Builder::place(const Hash128& hash) {
  std::size_t at = hash.low & (slots_.size() - 1);
  while (slots_[at].value_and_use != 0 &&
         (slots_[at].low != hash.low || slots_[at].high != hash.high)) {
    at = (at + 1) & (slots_.size() - 1);
  }
  return slots_[at];
}

inline FrozenMap::Entry FrozenMap::Builder::add(const Hash128& hash, const Entry& entry) {
  Slot& slot = place(hash);
  if (slot.value_and_use != 0) {
    return {.value = static_cast<std::uint32_t>(slot.value_and_use), .extra = slot.extra};
  }
  slot = {hash.low, hash.high, entry.extra, kUsed | entry.value};
  if (++size_ * kMostLoad.second > slots_.size() * kMostLoad.first) {
    grow();
  }
  return entry;
}

inline void FrozenMap::Builder::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.value_and_use != 0) {
      place({slot.low, slot.high}) = slot;
    }
  }
}

}  // namespace btfloom
