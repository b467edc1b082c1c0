#include "dedup/table.h"

#include <bit>

namespace btfloom {

Table::Table(std::size_t expected, const FrozenMap* base) : base_(base), array_(nullptr) {
  arrays_.push_back(std::make_unique<Array>(std::bit_ceil(expected * 2 + 16)));
  array_.store(arrays_.back().get(), std::memory_order_release);
}

void Table::place(Array& array, std::uint64_t key, std::uint64_t high, const Entry& entry) {
  std::size_t at = key & array.mask;
  // relaxed: the only writer reads what it wrote itself
  while (array.slots[at].low.load(std::memory_order_relaxed) != 0) {
    at = (at + 1) & array.mask;
  }
  array.slots[at].high = high;
  array.slots[at].entry = entry;
  // release: pairs with the acquire in find()
  array.slots[at].low.store(key, std::memory_order_release);
}

void Table::insert(const Hash128& hash, const Entry& entry) {
  if ((size_ + 1) * 2 > arrays_.back()->mask + 1) {
    grow();
  }
  place(*arrays_.back(), key_of(hash), hash.high, entry);
  ++size_;
}

void Table::grow() {
  const Array& old = *arrays_.back();
  auto larger = std::make_unique<Array>((old.mask + 1) * 2);
  for (std::size_t i = 0; i <= old.mask; ++i) {
    const Slot& slot = old.slots[i];
    // relaxed: the only writer reads what it wrote itself
    const std::uint64_t low = slot.low.load(std::memory_order_relaxed);
    if (low != 0) {
      place(*larger, low, slot.high, slot.entry);
    }
  }
  arrays_.push_back(std::move(larger));
  // release: pairs with the acquire in find()
  array_.store(arrays_.back().get(), std::memory_order_release);
}

}  // namespace btfloom
