#include "dwarf/form.h"

#include "dwarf/constants.h"

namespace btfloom {

int form_size(std::uint16_t form, const FormContext& context) {
  switch (form) {
    case DW_FORM_implicit_const:
    case DW_FORM_flag_present:
      return 0;
    case DW_FORM_data1:
    case DW_FORM_ref1:
    case DW_FORM_flag:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
      return 1;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
      return 2;
    case DW_FORM_strx3:
    case DW_FORM_addrx3:
      return 3;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
    case DW_FORM_ref_sup4:
      return 4;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8:
      return 8;
    case DW_FORM_data16:
      return 16;
    case DW_FORM_addr:
      return context.address_size;
    case DW_FORM_ref_addr:  // an address in DWARF 2, an offset since DWARF 3
      return context.version <= 2 ? context.address_size : context.offset_size;
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_sec_offset:
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
      return context.offset_size;
    case DW_FORM_sdata:
    case DW_FORM_udata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
    case DW_FORM_string:
    case DW_FORM_block:
    case DW_FORM_block1:
    case DW_FORM_block2:
    case DW_FORM_block4:
    case DW_FORM_exprloc:
    case DW_FORM_indirect:
      return kVariableSize;
    default:
      return kUnknownForm;
  }
}

FormClass form_class(std::uint16_t form) {
  switch (form) {
    case DW_FORM_data1:
    case DW_FORM_data2:
    case DW_FORM_data4:
    case DW_FORM_data8:
    case DW_FORM_sdata:
    case DW_FORM_udata:
    case DW_FORM_implicit_const:
    case DW_FORM_flag:
    case DW_FORM_flag_present:
      return FormClass::kConstant;
    case DW_FORM_string:
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_strx:
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
    case DW_FORM_GNU_str_index:
      return FormClass::kString;
    case DW_FORM_ref1:
    case DW_FORM_ref2:
    case DW_FORM_ref4:
    case DW_FORM_ref8:
    case DW_FORM_ref_udata:
      return FormClass::kReference;
    case DW_FORM_ref_addr:
      return FormClass::kGlobalReference;
    case DW_FORM_ref_sig8:
      return FormClass::kSignature;
    case DW_FORM_addr:
      return FormClass::kAddress;
    case DW_FORM_addrx:
    case DW_FORM_addrx1:
    case DW_FORM_addrx2:
    case DW_FORM_addrx3:
    case DW_FORM_addrx4:
    case DW_FORM_GNU_addr_index:
      return FormClass::kAddressIndex;
    case DW_FORM_block:
    case DW_FORM_block1:
    case DW_FORM_block2:
    case DW_FORM_block4:
    case DW_FORM_exprloc:
    case DW_FORM_data16:
      return FormClass::kBlock;
    case DW_FORM_sec_offset:
      return FormClass::kSectionOffset;
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
      return FormClass::kListIndex;
    default:
      return FormClass::kForeign;
  }
}

const char* text_at_index(const FormContext& context, std::uint64_t index) {
  const Bytes table = context.sections->str_offsets;
  if (index >= table.size()) {
    return nullptr;
  }
  const std::uint64_t at = context.str_offsets_base + index * context.offset_size;
  if (at > table.size() || table.size() - at < context.offset_size) {
    return nullptr;
  }
  Reader reader(table.subspan(at), context.sections->order);
  return text_at(context.sections->str, reader.sized(context.offset_size));
}

std::uint64_t address_at_index(const FormContext& context, std::uint64_t index) {
  const Bytes table = context.sections->addr;
  if (index >= table.size()) {
    return 0;
  }
  const std::uint64_t at = context.addr_base + index * context.address_size;
  if (at > table.size() || table.size() - at < context.address_size) {
    return 0;
  }
  Reader reader(table.subspan(at), context.sections->order);
  return reader.sized(context.address_size);
}

namespace {

Value read_text(Reader& reader, const char* text) {
  if (text == nullptr) {
    reader.skip(~std::uint64_t{0});  // turns not-ok: the offset points outside its section
    text = "";
  }
  return {reinterpret_cast<std::uint64_t>(text), 0, FormClass::kString};
}

Value read_block(Reader& reader, std::uint64_t length) {
  const Bytes bytes = reader.take(length);
  return {reinterpret_cast<std::uint64_t>(bytes.data()), static_cast<std::uint32_t>(bytes.size()),
          FormClass::kBlock};
}

}  // namespace

Value read_form(Reader& reader, std::uint16_t form, std::int64_t implicit_const,
                const FormContext& context) {
  const auto constant = [](std::uint64_t number) { return Value{number, 0, FormClass::kConstant}; };
  switch (form) {
    case DW_FORM_implicit_const:
      return constant(static_cast<std::uint64_t>(implicit_const));
    case DW_FORM_flag_present:
      return constant(1);
    case DW_FORM_sdata:
      return constant(static_cast<std::uint64_t>(reader.sleb()));
    case DW_FORM_string: {
      const std::string_view text = reader.string();
      return {reinterpret_cast<std::uint64_t>(text.data() != nullptr ? text.data() : ""), 0,
              FormClass::kString};
    }
    case DW_FORM_strp:
      return read_text(reader, text_at(context.sections->str, reader.sized(context.offset_size)));
    case DW_FORM_line_strp:
      return read_text(reader,
                       line_text_at(context.sections->line_str, reader.sized(context.offset_size)));
    case DW_FORM_strx:
    case DW_FORM_GNU_str_index:
      return read_text(reader, text_at_index(context, reader.uleb()));
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
      return read_text(
          reader,
          text_at_index(context, reader.sized(static_cast<unsigned>(form_size(form, context)))));
    case DW_FORM_block1:
      return read_block(reader, reader.u8());
    case DW_FORM_block2:
      return read_block(reader, reader.u16());
    case DW_FORM_block4:
      return read_block(reader, reader.u32());
    case DW_FORM_block:
    case DW_FORM_exprloc:
      return read_block(reader, reader.uleb());
    case DW_FORM_data16:
      return read_block(reader, 16);
    case DW_FORM_indirect: {
      const std::uint64_t actual = reader.uleb();
      if (actual == DW_FORM_indirect || actual == DW_FORM_implicit_const || actual > 0xffff) {
        reader.skip(~std::uint64_t{0});
        return {};
      }
      return read_form(reader, static_cast<std::uint16_t>(actual), 0, context);
    }
    default:
      break;
  }
  const int size = form_size(form, context);
  if (size == kUnknownForm || size > 8) {
    reader.skip(~std::uint64_t{0});
    return {};
  }
  const std::uint64_t number =
      size == kVariableSize ? reader.uleb() : reader.sized(static_cast<unsigned>(size));
  return {number, 0, form_class(form)};
}

}  // namespace btfloom
