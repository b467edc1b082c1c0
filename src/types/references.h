// for_each_reference(): the only place that knows which fields of a type are references.
//
// `parts` is a Fragment or a Graph: whatever owns the arrays of members and parameters. The order
// is the order of the fields: target, then members or parameters. Works on const and mutable parts.
#pragma once

#include "types/type.h"

namespace btfloom {

template <typename Parts, typename TypeRecord, typename F>
inline void for_each_reference(Parts& parts, TypeRecord& type, F&& f) {
  switch (type.kind) {
    case Kind::kInt:
    case Kind::kFloat:
    case Kind::kEnum:
    case Kind::kEnum64:
    case Kind::kForward:
      return;
    case Kind::kPointer:
    case Kind::kConst:
    case Kind::kVolatile:
    case Kind::kRestrict:
    case Kind::kTypedef:
    case Kind::kTypeTag:
    case Kind::kArray:
    case Kind::kAlias:
      f(type.target);
      return;
    case Kind::kStruct:
    case Kind::kUnion:
      for (std::uint32_t i = 0; i < type.count; ++i) {
        f(parts.members[type.first + i].type);
      }
      return;
    case Kind::kFunctionProto:
      f(type.target);
      for (std::uint32_t i = 0; i < type.count; ++i) {
        f(parts.parameters[type.first + i].type);
      }
      return;
  }
}

}  // namespace btfloom
