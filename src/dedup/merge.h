// Merger: the serial half of deduplication. Takes folded fragments in link order and grows the
// graph; the place of a type in the output is given here and nowhere else.
//
//   Merger merger(table);
//   merger.add(folded);                    // under the baton, unit by unit in link order
//   const Graph graph = merger.finish();
//
// Contested names. Shapes cut references to struct, union and enum at the name. That is right as
// long as the name means one type. Of 8,452 names in a kernel, 11 are defined twice or more,
// differently. The first definition in link order is the primary one; shapes mean that one. When a
// unit brings another definition, that definition and every type of the unit that reaches it are
// set apart: they get deep shapes (deep_shape.h) instead. Units that see the primary definition, or
// none, need no second look.
//
// Forward declarations. A declared tag stands for its definition if exactly one exists. See
// forward.h. What that makes equal after all is folded in the end. See settle.h.
//
// Not thread-safe: whoever holds the baton owns the merger.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "dedup/fold.h"
#include "dedup/forward.h"
#include "dedup/settle.h"
#include "dedup/table.h"
#include "types/graph.h"

namespace btfloom {

class Merger {
 public:
  // `table` outlives the merger; workers read it meanwhile.
  explicit Merger(Table& table) : table_(table) {}

  void add(Folded& folded);

  // Binds forward declarations and gives the graph away. No fragment may be alive that reads the
  // table.
  Graph finish();

 private:
  // A named struct, union or enum, by what a reference to it counts as.
  struct Tag {
    Hash128 primary;  // content of the definition that shapes mean
    bool has_primary = false;
    TypeRef bound = kVoid;  // what a declaration stands for, if a pair decided that
  };

  std::vector<TypeRef> find_contested(const Folded& folded);
  void mark_apart(const Fragment& fragment, const std::vector<TypeRef>& contested);
  void set_apart(Folded& folded);
  [[nodiscard]] bool is_apart(std::size_t type) const {
    return !is_apart_.empty() && is_apart_[type] != 0;
  }
  void add_types(Folded& folded);
  void add_parts(const Folded& folded, TypeRef node);
  TypeRef add_node(const Type& type);
  void note_definition(const Type& type, TypeRef node);
  void add_int(const Folded& folded);
  void add_tags(const Folded& folded);
  void add_variables(const Folded& folded);
  void add_functions(const Folded& folded);
  void add_other_flavour(Folded& folded, std::uint32_t type, TypeRef main);
  void settle_pairs(const Folded& folded);

  Table& table_;
  Graph graph_;
  HashInput input_;
  std::unordered_map<Hash128, Tag, HashOfHash128> tags_;
  std::unordered_set<Hash128, HashOfHash128> decl_tags_;
  std::vector<Hash128> new_primaries_;    // given by the unit that is being added
  std::vector<std::uint32_t> new_types_;  // of that unit, in order
  std::vector<Pair> pairs_;               // of that unit: same content, other flavour
  std::vector<Hash128> plain_content_;    // of the types of that unit that are set apart
  LookAlikes look_alikes_;
  std::vector<Definition> definitions_;
  std::vector<std::uint8_t> is_apart_;  // by type of that unit; empty: none
};

}  // namespace btfloom
