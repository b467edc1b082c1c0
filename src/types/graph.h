// Graph: the merged types of all units, in the order of their first occurrence. What flows from
// dedup/ to btf/.
//
// References are NodeIndex values (positions in `types`). Everything that the output holds follows
// from the graph alone. Built by one merger; const afterwards.
#pragma once

#include <cstdint>
#include <vector>

#include "types/fragment.h"
#include "types/type.h"

namespace btfloom {

// A declaration tag or a variable, which take numbers of their own behind the types of their unit.
struct Extra {
  enum class Kind : std::uint8_t { kTypeTag, kVariable };
  std::uint32_t types_before = 0;  // how many types stand before it
  Kind kind = Kind::kTypeTag;
  std::uint32_t index = 0;  // in type_tags or variables
};

struct Graph {
  std::vector<Type> types;
  // Of a split BTF: the number in the base of a type that was met there, 0 for types of its own.
  // Empty without a base. A tag of the base has its parts here only if merging had to compare them.
  std::vector<std::uint32_t> base_ids;
  std::vector<Member> members;
  std::vector<Enumerator> enumerators;
  std::vector<Parameter> parameters;  // of prototypes and of functions
  // What stands for a type in the output: itself, or the definition of what it only declares.
  std::vector<TypeRef> stands_for;
  TypeRef int_type = kVoid;  // the index type of every array

  std::vector<Extra> extras;  // in order
  std::vector<DeclTag> type_tags;
  std::vector<Variable> variables;
  std::vector<DeclTag> variable_tags;

  std::vector<Function> functions;  // in (unit, DIE) order; the candidates, not the chosen ones
  std::vector<DeclTag> function_tags;

  [[nodiscard]] std::uint32_t base_id(TypeRef type) const {
    return base_ids.empty() ? 0 : base_ids[type];
  }
};

}  // namespace btfloom
