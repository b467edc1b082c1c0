#include "btf/format.h"

#include <iterator>

namespace btfloom {

const char* btf_kind_name(BtfKind kind) {
  static constexpr const char* kNames[] = {
      "VOID", "INT",     "PTR",      "ARRAY",    "STRUCT",   "UNION", "ENUM",
      "FWD",  "TYPEDEF", "VOLATILE", "CONST",    "RESTRICT", "FUNC",  "FUNC_PROTO",
      "VAR",  "DATASEC", "FLOAT",    "DECL_TAG", "TYPE_TAG", "ENUM64"};
  static_assert(std::size(kNames) == kBtfKindEnd);
  return kNames[static_cast<std::size_t>(kind)];
}

std::size_t btf_parts_size(BtfKind kind, std::uint32_t count) {
  switch (kind) {
    case BtfKind::kInt:
    case BtfKind::kVar:
    case BtfKind::kDeclTag:
      return 4;
    case BtfKind::kArray:
      return 12;
    case BtfKind::kStruct:
    case BtfKind::kUnion:
    case BtfKind::kDatasec:
    case BtfKind::kEnum64:
      return std::size_t{count} * 12;
    case BtfKind::kEnum:
    case BtfKind::kFuncProto:
      return std::size_t{count} * 8;
    case BtfKind::kVoid:
    case BtfKind::kPtr:
    case BtfKind::kFwd:
    case BtfKind::kTypedef:
    case BtfKind::kVolatile:
    case BtfKind::kConst:
    case BtfKind::kRestrict:
    case BtfKind::kFunc:
    case BtfKind::kFloat:
    case BtfKind::kTypeTag:
      return 0;
  }
  return 0;
}

}  // namespace btfloom
