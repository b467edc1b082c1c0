// The records of the type graph: types and their parts, in flat arrays, linked by 32-bit indices.
//
// The same records are used in a fragment (one unit; references are TypeIndex values) and in the
// merged graph (references are NodeIndex values). kVoid as a reference is C's void. Names point
// into the mapped string sections, NUL-terminated, never null, "" if there is none. Trivial data,
// no thread-safety needed.
#pragma once

#include <cstdint>

#include "support/index.h"
#include "types/kind.h"

namespace btfloom {

// A reference to a type; which numbers it holds depends on where it stands, see above.
using TypeRef = std::uint32_t;
inline constexpr TypeRef kVoid = 0xffffffff;

// Meaning of Type::flags, by kind.
inline constexpr std::uint8_t kIntSigned = 1;     // kInt: as in BTF_INT_SIGNED
inline constexpr std::uint8_t kIntBool = 4;       // kInt: as in BTF_INT_BOOL
inline constexpr std::uint8_t kHasBitfields = 1;  // kStruct, kUnion: some member needs a kind_flag
inline constexpr std::uint8_t kSignedValues = 1;  // kEnum, kEnum64
inline constexpr std::uint8_t kOfUnion = 1;       // kForward: of a union, not of a struct

struct Type {
  const char* name = "";
  std::uint32_t size = 0;    // bytes; kArray: number of elements
  TypeRef target = kVoid;    // pointee, element, return type, ...
  std::uint32_t first = 0;   // of its members, enumerators or parameters
  std::uint32_t count = 0;   // how many of them
  std::uint32_t origin = 0;  // fragment: offset of the DIE from the unit header, for messages
  Kind kind = Kind::kInt;
  std::uint8_t flags = 0;
};
static_assert(sizeof(Type) == 32);

struct Member {
  const char* name = "";
  TypeRef type = kVoid;
  std::uint32_t bit_offset = 0;
  std::uint32_t bitfield_size = 0;  // 0: not a bitfield
};

struct Enumerator {
  const char* name = "";
  std::int64_t value = 0;
};

// Of a kFunctionProto or a function. A last one without name and type stands for "...".
struct Parameter {
  const char* name = "";
  TypeRef type = kVoid;
};

// A declaration tag (btf_decl_tag). component: -1, or the member or parameter it is about.
struct DeclTag {
  const char* value = "";
  std::uint32_t target = 0;  // type, function or variable, by the list it stands in
  std::int32_t component = -1;
};

}  // namespace btfloom
