// Shape: a 128-bit hash of a type's whole content; equal shapes are equal types.
//
// In C every cycle of types passes through a named struct, union or enum (a tag), so a reference to
// a tag counts by kind and name only, and any other reference by the shape of its target. Whether
// the name means the same type everywhere is not decided here but in merge.h (contested names). The
// element index of arrays is no part of a shape: there is one for the whole output.
//
//   Shapes shapes;
//   ShapeScratch scratch;
//   compute_shapes(fragment, is_bound, scratch, shapes);
//   shapes.content[i]    // identifies type i
//   shapes.link[i].hash  // what a reference to type i counts as
//
// Depends on content alone: not on the unit, the position, the machine or the byte order of the
// host's pointers. Thread-safe as long as scratch and shapes belong to the caller.
#pragma once

#include <vector>

#include "dedup/hash_input.h"
#include "support/function_ref.h"
#include "types/fragment.h"
#include "types/references.h"

namespace btfloom {

// What a reference to a type counts as.
struct Link {
  Hash128 hash;  // {0, 0} while it is not known
  // Declared tags that a referring type reaches through it; see forward.h.
  std::uint64_t flavour = 0;

  [[nodiscard]] bool is_known() const { return hash.low != 0 || hash.high != 0; }
};

struct Shapes {
  std::vector<Hash128> content;
  std::vector<Link> link;
  // Which declared tags the type uses where another unit may use definitions; 0: none. See
  // forward.h.
  std::vector<std::uint64_t> flavour;
};

struct ShapeScratch {
  HashInput input;
  std::vector<TypeRef> stack;
  std::vector<std::uint8_t> is_open;
};

// What a reference to void counts as.
inline constexpr Hash128 kVoidLink{0, 1};

// A struct, union or enum with a name, declared or defined: references to it are cut at the name.
inline bool is_tag(const Type& type) {
  return (is_struct_or_union(type.kind) || is_enum(type.kind) || type.kind == Kind::kForward) &&
         *type.name != '\0';
}

// A tag that says what is in it. An enum without enumerators is only declared (btf_dedup of
// libbpf).
inline bool is_definition(const Type& type) {
  return is_tag(type) && type.kind != Kind::kForward && !(is_enum(type.kind) && type.count == 0);
}

enum class TagClass : std::uint8_t { kStruct = 1, kUnion = 2, kEnum = 3 };
TagClass tag_class(const Type& type);  // precondition: is_tag(type)

// What a reference to the tag of that class and name counts as.
Hash128 tag_link(TagClass tag, const char* name, HashInput& input);

// Gathers the content of `type` in `input`; `link_of(reference)` says what a reference counts as.
template <typename Parts, typename LinkOf>
void gather_content(const Parts& parts, const Type& type, LinkOf&& link_of, HashInput& input) {
  // Two fixed words, and at most five for every part besides its name.
  input.start(16 + (std::size_t{type.count} + 1) * 24);
  input.add(static_cast<std::uint64_t>(type.kind) | std::uint64_t{type.flags} << 8 |
            std::uint64_t{type.size} << 16);
  input.add(type.count);
  input.add_text(type.name);
  switch (type.kind) {
    case Kind::kStruct:
    case Kind::kUnion:
      for (std::uint32_t i = 0; i < type.count; ++i) {
        const Member& member = parts.members[type.first + i];
        input.add(std::uint64_t{member.bit_offset} | std::uint64_t{member.bitfield_size} << 32);
        input.add(link_of(member.type));
        input.add_text(member.name);
      }
      break;
    case Kind::kEnum:
    case Kind::kEnum64:
      for (std::uint32_t i = 0; i < type.count; ++i) {
        const Enumerator& enumerator = parts.enumerators[type.first + i];
        input.add(static_cast<std::uint64_t>(enumerator.value));
        input.add_text(enumerator.name);
      }
      break;
    case Kind::kFunctionProto:
      input.add(link_of(type.target));
      for (std::uint32_t i = 0; i < type.count; ++i) {
        const Parameter& parameter = parts.parameters[type.first + i];
        input.add(link_of(parameter.type));
        input.add_text(parameter.name);
      }
      break;
    case Kind::kPointer:
    case Kind::kConst:
    case Kind::kVolatile:
    case Kind::kRestrict:
    case Kind::kTypedef:
    case Kind::kTypeTag:
    case Kind::kArray:
    case Kind::kAlias:
      input.add(link_of(type.target));
      break;
    case Kind::kInt:
    case Kind::kFloat:
    case Kind::kForward:
      break;
  }
}

// `is_bound(link)` says that a declared struct or union is known to stand for its definition
// (forward.h).
void compute_shapes(const Fragment& fragment, FunctionRef<bool(const Hash128& link)> is_bound,
                    ShapeScratch& scratch, Shapes& shapes);

}  // namespace btfloom
