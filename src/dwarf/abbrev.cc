#include "dwarf/abbrev.h"

#include <algorithm>
#include <array>

#include "dwarf/constants.h"
#include "support/leb128.h"

namespace btfloom {

namespace {

constexpr std::uint32_t bits() {
  return 0;
}
template <typename... Rest>
constexpr std::uint32_t bits(Attribute first, Rest... rest) {
  return attribute_bit(first) | bits(rest...);
}

// What load/ asks of a DIE of this tag. Everything else is skipped.
std::uint32_t wanted_attributes(std::uint16_t tag) {
  using enum Attribute;
  constexpr std::uint32_t kAggregate =
      bits(kSibling, kName, kByteSize, kDeclaration, kSpecification, kSignature, kAnnotation);
  switch (tag) {
    case DW_TAG_base_type:
    case DW_TAG_string_type:
    case DW_TAG_unspecified_type:
      return bits(kName, kByteSize, kEncoding, kSibling);
    case DW_TAG_pointer_type:
    case DW_TAG_const_type:
    case DW_TAG_volatile_type:
    case DW_TAG_restrict_type:
    case DW_TAG_atomic_type:
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type:
    case DW_TAG_ptr_to_member_type:
      return bits(kSibling, kType, kByteSize, kAnnotation);
    case DW_TAG_typedef:
      return bits(kSibling, kName, kType, kAnnotation);
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_interface_type:
    case DW_TAG_union_type:
      return kAggregate;
    case DW_TAG_enumeration_type:
      return kAggregate | bits(kType, kEncoding);
    case DW_TAG_array_type:
    case DW_TAG_subroutine_type:
      return bits(kSibling, kType);
    case DW_TAG_subrange_type:
      return bits(kSibling, kUpperBound, kCount);
    case DW_TAG_member:
      return bits(kSibling, kName, kType, kByteSize, kBitSize, kDataBitOffset, kBitOffset,
                  kMemberLocation, kDeclaration, kExternal, kAnnotation);
    case DW_TAG_inheritance:
      return bits(kSibling, kAnnotation);
    case DW_TAG_enumerator:
      return bits(kName, kConstValue);
    case DW_TAG_formal_parameter:
      return bits(kSibling, kName, kType, kConstValue, kAbstractOrigin, kLocation, kAnnotation);
    case DW_TAG_subprogram:
      return bits(kSibling, kName, kType, kDeclaration, kInline, kLowPc, kAbstractOrigin,
                  kSpecification, kCallingConvention, kAnnotation);
    case DW_TAG_variable:
      return bits(kSibling, kName, kType, kDeclaration, kExternal, kArtificial, kLocation,
                  kAbstractOrigin, kSpecification);
    case kTagLlvmAnnotation:
    case kTagGnuAnnotation:
      return bits(kSibling, kName, kConstValue, kAnnotation);
    default:
      return bits(kSibling);
  }
}

std::uint32_t context_key(const FormContext& context) {
  return static_cast<std::uint32_t>(context.version << 16 | context.offset_size << 8 |
                                    context.address_size);
}

Error damaged(const Unit& unit, std::string text) {
  return Error{.kind = ErrorKind::kInput,
               .text = std::move(text),
               .file = unit.forms.sections->file,
               .unit = std::string(unit.name)};
}

Step::Kind fixed_step(int size) {
  switch (size) {
    case 1:
      return Step::Kind::kFixed1;
    case 2:
      return Step::Kind::kFixed2;
    case 4:
      return Step::Kind::kFixed4;
    case 8:
      return Step::Kind::kFixed8;
    default:
      return Step::Kind::kSlow;
  }
}

// The step that reads `form`; kSlow for whatever is too rare to deserve one.
Step::Kind value_step(std::uint16_t form, const FormContext& context) {
  switch (form) {
    case DW_FORM_implicit_const:
    case DW_FORM_flag_present:
      return Step::Kind::kConstant;
    case DW_FORM_string:
      return Step::Kind::kString;
    case DW_FORM_strp:
      return context.offset_size == 4 ? Step::Kind::kStrp4 : Step::Kind::kSlow;
    case DW_FORM_line_strp:
      return context.offset_size == 4 ? Step::Kind::kLineStrp4 : Step::Kind::kSlow;
    case DW_FORM_udata:
    case DW_FORM_ref_udata:
    case DW_FORM_addrx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_loclistx:
      return Step::Kind::kUleb;
    case DW_FORM_sdata:
      return Step::Kind::kSleb;
    case DW_FORM_exprloc:
    case DW_FORM_block:
      return Step::Kind::kBlockLeb;
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
      return Step::Kind::kSlow;
    default:
      return fixed_step(form_size(form, context));
  }
}

// The step that jumps over a value of `form`, whose size is not fixed.
Step::Kind skip_step(std::uint16_t form) {
  switch (form) {
    case DW_FORM_string:
      return Step::Kind::kSkipString;
    case DW_FORM_block1:
      return Step::Kind::kSkipBlock1;
    case DW_FORM_block2:
      return Step::Kind::kSkipBlock2;
    case DW_FORM_block4:
      return Step::Kind::kSkipBlock4;
    case DW_FORM_block:
    case DW_FORM_exprloc:
      return Step::Kind::kSkipBlockLeb;
    case DW_FORM_indirect:
      return Step::Kind::kSlowSkip;
    default:
      return Step::Kind::kSkipLeb;
  }
}

}  // namespace

bool attribute_of(std::uint16_t dw_at, Attribute& attribute) {
  struct Row {
    std::uint16_t dw_at;
    Attribute attribute;
  };
  static constexpr Row kRows[] = {
      {DW_AT_sibling, Attribute::kSibling},
      {DW_AT_name, Attribute::kName},
      {DW_AT_type, Attribute::kType},
      {DW_AT_byte_size, Attribute::kByteSize},
      {DW_AT_bit_size, Attribute::kBitSize},
      {DW_AT_data_bit_offset, Attribute::kDataBitOffset},
      {DW_AT_bit_offset, Attribute::kBitOffset},
      {DW_AT_data_member_location, Attribute::kMemberLocation},
      {DW_AT_encoding, Attribute::kEncoding},
      {DW_AT_upper_bound, Attribute::kUpperBound},
      {DW_AT_count, Attribute::kCount},
      {DW_AT_const_value, Attribute::kConstValue},
      {DW_AT_declaration, Attribute::kDeclaration},
      {DW_AT_external, Attribute::kExternal},
      {DW_AT_artificial, Attribute::kArtificial},
      {DW_AT_inline, Attribute::kInline},
      {DW_AT_low_pc, Attribute::kLowPc},
      {DW_AT_abstract_origin, Attribute::kAbstractOrigin},
      {DW_AT_specification, Attribute::kSpecification},
      {DW_AT_location, Attribute::kLocation},
      {DW_AT_calling_convention, Attribute::kCallingConvention},
      {DW_AT_signature, Attribute::kSignature},
      {kAtGnuAnnotation, Attribute::kAnnotation},
  };
  static_assert(std::size(kRows) == kAttributeCount);
  // By number: a table of a vmlinux has a million declarations' worth of attributes to look up.
  static constexpr std::size_t kStandard = 0x90;
  static constexpr auto kByNumber = [] {
    std::array<std::uint8_t, kStandard> by_number{};
    by_number.fill(kAttributeCount);
    for (const Row& row : kRows) {
      if (row.dw_at < kStandard) {
        by_number[row.dw_at] = static_cast<std::uint8_t>(row.attribute);
      }
    }
    return by_number;
  }();
  if (dw_at < kStandard && kByNumber[dw_at] < kAttributeCount) {
    attribute = static_cast<Attribute>(kByNumber[dw_at]);
    return true;
  }
  attribute = Attribute::kAnnotation;
  return dw_at == kAtGnuAnnotation;
}

const Abbrev& AbbrevTable::find_sparse(std::uint64_t code) const {
  static constexpr Abbrev kNone;
  const auto found = std::lower_bound(
      sparse_.begin(), sparse_.end(), code,
      [](const Sparse& entry, std::uint64_t wanted) { return entry.code < wanted; });
  return found != sparse_.end() && found->code == code ? found->abbrev : kNone;
}

Result<> AbbrevTable::prepare(const Unit& unit) {
  if (sections_ == unit.forms.sections && offset_ == unit.abbrev_offset &&
      context_key_ == context_key(unit.forms)) {
    return {};
  }
  sections_ = nullptr;
  TRY(compile(unit));
  sections_ = unit.forms.sections;
  offset_ = unit.abbrev_offset;
  context_key_ = context_key(unit.forms);
  return {};
}

Result<> AbbrevTable::compile(const Unit& unit) {
  abbrevs_.clear();
  abbrevs_.resize(1);  // code 0 ends a chain of siblings
  sparse_.clear();
  steps_.clear();
  constants_.clear();
  const Bytes table = unit.forms.sections->abbrev;
  if (unit.abbrev_offset >= table.size()) {
    return damaged(unit, "the unit's abbreviation table lies outside .debug_abbrev");
  }
  Reader reader(table.subspan(unit.abbrev_offset), unit.forms.sections->order);
  for (;;) {
    const std::uint64_t code = reader.uleb();
    if (reader.ok() && code == 0) {
      break;
    }
    Abbrev abbrev;
    abbrev.tag = static_cast<std::uint16_t>(reader.uleb());
    abbrev.has_children = reader.u8() != 0;
    abbrev.first_step = static_cast<std::uint32_t>(steps_.size());
    abbrev.largest_size = kMaxLebBytes;  // the code itself
    if (!reader.ok()) {
      // Binutils and the kernel's linker scripts keep the final 0; a table that just ends is
      // damaged.
      return damaged(unit, ".debug_abbrev ends inside a table");
    }
    const Result<> compiled = compile_attributes(reader, unit.forms, abbrev);
    if (!compiled.ok()) {
      return damaged(unit, compiled.error().text);
    }
    abbrev.step_count = static_cast<std::uint32_t>(steps_.size()) - abbrev.first_step;
    if (code == abbrevs_.size()) {
      abbrevs_.push_back(abbrev);
    } else if (code > abbrevs_.size()) {
      sparse_.push_back({code, abbrev});
    }
  }
  std::stable_sort(sparse_.begin(), sparse_.end(),
                   [](const Sparse& a, const Sparse& b) { return a.code < b.code; });
  return {};
}

Result<> AbbrevTable::compile_attributes(Reader& reader, const FormContext& context,
                                         Abbrev& abbrev) {
  for (;;) {
    const auto name = static_cast<std::uint16_t>(reader.uleb());
    const auto form = static_cast<std::uint16_t>(reader.uleb());
    const std::int64_t implicit_const = form == DW_FORM_implicit_const ? reader.sleb() : 0;
    if (!reader.ok()) {
      return Error{.text = ".debug_abbrev ends inside a table"};
    }
    if (name == 0 && form == 0) {
      return {};
    }
    TRY(compile_one(name, form, implicit_const, context, abbrev));
  }
}

Result<> AbbrevTable::compile_one(std::uint16_t name, std::uint16_t form,
                                  std::int64_t implicit_const, const FormContext& context,
                                  Abbrev& abbrev) {
  const int size = form_size(form, context);
  if (size == kUnknownForm) {
    return Error{.text = "unknown DW_FORM " + std::to_string(form) +
                         " in .debug_abbrev; the file is damaged or from a newer DWARF"};
  }
  abbrev.largest_size += size >= 0 ? static_cast<unsigned>(size) : kMaxLebBytes;
  Attribute attribute{};
  const bool wanted = attribute_of(name, attribute) &&
                      (wanted_attributes(abbrev.tag) & attribute_bit(attribute)) != 0 &&
                      (abbrev.present & attribute_bit(attribute)) == 0;
  if (!wanted) {
    if (size >= 0) {
      add_skip(abbrev, static_cast<unsigned>(size));
    } else {
      add_step({.kind = skip_step(form), .bytes = form});
    }
    return {};
  }
  abbrev.present |= attribute_bit(attribute);
  Step step{.kind = value_step(form, context),
            .attribute = attribute,
            .form_class = form_class(form),
            .bytes = form};
  if (step.kind == Step::Kind::kConstant) {
    if (constants_.size() > 0xffff) {
      return Error{.text = "more than 65,536 implicit constants in one abbreviation table"};
    }
    step.bytes = static_cast<std::uint16_t>(constants_.size());
    constants_.push_back(form == DW_FORM_flag_present ? 1 : implicit_const);
  }
  add_step(step);
  return {};
}

// Adds to the run of skips at the end of the program if there is one.
void AbbrevTable::add_skip(const Abbrev& abbrev, unsigned bytes) {
  if (bytes == 0) {
    return;
  }
  if (steps_.size() > abbrev.first_step && steps_.back().kind == Step::Kind::kSkip &&
      steps_.back().bytes + bytes <= 0xffff) {
    steps_.back().bytes = static_cast<std::uint16_t>(steps_.back().bytes + bytes);
    return;
  }
  add_step({.kind = Step::Kind::kSkip, .bytes = static_cast<std::uint16_t>(bytes)});
}

}  // namespace btfloom
