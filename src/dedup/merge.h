// Merger: the serial half of deduplication. Takes folded fragments in link order and grows the
// graph; the place of a type in the output is given here and nowhere else.
//
//   Merger merger(table);
//   merger.add(folded);                    // under the baton, unit by unit in link order
//   const Graph graph = merger.finish();
//
// Names with several definitions: see contested.h.
//
// Forward declarations. A declared tag stands for its definition if exactly one exists. See
// forward.h. What that makes equal after all is folded in the end. See settle.h.
//
// A base (split BTF) is what every unit finds known. A type of it becomes a node when something
// refers to it, under the number that it has there, and never changes.
//
// Not thread-safe: whoever holds the baton owns the merger.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "dedup/base_declared.h"
#include "dedup/contested.h"
#include "dedup/fold.h"
#include "dedup/forward.h"
#include "dedup/settle.h"
#include "dedup/table.h"
#include "types/base_types.h"
#include "types/graph.h"

namespace btfloom {

class Merger {
 public:
  // `table` outlives the merger; workers read it meanwhile. So does `base`, null without one.
  explicit Merger(Table& table, const BaseTypes* base = nullptr)
      : table_(table), base_(base), contested_(table), base_declared_(table) {}

  void add(Folded& folded);

  // Binds forward declarations and gives the graph away. No fragment may be alive that reads the
  // table.
  Graph finish();

 private:
  void add_types(Folded& folded);
  void add_parts(const Folded& folded, TypeRef node);
  TypeRef add_node(const Type& type, std::uint32_t base_id = 0);
  void note_definition(const Type& type, TypeRef node);
  void add_int(const Folded& folded);
  void add_tags(const Folded& folded);
  void add_variables(const Folded& folded);
  void add_functions(const Folded& folded);
  void add_other_flavour(Folded& folded, std::uint32_t type, std::uint32_t main);
  void settle_pairs(const Folded& folded);

  void copy_parts(const Fragment& from, Type& record, FunctionRef<TypeRef(TypeRef target)> place);
  std::uint32_t find_content(const Type& type);
  // The node of a type of the unit; kVoid for void.
  TypeRef node(const Folded& folded, TypeRef type) {
    return type == kVoid ? kVoid : node_of(folded.node_of[type]);
  }

  // --- the base: import.cc
  TypeRef node_of(std::uint32_t node_or_id);
  TypeRef place_of(std::uint32_t node_or_id);
  TypeRef import_whole(std::uint32_t id);
  void import_pending();
  void copy_imported(Type& type);
  void import_definitions();

  Table& table_;
  const BaseTypes* base_;
  Graph graph_;
  HashInput input_;
  ContestedNames contested_;
  BaseDeclared base_declared_;
  // What the declaration of a tag stands for, if a pair decided that: a node or a type of the base.
  std::unordered_map<Hash128, std::uint32_t, HashOfHash128> bound_;
  std::unordered_set<Hash128, HashOfHash128> decl_tags_;
  std::vector<std::uint32_t> new_types_;  // of the unit that is being added, in order
  std::vector<Parameter> parameters_;     // of the function that is being added
  std::vector<Pair> pairs_;               // of that unit: same content, other flavour
  LookAlikes look_alikes_;
  std::vector<Definition> definitions_;

  std::vector<TypeRef> node_of_id_;     // of types of the base; kVoid: not met yet
  std::vector<std::uint32_t> pending_;  // ids that have a node without content
  Fragment imported_;                   // the type of the base that is being read
};

}  // namespace btfloom
