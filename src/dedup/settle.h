// settle(): the last step of merging. Binds forward declarations, and folds the few nodes that are
// equal only then.
//
// Nodes that share their content, by the names that shapes are cut at, are look-alikes: a pointer
// to a declared and one to a defined struct; a type that reaches the primary definition of a
// contested name and one that was set apart. Most of them differ. But a declaration may turn out to
// stand for what the other one reaches. All other nodes are distinct by construction, so only
// look-alikes are compared. Not thread-safe.
#pragma once

#include <unordered_map>
#include <vector>

#include "support/function_ref.h"
#include "support/hash.h"
#include "types/graph.h"

namespace btfloom {

// A node that defines a tag; `link` is what a reference to the tag counts as (shape.h).
struct Definition {
  Hash128 link;
  TypeRef node = kVoid;
};

// Content with names cut -> nodes of that content.
using LookAlikes = std::unordered_map<Hash128, std::vector<TypeRef>, HashOfHash128>;

// Fills graph.stands_for. `definitions` are in order of their nodes; `bound(link)` is the node that
// a pair bound a declaration to (forward.h), or kVoid.
void settle(const std::vector<Definition>& definitions, const LookAlikes& look_alikes,
            FunctionRef<TypeRef(const Hash128& link)> bound, Graph& graph);

}  // namespace btfloom
