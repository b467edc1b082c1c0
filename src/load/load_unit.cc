// The walk over the DIEs of a unit: dispatch by tag, and the tags that are simple.
#include "load/load_unit.h"

#include <bit>

#include "dwarf/constants.h"
#include "load/for_each_child.h"
#include "load/load_unit_internal.h"

namespace btfloom {

LoadScratch::LoadScratch() : parts_(std::make_unique<Parts>()) {}
LoadScratch::LoadScratch(LoadScratch&&) noexcept = default;
LoadScratch& LoadScratch::operator=(LoadScratch&&) noexcept = default;
LoadScratch::~LoadScratch() = default;

void LoadScratch::Parts::clear() {
  entries.clear();
  aliases.clear();
  direct_targets.clear();
  functions.clear();
  parameters.clear();
  variables.clear();
  member_stack.clear();
  enumerator_stack.clear();
  parameter_stack.clear();
  function_parameter_stack.clear();
  tag_stack.clear();
}

namespace {

// Deeper than any compiler nests DIEs; bounds the recursion that follows the tree.
constexpr unsigned kMaxDepth = 1024;

Error unit_error(const Unit& unit, std::string text) {
  return Error{.kind = ErrorKind::kInput,
               .text = std::move(text),
               .file = unit.forms.sections->file,
               .unit = std::string(unit.name),
               .die_offset = unit.first_die};
}

// Units whose DIEs are not, or not all, where this reader looks.
Result<> check_unit_kind(const Unit& unit) {
  if (!unit.broken.empty()) {
    return unit_error(unit, unit.broken);
  }
  if (!unit.dwo_name.empty() || unit.unit_type == DW_UT_skeleton) {
    return unit_error(unit, "the unit's debug information is in " + std::string(unit.dwo_name) +
                                " (split DWARF); compile without -gsplit-dwarf");
  }
  if (unit.unit_type == DW_UT_type || unit.unit_type == DW_UT_split_type) {
    return unit_error(unit, "type units are not read; compile without -fdebug-types-section");
  }
  if (unit.tag == DW_TAG_partial_unit) {
    return unit_error(unit, "partial units are not read; encode before dwz compresses the file");
  }
  return {};
}

}  // namespace

Result<> load_unit(const Unit& unit, const LoadContext& context, const LoadScratch& scratch,
                   Fragment& fragment) {
  fragment.clear();
  TRY(check_unit_kind(unit));
  if (unit.tag == 0) {
    return {};  // no DIE at all
  }
  if (unit.end - unit.offset >= kVoid) {
    return unit_error(unit, "the unit is larger than 4 GiB");
  }
  LoadScratch::Parts& parts = scratch.parts();
  TRY(parts.abbrevs.prepare(unit));
  parts.clear();
  return UnitLoader(unit, context, parts, fragment).run();
}

Result<> UnitLoader::run() {
  if (cursor_.next(die_)) {
    ++fragment_.dies;
    if (die_.has_children) {
      load_children(Scope::kUnit);
    }
  }
  if (cursor_.error() != nullptr) {
    fail(cursor_.error_offset(), cursor_.error());
  }
  if (failed_) {
    return std::move(error_);
  }
  scratch_.entries.build(static_cast<std::uint32_t>(unit_.end - unit_.offset));
  resolve_references();
  settle_functions();
  settle_variables();
  if (failed_) {
    return std::move(error_);
  }
  return {};
}

void UnitLoader::fail(std::uint64_t die, std::string text) {
  if (!failed_) {
    failed_ = true;
    error_ = unit_error(unit_, std::move(text));
    error_.die_offset = die;
  }
}

void UnitLoader::warn(std::uint32_t die, std::string text) {
  fragment_.diagnostics.push_back({.severity = Severity::kWarning,
                                   .file = unit_.forms.sections->file,
                                   .unit = std::string(unit_.name),
                                   .die_offset = unit_.offset + die,
                                   .text = std::move(text)});
}

void UnitLoader::degrade(std::uint32_t die, std::string text) {
  ++fragment_.degraded;
  warn(die, std::move(text));
}

bool UnitLoader::enter() {
  if (++depth_ > kMaxDepth) {
    fail(die_.offset, "DIEs are nested more than 1,024 deep; the file is damaged");
    --depth_;
    return false;
  }
  return true;
}

// Reads one DIE out of order.
bool UnitLoader::peek(DieRef reference, Die& die) const {
  if (reference == kVoid) {
    return false;
  }
  Cursor cursor(unit_, scratch_.abbrevs);
  return cursor.jump_forward(unit_.offset + reference) && cursor.next(die) && !die.is_null();
}

void UnitLoader::load_children(Scope scope) {
  for_each_child([&] { load_die(scope); });
}

// Jumps behind the children of the current DIE, which hold nothing of use.
void UnitLoader::skip_children() {
  if (!die_.has_children) {
    return;
  }
  if (die_.has(Attribute::kSibling) &&
      die_[Attribute::kSibling].form_class == FormClass::kReference &&
      cursor_.jump_forward(unit_.offset + die_[Attribute::kSibling].number)) {
    return;
  }
  for_each_child([&] { skip_children(); });
}

void UnitLoader::load_die(Scope scope) {
  switch (die_.tag) {
    case DW_TAG_base_type:
      return load_base_type();
    case DW_TAG_pointer_type:
      return load_qualifier(Kind::kPointer);
    case DW_TAG_const_type:
      return load_qualifier(Kind::kConst);
    case DW_TAG_volatile_type:
      return load_qualifier(Kind::kVolatile);
    case DW_TAG_restrict_type:
      return load_qualifier(Kind::kRestrict);
    case DW_TAG_typedef:
      return load_qualifier(Kind::kTypedef);
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_interface_type:
      return load_struct(Kind::kStruct);
    case DW_TAG_union_type:
      return load_struct(Kind::kUnion);
    case DW_TAG_enumeration_type:
      return load_enumeration();
    case DW_TAG_array_type:
      return load_array();
    case DW_TAG_subroutine_type:
      return load_subroutine();
    case DW_TAG_subprogram:
      return load_function();
    case DW_TAG_variable:
      return load_variable(scope);
    case DW_TAG_atomic_type:
      return load_alias("BTF has no _Atomic; encoded as the plain type");
    case DW_TAG_reference_type:
      return load_reference_as_pointer("BTF has no references; encoded as a pointer");
    case DW_TAG_rvalue_reference_type:
      return load_reference_as_pointer("BTF has no rvalue references; encoded as a pointer");
    case DW_TAG_ptr_to_member_type:
      return load_opaque("BTF has no pointers to members; encoded as bytes without a meaning",
                         unit_.forms.address_size);
    case DW_TAG_string_type:
      return load_opaque("BTF has no string types; encoded as bytes without a meaning", 0);
    case DW_TAG_unspecified_type:
      return load_void_type();
    case DW_TAG_namespace:
      if (die_.has_children) {
        load_children(scope == Scope::kUnit ? Scope::kNamespace : scope);
      }
      return;
    case DW_TAG_lexical_block:
    case DW_TAG_inlined_subroutine:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
      if (die_.has_children) {
        load_children(Scope::kFunction);
      }
      return;
    case DW_TAG_imported_unit:
      return fail(die_.offset,
                  "imported units are not read; encode before dwz compresses the file");
    default:
      return skip_children();
  }
}

std::uint32_t UnitLoader::add_type(std::size_t place, const Type& type) {
  const auto index = static_cast<std::uint32_t>(fragment_.types.size());
  fragment_.types.push_back(type);
  scratch_.entries.set(place, Entry::Kind::kType, index);
  return index;
}

// BTF INT or FLOAT by DW_AT_encoding (DWARF 5 section 5.1.1).
void UnitLoader::load_base_type() {
  const std::uint32_t offset = relative(die_.offset);
  const std::uint64_t bytes = die_.constant(Attribute::kByteSize);
  const std::uint64_t encoding = die_.constant(Attribute::kEncoding);
  Type type{.name = die_.name(), .size = static_cast<std::uint32_t>(bytes), .origin = offset};
  if (*type.name == '\0') {
    return load_opaque("a base type without a name; encoded as bytes without a meaning", type.size);
  }
  const bool is_float = encoding == DW_ATE_float;
  const bool is_complex = encoding == DW_ATE_complex_float || encoding == DW_ATE_imaginary_float;
  if (context_.floats && is_complex) {
    return load_opaque("BTF has no complex numbers; encoded as bytes without a meaning", type.size);
  }
  if (context_.floats && is_float) {
    if (bytes != 2 && bytes != 4 && bytes != 8 && bytes != 12 && bytes != 16) {
      return load_opaque("BTF has no floating point of this size; encoded as bytes", type.size);
    }
    type.kind = Kind::kFloat;
  } else if (encoding == DW_ATE_signed || encoding == DW_ATE_signed_char) {
    type.flags = kIntSigned;
  } else if (encoding == DW_ATE_boolean) {
    type.flags = kIntBool;
  }
  if (type.kind == Kind::kInt && (!std::has_single_bit(bytes) || bytes > 16)) {
    type.name = "__SANITIZED_FAKE_INT__";  // as the peer: BTF has no integers of this size
    type.size = 4;
  }
  const std::uint32_t index = add_type(scratch_.entries.add(offset), type);
  if (fragment_.int_type == kVoid && type.kind == Kind::kInt &&
      std::string_view(type.name) == "int") {
    fragment_.int_type = index;
  }
  skip_children();
}

// Kinds that have one target: pointer, const, volatile, restrict, typedef.
void UnitLoader::load_qualifier(Kind kind) {
  const std::uint32_t offset = relative(die_.offset);
  const std::size_t place = scratch_.entries.add(offset);
  Type type{.target = reference_of(Attribute::kType), .origin = offset, .kind = kind};
  if (kind == Kind::kTypedef) {
    type.name = die_.name();
    if (*type.name == '\0') {
      degrade(offset, "a typedef without a name; encoded as its target");
      scratch_.entries.set(place, Entry::Kind::kAlias,
                           static_cast<std::uint32_t>(scratch_.aliases.size()));
      scratch_.aliases.push_back(type.target);
      return skip_children();
    }
    const std::size_t mark = scratch_.tag_stack.size();
    load_tag_children(-1);
    flush_type_tags(mark, add_type(place, type));
    return;
  }
  if (kind == Kind::kPointer && context_.type_tags &&
      (die_.has_children || die_.has(Attribute::kAnnotation))) {
    type.target = load_type_tags(die_.has_children, type.target);
  } else {
    skip_children();
  }
  add_type(place, type);
}

void UnitLoader::load_reference_as_pointer(const char* what) {
  degrade(relative(die_.offset), what);
  load_qualifier(Kind::kPointer);
}

void UnitLoader::load_void_type() {
  const std::size_t place = scratch_.entries.add(relative(die_.offset));
  scratch_.entries.set(place, Entry::Kind::kVoidType, 0);
  skip_children();
}

void UnitLoader::load_alias(const char* why) {
  const std::uint32_t offset = relative(die_.offset);
  degrade(offset, why);
  const std::size_t place = scratch_.entries.add(offset);
  scratch_.entries.set(place, Entry::Kind::kAlias,
                       static_cast<std::uint32_t>(scratch_.aliases.size()));
  scratch_.aliases.push_back(reference_of(Attribute::kType));
  skip_children();
}

// Bytes of which nothing can be said; DW_AT_byte_size, or `size` if the DIE has none.
void UnitLoader::load_opaque(const char* why, std::uint32_t size) {
  const std::uint32_t offset = relative(die_.offset);
  degrade(offset, why);
  const auto bytes = static_cast<std::uint32_t>(die_.constant(Attribute::kByteSize, size));
  add_type(scratch_.entries.add(offset), {.size = bytes, .origin = offset, .kind = Kind::kStruct});
  skip_children();
}

}  // namespace btfloom
