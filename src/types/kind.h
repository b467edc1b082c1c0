// Kind: what a type is, in the graph that flows through the program. It knows neither DWARF nor
// BTF; the kinds are those that C has and BTF can hold. Trivial, thread-safe.
#pragma once

#include <cstdint>

namespace btfloom {

enum class Kind : std::uint8_t {
  kInt,
  kFloat,
  kPointer,
  kConst,
  kVolatile,
  kRestrict,
  kTypedef,
  kTypeTag,
  kArray,
  kStruct,
  kUnion,
  kEnum,
  kEnum64,
  kForward,  // a struct or union that is declared only
  kFunctionProto,
  kAlias,  // stands for its target; never in a finished fragment
};

constexpr bool is_struct_or_union(Kind kind) {
  return kind == Kind::kStruct || kind == Kind::kUnion;
}

constexpr bool is_enum(Kind kind) {
  return kind == Kind::kEnum || kind == Kind::kEnum64;
}

// One target and nothing else.
constexpr bool is_qualifier_like(Kind kind) {
  return kind == Kind::kPointer || kind == Kind::kConst || kind == Kind::kVolatile ||
         kind == Kind::kRestrict || kind == Kind::kTypedef || kind == Kind::kTypeTag;
}

}  // namespace btfloom
