// Forward declarations: when does a declared struct or union stand for its definition?
//
//   unit 1: struct s;                 struct s *p;      struct t { struct s *s; };
//   unit 2: struct s { int a; };      struct s *p;      struct t { struct s *s; };
//
// References to a tag count by name, whether it is declared or defined, so both pointers have one
// shape, and both t too. At the end a declaration stands for the definition of its name
// - if there is exactly one, and no union of that name beside a struct;
// - or if a pair decided it: a struct, union or typedef (here t) that one unit built on the
// declaration and another on a
//   definition. It is the same type, so that definition is meant. The first pair in link order
//   decides, as it does in btf__dedup of libbpf.
// Otherwise the declaration stays, and a pointer to it is another type than a pointer to a
// definition.
//
// Flavour. To notice pairs, each type has a flavour besides its shape: a hash of the declared tags
// that it reaches without passing a definition, and where, 0 if there are none. A type whose shape
// is known with another flavour is looked at by the merger, once per flavour. A tag that is bound
// counts as 0 from then on, so flavours die out quickly. What a worker sees of that depends on
// timing; it only makes the merger look more often than it must.
//
// Thread-safe as long as the arguments belong to the caller (the table is shared, see table.h).
#pragma once

#include "dedup/fold.h"
#include "dedup/table.h"
#include "types/graph.h"

namespace btfloom {

// Under this key the table says that a declaration of the tag stands for a definition.
Hash128 bound_key(const Hash128& link);
// Under this key the table has a type of that content with a flavour that is not its node's.
Hash128 flavour_key(const Hash128& content, std::uint64_t flavour);

// The node of a type, kUnknownNode if the merger must decide.
inline std::uint32_t find_node(const Table& table, const Hash128& content, std::uint64_t flavour) {
  const Table::Entry entry = table.find(content);
  if (!entry.exists() || entry.flavour == flavour) {
    return entry.value;
  }
  return table.find(flavour_key(content, flavour)).value;
}

// A type of a unit and the node of the same content and another flavour.
struct Pair {
  std::uint32_t type = 0;
  TypeRef node = kVoid;
};

// Calls f(type, node, is_declared) for each tag that one of the pair uses declared and the other
// defined: `type` of the unit, `node` of the graph, and whether it is the unit that declares.
void for_each_declared_difference(
    const Fragment& fragment, const Graph& graph, const Pair& pair,
    FunctionRef<void(std::uint32_t type, TypeRef node, bool is_declared)> f);

}  // namespace btfloom
