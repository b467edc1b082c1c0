// BaseTypes: the types of the base of a split BTF, as merging sees them: known by hash, read by
// number, one at a time.
//
// Nothing of a base is read but what a unit's types meet. Numbers (ids) are those of the base; 0 is
// void. Thread-safe as long as `read` is.
#pragma once

#include <cstdint>

#include "support/frozen_map.h"
#include "support/function_ref.h"
#include "types/fragment.h"

namespace btfloom {

struct BaseTypes {
  std::uint32_t end_id = 1;  // one past the last number
  // Under the keys of dedup/base_keys.h: ids. Outlives whoever merges.
  const FrozenMap* known = nullptr;
  // Appends the type of that number and its parts to `out`. Its references are ids, kVoid for void.
  FunctionRef<void(std::uint32_t id, Fragment& out)> read;
};

// Where a number may mean a node of the graph or a type of the base, this bit says the latter.
inline constexpr std::uint32_t kBaseBit = 1U << 31;
constexpr bool is_in_base(std::uint32_t node_or_id) {
  return node_or_id != kVoid && (node_or_id & kBaseBit) != 0;
}

// A flag of a type of a base that no DWARF of ours can give (an INT of some bits only, an array
// with an index of its own): it equals nothing but itself.
inline constexpr std::uint8_t kForeign = 0x80;

}  // namespace btfloom
