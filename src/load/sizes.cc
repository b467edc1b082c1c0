// Sizes and alignments of the types of a fragment, as far as functions and variables depend on
// them.
#include <algorithm>

#include "load/load_unit_internal.h"

namespace btfloom {

namespace {

// Types nest a few levels deep; more is a loop through qualifiers.
constexpr unsigned kMaxNesting = 64;

bool has_own_size(Kind kind) {
  return !is_qualifier_like(kind) && kind != Kind::kArray && kind != Kind::kFunctionProto;
}

}  // namespace

// The size that a reader of DW_AT_byte_size would find: of the type, or else of the type it refers
// to.
std::uint64_t UnitLoader::size_of(TypeRef type) const {
  for (unsigned step = 0; type != kVoid && step < kMaxNesting; ++step) {
    const Type& record = fragment_.types[type];
    if (record.kind == Kind::kPointer) {
      return unit_.forms.address_size;
    }
    if (has_own_size(record.kind)) {
      return record.size;
    }
    type = record.target;
  }
  return 0;
}

TypeRef UnitLoader::strip_qualifiers(TypeRef type) const {
  for (unsigned step = 0; type != kVoid && step < kMaxNesting; ++step) {
    const Kind kind = fragment_.types[type].kind;
    if (!is_qualifier_like(kind) || kind == Kind::kPointer) {
      return type;
    }
    type = fragment_.types[type].target;
  }
  return kVoid;
}

// sizeof, for the DATASEC entry of a variable. 0: unknown, or nothing there.
std::uint64_t UnitLoader::variable_size(TypeRef type) const {
  std::uint64_t elements = 1;
  for (unsigned step = 0; step < kMaxNesting; ++step) {
    type = strip_qualifiers(type);
    if (type == kVoid) {
      return 0;
    }
    const Type& record = fragment_.types[type];
    if (record.kind == Kind::kPointer || record.kind == Kind::kFunctionProto) {
      return elements * unit_.forms.address_size;
    }
    if (record.kind == Kind::kStruct && record.size == 1 && record.count == 0 &&
        *record.name != '\0') {
      return 0;  // an empty class of C++: one byte that holds nothing
    }
    if (record.kind != Kind::kArray) {
      return elements * record.size;
    }
    if (__builtin_mul_overflow(elements, std::uint64_t{record.size}, &elements)) {
      return 0;
    }
    type = record.target;
  }
  return 0;
}

std::uint64_t UnitLoader::natural_alignment(TypeRef type, unsigned depth) const {
  type = strip_qualifiers(type);
  if (type == kVoid || depth > kMaxNesting) {
    return 1;
  }
  const Type& record = fragment_.types[type];
  switch (record.kind) {
    case Kind::kPointer:
      return unit_.forms.address_size;
    case Kind::kInt:
    case Kind::kFloat:
    case Kind::kEnum:
    case Kind::kEnum64:
      return std::max<std::uint64_t>(record.size, 1);
    case Kind::kArray:
      return natural_alignment(record.target, depth + 1);
    case Kind::kStruct:
    case Kind::kUnion: {
      std::uint64_t alignment = 1;
      for (std::uint32_t i = 0; i < record.count; ++i) {
        alignment = std::max(
            alignment, natural_alignment(fragment_.members[record.first + i].type, depth + 1));
      }
      return alignment;
    }
    default:
      return 1;
  }
}

// DWARF does not say "packed". It is inferred: no padding anywhere, and a member or the size that
// the natural alignment of the members would not allow.
bool UnitLoader::is_inferred_packed(const Type& type) const {
  std::uint64_t end = 0;
  std::uint64_t largest = 1;
  bool is_misaligned = false;
  for (std::uint32_t i = 0; i < type.count; ++i) {
    const Member& member = fragment_.members[type.first + i];
    const std::uint64_t start = member.bit_offset / 8;
    if (member.bit_offset > end * 8 && start > end) {
      return false;  // a hole
    }
    const std::uint64_t alignment = natural_alignment(member.type, 0);
    largest = std::max(largest, alignment);
    is_misaligned = is_misaligned || (member.bitfield_size == 0 && start % alignment != 0);
    const std::uint64_t bytes = member.bitfield_size != 0
                                    ? (member.bit_offset % 8 + member.bitfield_size + 7) / 8
                                    : variable_size(member.type);
    end = std::max(end, start + bytes);
  }
  return end == type.size && (is_misaligned || type.size % largest != 0);
}

}  // namespace btfloom
