// Structs, unions, enumerations, arrays and subroutine types: DIEs whose children belong to the
// type.
#include <algorithm>

#include "dwarf/constants.h"
#include "dwarf/location.h"
#include "load/for_each_child.h"
#include "load/load_unit_internal.h"

namespace btfloom {

namespace {

// The count field of a BTF record is 16 bits wide (btf.rst, struct btf_type).
constexpr std::size_t kMaxCount = 0xffff;
// With kind_flag the offset of a member is 24 bits wide, its bitfield size 8 bits.
constexpr std::uint32_t kMaxBitfieldOffset = 0xffffff;

}  // namespace

void UnitLoader::load_struct(Kind kind) {
  const std::uint32_t offset = relative(die_.offset);
  const std::size_t place = scratch_.entries.add(offset);
  Type type{.name = die_.name(),
            .size = static_cast<std::uint32_t>(die_.constant(Attribute::kByteSize)),
            .origin = offset,
            .kind = kind};
  if (die_.has(Attribute::kSignature)) {
    return fail(die_.offset, "the type is in a type unit; compile without -fdebug-types-section");
  }
  if (*type.name == '\0' && die_.has(Attribute::kSpecification)) {
    Die specification;
    if (peek(reference_of(Attribute::kSpecification), specification)) {
      type.name = specification.name();
    }
  }
  const bool is_declaration = die_.flag(Attribute::kDeclaration);
  const DieRef annotation = reference_of(Attribute::kAnnotation);
  const std::size_t member_mark = scratch_.member_stack.size();
  const std::size_t tag_mark = scratch_.tag_stack.size();
  if (die_.has_children) {
    std::int32_t component = 0;
    for_each_child([&] {
      if (die_.tag == DW_TAG_member) {
        load_member(component++);
      } else if (die_.tag == DW_TAG_inheritance) {
        load_tag_children(component++);
      } else if (die_.tag == kTagLlvmAnnotation || die_.tag == kTagGnuAnnotation) {
        load_decl_tag(-1);
      } else {
        load_die(Scope::kType);
      }
    });
  }
  load_gnu_decl_tags(annotation, -1);
  if (is_declaration) {
    scratch_.member_stack.resize(member_mark);
    scratch_.tag_stack.resize(tag_mark);
    if (*type.name == '\0') {
      degrade(offset, "a declared struct or union without a name; encoded as void");
      return scratch_.entries.set(place, Entry::Kind::kVoidType, 0);
    }
    type.size = 0;
    type.flags = kind == Kind::kUnion ? kOfUnion : std::uint8_t{0};
    type.kind = Kind::kForward;
    add_type(place, type);
    return;
  }
  finish_members(member_mark, type);
  flush_type_tags(tag_mark, add_type(place, type));
}

// Moves the members behind `mark` to the fragment, settles which form they take, and drops those
// that BTF cannot hold.
void UnitLoader::finish_members(std::size_t mark, Type& type) {
  const auto first = scratch_.member_stack.begin() + static_cast<std::ptrdiff_t>(mark);
  const auto last = scratch_.member_stack.end();
  if (unit_.language == kLanguageRust) {
    // rustc lists fields in source order, not in memory order.
    std::stable_sort(first, last, [](const Member& a, const Member& b) {
      return a.bit_offset / 8 < b.bit_offset / 8;
    });
  }
  bool is_plain = type.kind == Kind::kStruct && last - first <= static_cast<int>(kMaxCount);
  for (auto member = first; member != last; ++member) {
    if (member->bitfield_size != 0 || member->bit_offset % 8 != 0) {
      type.flags |= kHasBitfields;
      is_plain = false;
    }
  }
  type.first = static_cast<std::uint32_t>(fragment_.members.size());
  if (is_plain) {  // nearly all: nothing to check one by one
    type.count = static_cast<std::uint32_t>(last - first);
    fragment_.members.insert(fragment_.members.end(), first, last);
    scratch_.member_stack.resize(mark);
    return;
  }
  for (auto member = first; member != last; ++member) {
    if ((type.flags & kHasBitfields) != 0 &&
        (member->bit_offset > kMaxBitfieldOffset || member->bitfield_size > 0xff)) {
      degrade(type.origin, "member " + std::string(member->name) +
                               " lies too far out for a struct with bitfields; left out");
    } else if (type.kind == Kind::kUnion && member->bit_offset != 0) {
      degrade(type.origin,
              "union member " + std::string(member->name) + " does not start at 0; left out");
    } else if (fragment_.members.size() - type.first == kMaxCount) {
      degrade(type.origin, "more than 65,535 members; the rest is left out");
      break;
    } else {
      fragment_.members.push_back(*member);
    }
  }
  type.count = static_cast<std::uint32_t>(fragment_.members.size()) - type.first;
  scratch_.member_stack.resize(mark);
}

// A third of all DIEs of a kernel are members with a name, a type and a place in bytes: true, and
// the member is on the stack, if die_ is one.
bool UnitLoader::load_plain_member() {
  constexpr std::uint32_t kPlain = attribute_bit(Attribute::kName) |
                                   attribute_bit(Attribute::kType) |
                                   attribute_bit(Attribute::kMemberLocation);
  if (die_.has_children || die_.present != kPlain) {
    return false;
  }
  const Value& type = die_[Attribute::kType];
  const Value& place = die_[Attribute::kMemberLocation];
  if (type.form_class != FormClass::kReference || type.number >= kVoid ||
      place.form_class != FormClass::kConstant || place.number >= 1U << 29) {
    return false;
  }
  scratch_.member_stack.push_back({.name = die_.name(),
                                   .type = static_cast<DieRef>(type.number),
                                   .bit_offset = static_cast<std::uint32_t>(place.number * 8),
                                   .bitfield_size = 0});
  return true;
}

void UnitLoader::load_member(std::int32_t component) {
  if (load_plain_member()) {
    return;
  }
  const bool is_static = die_.flag(Attribute::kExternal) || die_.flag(Attribute::kDeclaration);
  const std::uint64_t bit_size = die_.constant(Attribute::kBitSize);
  const std::uint64_t bit_offset = member_bit_offset(bit_size);
  if (is_static) {
    // DWARF 2 to 4 describe a static member of a C++ class so; it is no part of the object.
  } else if (bit_offset > 0xffffffff || bit_size > 0xffff) {
    degrade(relative(die_.offset), "the member's position is out of range; left out");
  } else {
    scratch_.member_stack.push_back({.name = die_.name(),
                                     .type = reference_of(Attribute::kType),
                                     .bit_offset = static_cast<std::uint32_t>(bit_offset),
                                     .bitfield_size = static_cast<std::uint32_t>(bit_size)});
  }
  load_tag_children(component);
}

// DWARF 5 section 5.7.6: DW_AT_data_bit_offset counts from the start of the aggregate; before DWARF
// 4, DW_AT_bit_offset counts from the most significant bit of the storage unit.
std::uint64_t UnitLoader::member_bit_offset(std::uint64_t bit_size) const {
  const auto position = [&](Attribute attribute) -> std::uint64_t {
    const Value& value = die_[attribute];
    if (value.form_class != FormClass::kBlock) {
      return value.form_class == FormClass::kConstant ||
                     value.form_class == FormClass::kSectionOffset
                 ? value.number
                 : 0;
    }
    Reader reader(value.block(), unit_.forms.sections->order);
    Operation operation;
    const bool is_constant =
        next_operation(reader, unit_.forms, operation) &&
        (operation.code == DW_OP_plus_uconst || operation.code == DW_OP_constu);
    return is_constant ? operation.number : ~std::uint64_t{0} / 8;
  };
  if (die_.has(Attribute::kDataBitOffset)) {
    return position(Attribute::kDataBitOffset);
  }
  const std::uint64_t start =
      die_.has(Attribute::kMemberLocation) ? position(Attribute::kMemberLocation) * 8 : 0;
  if (bit_size == 0 || !die_.has(Attribute::kBitOffset)) {
    return start;
  }
  const std::uint64_t bit_offset = die_.constant(Attribute::kBitOffset);
  if (unit_.forms.sections->order == ByteOrder::big) {
    return start + bit_offset;
  }
  std::uint64_t storage = die_.constant(Attribute::kByteSize);
  if (storage == 0 && die_.has(Attribute::kType)) {
    const Value& type = die_[Attribute::kType];
    storage =
        type.form_class == FormClass::kReference ? peek_size(static_cast<DieRef>(type.number)) : 0;
  }
  return storage == 0 ? start : start + storage * 8 - bit_offset - bit_size;
}

// DW_AT_byte_size of the type behind typedefs and qualifiers, 0 if there is none.
std::uint64_t UnitLoader::peek_size(DieRef type) const {
  Die die;
  for (unsigned step = 0; step < 64 && peek(type, die); ++step) {
    if (die.has(Attribute::kByteSize)) {
      return die.constant(Attribute::kByteSize);
    }
    if (!die.has(Attribute::kType) || die[Attribute::kType].form_class != FormClass::kReference) {
      return 0;
    }
    type = static_cast<DieRef>(die[Attribute::kType].number);
  }
  return 0;
}

void UnitLoader::load_enumeration() {
  const std::uint32_t offset = relative(die_.offset);
  const std::size_t place = scratch_.entries.add(offset);
  if (die_.has(Attribute::kSignature)) {
    return fail(die_.offset, "the type is in a type unit; compile without -fdebug-types-section");
  }
  Type type{.name = die_.name(),
            .size = static_cast<std::uint32_t>(die_.constant(Attribute::kByteSize)),
            .origin = offset,
            .kind = Kind::kEnum};
  if (type.size == 0) {
    type.size = 4;
  }
  const bool is_signed = is_signed_type(reference_of(Attribute::kType));
  const std::size_t mark = scratch_.enumerator_stack.size();
  if (die_.has_children) {
    for_each_child([&] {
      if (die_.tag == DW_TAG_enumerator) {
        load_enumerator();
      } else {
        load_die(Scope::kType);
      }
    });
  }
  finish_enumerators(mark, type, is_signed);
  add_type(place, type);
}

bool UnitLoader::is_signed_type(DieRef type) const {
  if (type == kVoid || !context_.enum64) {
    return false;
  }
  Die die;
  if (!peek(type, die) || die.tag != DW_TAG_base_type) {
    return false;
  }
  const std::uint64_t encoding = die.constant(Attribute::kEncoding);
  return encoding == DW_ATE_signed || encoding == DW_ATE_signed_char;
}

void UnitLoader::load_enumerator() {
  const char* name = die_.name();
  if (*name == '\0') {
    degrade(relative(die_.offset), "an enumerator without a name; left out");
  } else if (die_.has(Attribute::kConstValue) &&
             die_[Attribute::kConstValue].form_class != FormClass::kConstant) {
    degrade(relative(die_.offset), "an enumerator wider than 64 bits; left out");
  } else {
    scratch_.enumerator_stack.push_back(
        {.name = name, .value = static_cast<std::int64_t>(die_.constant(Attribute::kConstValue))});
  }
  skip_children();
}

// Chooses between ENUM and ENUM64 (btf.rst, BTF_KIND_ENUM64) and moves the enumerators to the
// fragment.
void UnitLoader::finish_enumerators(std::size_t mark, Type& type, bool is_signed) {
  const auto first = scratch_.enumerator_stack.begin() + static_cast<std::ptrdiff_t>(mark);
  auto last = scratch_.enumerator_stack.end();
  if (static_cast<std::size_t>(last - first) > kMaxCount) {
    degrade(type.origin, "more than 65,535 enumerators; the rest is left out");
    last = first + kMaxCount;
  }
  const bool has_negative =
      std::any_of(first, last, [](const Enumerator& e) { return e.value < 0; });
  const bool is_wide = std::any_of(first, last, [](const Enumerator& e) {
    return e.value < INT32_MIN || e.value > std::int64_t{UINT32_MAX};
  });
  if (!context_.enum64) {
    for (auto enumerator = first; enumerator != last; ++enumerator) {
      enumerator->value = static_cast<std::uint32_t>(enumerator->value);
    }
  } else if (type.size > 4) {
    type.kind = Kind::kEnum64;
    type.flags = is_signed ? kSignedValues : std::uint8_t{0};
  } else if (is_wide) {
    degrade(type.origin, "an enumerator does not fit into 32 bits; encoded as ENUM64");
    type.kind = Kind::kEnum64;
    type.flags = has_negative ? kSignedValues : std::uint8_t{0};
  } else {
    type.flags = has_negative ? kSignedValues : std::uint8_t{0};
  }
  if (type.size != 1 && type.size != 2 && type.size != 4 && type.size != 8) {
    degrade(type.origin, "BTF has no enumerations of this size; encoded as bytes");
    type.kind = Kind::kStruct;
    type.name = "";
    type.flags = 0;
    last = first;
  }
  type.first = static_cast<std::uint32_t>(fragment_.enumerators.size());
  type.count = static_cast<std::uint32_t>(last - first);
  fragment_.enumerators.insert(fragment_.enumerators.end(), first, last);
  scratch_.enumerator_stack.resize(mark);
}

// One ARRAY for all dimensions, their sizes multiplied; 0 as soon as one of them is unknown.
void UnitLoader::load_array() {
  const std::uint32_t offset = relative(die_.offset);
  const std::size_t place = scratch_.entries.add(offset);
  Type type{
      .size = 1, .target = reference_of(Attribute::kType), .origin = offset, .kind = Kind::kArray};
  if (die_.has_children) {
    unsigned dimensions = 0;
    for_each_child([&] {
      if (die_.tag != DW_TAG_subrange_type) {
        return load_die(Scope::kType);
      }
      std::uint64_t elements = 0;
      if (die_.has(Attribute::kUpperBound)) {
        elements = die_.constant(Attribute::kUpperBound, ~std::uint64_t{0}) + 1;
      } else {
        elements = die_.constant(Attribute::kCount);
      }
      if (dimensions++ < 64) {
        type.size *= static_cast<std::uint32_t>(elements);
      }
      skip_children();
    });
  }
  fragment_.has_array = true;
  add_type(place, type);
}

void UnitLoader::load_subroutine() {
  const std::uint32_t offset = relative(die_.offset);
  const std::size_t place = scratch_.entries.add(offset);
  Type type{
      .target = reference_of(Attribute::kType), .origin = offset, .kind = Kind::kFunctionProto};
  const std::size_t mark = scratch_.parameter_stack.size();
  bool is_variadic = false;
  if (die_.has_children) {
    for_each_child([&] {
      if (die_.tag == DW_TAG_formal_parameter) {
        scratch_.parameter_stack.push_back(
            {.name = die_.name(), .type = reference_of(Attribute::kType)});
        skip_children();
      } else if (die_.tag == DW_TAG_unspecified_parameters) {
        is_variadic = true;
        skip_children();
      } else {
        load_die(Scope::kType);
      }
    });
  }
  if (scratch_.parameter_stack.size() - mark > kMaxCount - 1) {
    degrade(offset, "more than 65,534 parameters; the rest is left out");
    scratch_.parameter_stack.resize(mark + kMaxCount - 1);
  }
  if (is_variadic) {
    scratch_.parameter_stack.push_back({});
  }
  type.first = static_cast<std::uint32_t>(fragment_.parameters.size());
  type.count = static_cast<std::uint32_t>(scratch_.parameter_stack.size() - mark);
  fragment_.parameters.insert(fragment_.parameters.end(),
                              scratch_.parameter_stack.begin() + static_cast<std::ptrdiff_t>(mark),
                              scratch_.parameter_stack.end());
  scratch_.parameter_stack.resize(mark);
  add_type(place, type);
}

}  // namespace btfloom
