// fold(): the parallel half of deduplication. Finds out which types and functions of a fragment are
// merged already.
//
// A Folded holds a fragment with what the merger needs to know of it. It keeps every type until its
// turn comes: if the unit turns out to define a contested name (merge.h), what looked known must be
// looked at again.
#pragma once

#include <vector>

#include "dedup/shape.h"
#include "dedup/table.h"
#include "types/fragment.h"

namespace btfloom {

// A type or function that is not merged yet.
inline constexpr std::uint32_t kUnknownNode = Table::kAbsent;

struct Folded {
  Fragment fragment;
  Shapes shapes;
  std::vector<std::uint32_t> node_of;        // by type: its node, or kUnknownNode
  std::vector<std::uint32_t> new_functions;  // functions that may be new, in DIE order
  std::vector<Hash128> function_keys;        // of those
};

// Fills everything but folded.fragment, which must be complete. Thread-safe: reads the table only.
void fold(const Table& table, ShapeScratch& scratch, Folded& folded);

// What identifies a function candidate: name, address, flags, tags, prototype with the names of its
// parameters.
Hash128 function_key(const Fragment& fragment, const Shapes& shapes, const Function& function,
                     HashInput& input);

}  // namespace btfloom
