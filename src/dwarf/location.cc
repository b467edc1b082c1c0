#include "dwarf/location.h"

#include "dwarf/constants.h"

namespace btfloom {

namespace {

enum class Operands : std::uint8_t {
  kNone,
  kU8,
  kU16,
  kU32,
  kU64,
  kAddress,
  kOffset,
  kUleb,
  kSleb,
  kUlebUleb,
  kUlebSleb,
  kOffsetSleb,
  kBlock,       // ULEB length, then bytes
  kUlebBlock8,  // ULEB, one length byte, then bytes
  kU8Uleb,
  kUnknown,
};

Operands operands_of(std::uint8_t code) {
  if (code >= DW_OP_breg0 && code <= DW_OP_breg31) {
    return Operands::kSleb;
  }
  if (code >= DW_OP_lit0 && code <= DW_OP_reg31) {
    return Operands::kNone;
  }
  switch (code) {
    case DW_OP_addr:
      return Operands::kAddress;
    case DW_OP_const1u:
    case DW_OP_const1s:
    case DW_OP_pick:
    case DW_OP_deref_size:
    case DW_OP_xderef_size:
      return Operands::kU8;
    case DW_OP_const2u:
    case DW_OP_const2s:
    case DW_OP_bra:
    case DW_OP_skip:
    case DW_OP_call2:
      return Operands::kU16;
    case DW_OP_const4u:
    case DW_OP_const4s:
    case DW_OP_call4:
    case DW_OP_GNU_parameter_ref:
      return Operands::kU32;
    case DW_OP_const8u:
    case DW_OP_const8s:
      return Operands::kU64;
    case DW_OP_constu:
    case DW_OP_plus_uconst:
    case DW_OP_regx:
    case DW_OP_piece:
    case DW_OP_addrx:
    case DW_OP_constx:
    case DW_OP_convert:
    case DW_OP_reinterpret:
    case DW_OP_GNU_addr_index:
    case DW_OP_GNU_const_index:
    case DW_OP_GNU_convert:
    case DW_OP_GNU_reinterpret:
      return Operands::kUleb;
    case DW_OP_consts:
    case DW_OP_fbreg:
      return Operands::kSleb;
    case DW_OP_bregx:
      return Operands::kUlebSleb;
    case DW_OP_bit_piece:
    case DW_OP_regval_type:
    case DW_OP_GNU_regval_type:
      return Operands::kUlebUleb;
    case DW_OP_call_ref:
    case DW_OP_GNU_variable_value:
      return Operands::kOffset;
    case DW_OP_implicit_pointer:
    case DW_OP_GNU_implicit_pointer:
      return Operands::kOffsetSleb;
    case DW_OP_implicit_value:
    case DW_OP_entry_value:
    case DW_OP_GNU_entry_value:
      return Operands::kBlock;
    case DW_OP_const_type:
    case DW_OP_GNU_const_type:
      return Operands::kUlebBlock8;
    case DW_OP_deref_type:
    case DW_OP_xderef_type:
    case DW_OP_GNU_deref_type:
      return Operands::kU8Uleb;
    default:
      break;
  }
  const bool is_plain = (code >= DW_OP_dup && code <= DW_OP_plus) || code == DW_OP_deref ||
                        (code >= DW_OP_shl && code <= DW_OP_ne) || code == DW_OP_nop ||
                        code == DW_OP_push_object_address || code == DW_OP_form_tls_address ||
                        code == DW_OP_call_frame_cfa || code == DW_OP_stack_value ||
                        code == DW_OP_GNU_push_tls_address || code == DW_OP_GNU_uninit;
  return is_plain ? Operands::kNone : Operands::kUnknown;
}

}  // namespace

bool next_operation(Reader& reader, const FormContext& context, Operation& operation) {
  if (!reader.ok() || reader.at_end()) {
    return false;
  }
  operation = {.code = reader.u8(), .number = 0, .block = {}};
  switch (operands_of(operation.code)) {
    case Operands::kNone:
      break;
    case Operands::kU8:
      operation.number = reader.u8();
      break;
    case Operands::kU16:
      operation.number = reader.u16();
      break;
    case Operands::kU32:
      operation.number = reader.u32();
      break;
    case Operands::kU64:
      operation.number = reader.u64();
      break;
    case Operands::kAddress:
      operation.number = reader.sized(context.address_size);
      break;
    case Operands::kOffset:
      operation.number = reader.sized(context.offset_size);
      break;
    case Operands::kUleb:
      operation.number = reader.uleb();
      break;
    case Operands::kSleb:
      operation.number = static_cast<std::uint64_t>(reader.sleb());
      break;
    case Operands::kUlebUleb:
    case Operands::kUlebSleb:
      operation.number = reader.uleb();
      reader.uleb();
      break;
    case Operands::kOffsetSleb:
      operation.number = reader.sized(context.offset_size);
      reader.uleb();
      break;
    case Operands::kBlock:
      operation.block = reader.take(reader.uleb());
      break;
    case Operands::kUlebBlock8:
      operation.number = reader.uleb();
      operation.block = reader.take(reader.u8());
      break;
    case Operands::kU8Uleb:
      operation.number = reader.u8();
      reader.uleb();
      break;
    case Operands::kUnknown:
      reader.skip(~std::uint64_t{0});
      break;
  }
  return reader.ok();
}

int register_of(const Operation& operation) {
  if (operation.code >= DW_OP_reg0 && operation.code <= DW_OP_reg31) {
    return operation.code - DW_OP_reg0;
  }
  return operation.code == DW_OP_regx ? static_cast<int>(operation.number) : -1;
}

int base_register_of(const Operation& operation) {
  if (operation.code >= DW_OP_breg0 && operation.code <= DW_OP_breg31) {
    return operation.code - DW_OP_breg0;
  }
  return operation.code == DW_OP_bregx ? static_cast<int>(operation.number) : -1;
}

namespace {

using ExpressionVisitor = FunctionRef<void(Bytes expression, unsigned entry)>;

// DWARF 2 to 4: pairs of addresses, a 2-byte length, the expression; (0, 0) ends the list.
void walk_loc(const Unit& unit, std::uint64_t offset, ExpressionVisitor f) {
  const DwarfSections& sections = *unit.forms.sections;
  if (offset >= sections.loc.size()) {
    return;
  }
  Reader reader(sections.loc.subspan(offset), sections.order);
  const unsigned size = unit.forms.address_size;
  const std::uint64_t base_selection = size == 8 ? ~std::uint64_t{0} : (1ULL << (8 * size)) - 1;
  for (unsigned entry = 0; reader.ok();) {
    const std::uint64_t begin = reader.sized(size);
    const std::uint64_t end = reader.sized(size);
    if (begin == base_selection) {
      continue;
    }
    if (!reader.ok() || (begin == 0 && end == 0)) {
      return;
    }
    const Bytes expression = reader.take(reader.u16());
    if (reader.ok()) {
      f(expression, entry++);
    }
  }
}

// Operands in front of the expression of a DW_LLE_* entry. False: the entry has no expression.
bool skip_range(Reader& reader, std::uint8_t kind, unsigned address_size) {
  switch (kind) {
    case DW_LLE_base_addressx:
      reader.uleb();
      return false;
    case DW_LLE_base_address:
      reader.skip(address_size);
      return false;
    case DW_LLE_startx_endx:
    case DW_LLE_startx_length:
    case DW_LLE_offset_pair:
      reader.uleb();
      reader.uleb();
      return true;
    case DW_LLE_default_location:
      return true;
    case DW_LLE_start_end:
      reader.skip(2ULL * address_size);
      return true;
    case DW_LLE_start_length:
      reader.skip(address_size);
      reader.uleb();
      return true;
    case 9:  // DW_LLE_GNU_view_pair, with -gvariable-location-views=incompat5
      reader.uleb();
      reader.uleb();
      return false;
    default:
      reader.skip(~std::uint64_t{0});
      return false;
  }
}

void walk_loclists(const Unit& unit, std::uint64_t offset, ExpressionVisitor f) {
  const DwarfSections& sections = *unit.forms.sections;
  if (offset >= sections.loclists.size()) {
    return;
  }
  Reader reader(sections.loclists.subspan(offset), sections.order);
  for (unsigned entry = 0; reader.ok();) {
    const std::uint8_t kind = reader.u8();
    if (kind == DW_LLE_end_of_list) {
      return;
    }
    if (!skip_range(reader, kind, unit.forms.address_size)) {
      continue;
    }
    const Bytes expression = reader.take(reader.uleb());
    if (reader.ok()) {
      f(expression, entry++);
    }
  }
}

// Offset of list `index` of the unit's table (DWARF 5 section 7.29); out of range if there is none.
std::uint64_t list_offset(const Unit& unit, std::uint64_t index) {
  const DwarfSections& sections = *unit.forms.sections;
  const std::uint64_t base = unit.forms.loclists_base;
  if (base >= sections.loclists.size() || index >= sections.loclists.size()) {
    return ~std::uint64_t{0};
  }
  Reader reader(sections.loclists.subspan(base), sections.order);
  reader.skip(index * unit.forms.offset_size);
  const std::uint64_t offset = reader.sized(unit.forms.offset_size);
  return reader.ok() ? base + offset : ~std::uint64_t{0};
}

}  // namespace

void for_each_location(const Unit& unit, const Value& location, ExpressionVisitor f) {
  switch (location.form_class) {
    case FormClass::kBlock:
      f(location.block(), 0);
      break;
    case FormClass::kConstant:  // data4 and data8 before DWARF 4
    case FormClass::kSectionOffset:
      if (unit.forms.version >= 5) {
        walk_loclists(unit, location.number, f);
      } else {
        walk_loc(unit, location.number, f);
      }
      break;
    case FormClass::kListIndex:
      walk_loclists(unit, list_offset(unit, location.number), f);
      break;
    default:
      break;
  }
}

}  // namespace btfloom
