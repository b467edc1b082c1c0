// Deep shapes: shapes of types for which a reference must count by what it leads to, through
// cycles. The slow and exact way, for the few types that the cut at names (shape.h) does not
// decide:
// - types on a cycle that passes through no tag;
// - types that reach one of several definitions of a contested name (merge.h).
//
// Equal deep shapes mean equal graphs (bisimilar ones), whatever unit they come from and however
// often the unit repeats a type. Thread-safe as long as the arguments belong to the caller.
#pragma once

#include <vector>

#include "dedup/shape.h"
#include "types/fragment.h"

namespace btfloom {

enum class TagReferences : std::uint8_t {
  kByName,   // references to tags stay cut at the name
  kThrough,  // references to selected tags count by their deep shape
};

// Sets shapes.content of the selected types (sorted, unique) and shapes.link of those that
// references count through; every other type keeps what it has, which must be known.
void compute_deep_shapes(const Fragment& fragment, const std::vector<TypeRef>& selected,
                         TagReferences tags, Shapes& shapes);

}  // namespace btfloom
