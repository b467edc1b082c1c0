#include "dwarf/unit.h"

#include "dwarf/constants.h"

namespace btfloom {

namespace {

// One attribute of an abbreviation declaration (DWARF 5 section 7.5.3).
struct AttributeSpec {
  std::uint16_t name = 0;
  std::uint16_t form = 0;
  std::int64_t implicit_const = 0;
};

// Finds declaration `code` in the table at the unit's abbrev_offset, the slow way: one use per
// unit.
bool find_abbrev(const Unit& unit, std::uint64_t code, std::uint16_t& tag,
                 std::vector<AttributeSpec>& attributes) {
  const Bytes table = unit.forms.sections->abbrev;
  if (unit.abbrev_offset >= table.size()) {
    return false;
  }
  Reader reader(table.subspan(unit.abbrev_offset), unit.forms.sections->order);
  while (reader.ok()) {
    const std::uint64_t found = reader.uleb();
    if (found == 0) {
      return false;
    }
    tag = static_cast<std::uint16_t>(reader.uleb());
    reader.u8();  // has children
    attributes.clear();
    for (;;) {
      AttributeSpec spec;
      spec.name = static_cast<std::uint16_t>(reader.uleb());
      spec.form = static_cast<std::uint16_t>(reader.uleb());
      if (spec.form == DW_FORM_implicit_const) {
        spec.implicit_const = reader.sleb();
      }
      if (!reader.ok() || (spec.name == 0 && spec.form == 0)) {
        break;
      }
      attributes.push_back(spec);
    }
    if (found == code) {
      return reader.ok();
    }
  }
  return false;
}

void apply_attribute(Unit& unit, std::uint16_t attribute, const Value& value) {
  const bool is_text = value.form_class == FormClass::kString;
  switch (attribute) {
    case DW_AT_name:
      unit.name = is_text ? value.text() : "";
      break;
    case DW_AT_producer:
      unit.producer = is_text ? value.text() : "";
      break;
    case DW_AT_dwo_name:
    case DW_AT_GNU_dwo_name:
      unit.dwo_name = is_text ? value.text() : "";
      break;
    case DW_AT_language:
      unit.language = static_cast<std::uint16_t>(value.number);
      break;
    case DW_AT_low_pc:
      unit.low_pc = value.form_class == FormClass::kAddressIndex
                        ? address_at_index(unit.forms, value.number)
                        : value.number;
      break;
    default:
      break;
  }
}

// The bases must be known before strings and addresses by index can be read, wherever they stand.
void read_bases(Unit& unit, Reader reader, const std::vector<AttributeSpec>& attributes) {
  for (const AttributeSpec& spec : attributes) {
    const bool is_text = form_class(spec.form) == FormClass::kString;
    if (is_text && form_size(spec.form, unit.forms) != kVariableSize) {
      reader.skip(static_cast<std::uint64_t>(form_size(spec.form, unit.forms)));
      continue;
    }
    if (spec.form == DW_FORM_strx || spec.form == DW_FORM_GNU_str_index) {
      reader.uleb();
      continue;
    }
    const Value value = read_form(reader, spec.form, spec.implicit_const, unit.forms);
    if (spec.name == DW_AT_str_offsets_base) {
      unit.forms.str_offsets_base = value.number;
    } else if (spec.name == DW_AT_addr_base || spec.name == DW_AT_GNU_addr_base) {
      unit.forms.addr_base = value.number;
    } else if (spec.name == DW_AT_loclists_base) {
      unit.forms.loclists_base = value.number;
    }
  }
}

void read_unit_die(Unit& unit) {
  const DwarfSections& sections = *unit.forms.sections;
  Reader reader(sections.info.subspan(unit.first_die, unit.end - unit.first_die), sections.order);
  const std::uint64_t code = reader.uleb();
  std::vector<AttributeSpec> attributes;
  if (reader.ok() && code == 0) {
    return;  // a unit without any DIE: nothing to read, nothing wrong
  }
  if (!reader.ok() || !find_abbrev(unit, code, unit.tag, attributes)) {
    unit.broken = "the unit DIE has no abbreviation declaration; .debug_abbrev is damaged";
    return;
  }
  read_bases(unit, reader, attributes);
  for (const AttributeSpec& spec : attributes) {
    const Value value = read_form(reader, spec.form, spec.implicit_const, unit.forms);
    if (!reader.ok()) {
      unit.broken = "the unit DIE leaves its unit or holds a bad string offset";
      return;
    }
    apply_attribute(unit, spec.name, value);
  }
}

// The header behind the length (DWARF 5 sections 7.5.1.1 to 7.5.1.3; DWARF 4 section 7.5.1.1).
void read_header(Unit& unit, Reader& reader) {
  unit.forms.version = static_cast<std::uint8_t>(reader.u16());
  if (unit.forms.version < 2 || unit.forms.version > 5) {
    unit.broken = "DWARF version " + std::to_string(unit.forms.version) +
                  " is unknown; versions 2 to 5 are read";
    return;
  }
  if (unit.forms.version >= 5) {
    unit.unit_type = reader.u8();
    unit.forms.address_size = reader.u8();
    unit.abbrev_offset = reader.sized(unit.forms.offset_size);
    if (unit.unit_type == DW_UT_skeleton || unit.unit_type == DW_UT_split_compile) {
      reader.u64();  // the id of the split unit
    } else if (unit.unit_type == DW_UT_type || unit.unit_type == DW_UT_split_type) {
      reader.u64();                          // type signature
      reader.sized(unit.forms.offset_size);  // type offset
    }
  } else {
    unit.unit_type = DW_UT_compile;
    unit.abbrev_offset = reader.sized(unit.forms.offset_size);
    unit.forms.address_size = reader.u8();
  }
  const std::uint8_t size = unit.forms.address_size;
  if (size != 2 && size != 4 && size != 8) {
    unit.broken = "an address size of " + std::to_string(size) + " bytes is unknown";
  }
  // Without DW_AT_str_offsets_base and the like, tables start behind their own header.
  const std::uint64_t header = unit.forms.offset_size == 8 ? 16 : 8;
  unit.forms.str_offsets_base = unit.forms.version >= 5 ? header : 0;
  unit.forms.addr_base = unit.forms.version >= 5 ? header : 0;
  unit.forms.loclists_base = header + 4;
}

}  // namespace

Result<std::vector<Unit>> list_units(const DwarfSections& sections) {
  std::vector<Unit> units;
  Reader reader(sections.info, sections.order);
  while (!reader.at_end()) {
    Unit unit;
    unit.forms.sections = &sections;
    unit.offset = reader.position();
    std::uint64_t length = reader.u32();
    unit.forms.offset_size = 4;
    if (length == 0xffffffff) {
      unit.forms.offset_size = 8;
      length = reader.u64();
    }
    if (!reader.ok() || length > reader.remaining()) {
      return Error{.kind = ErrorKind::kInput,
                   .text =
                       ".debug_info is truncated: a unit header announces more bytes than there "
                       "are; rebuild the file",
                   .file = sections.file,
                   .die_offset = unit.offset};
    }
    if (length == 0) {
      continue;  // padding that linkers leave between inputs
    }
    unit.end = reader.position() + length;
    Reader body(sections.info.subspan(0, unit.end), sections.order);
    body.skip(reader.position());
    read_header(unit, body);
    if (unit.broken.empty() && !body.ok()) {
      unit.broken = "the unit is too short for its header";
    }
    unit.first_die = body.ok() ? body.position() : unit.end;
    if (unit.broken.empty()) {
      read_unit_die(unit);
    }
    reader.skip(length);
    units.push_back(std::move(unit));
  }
  return units;
}

}  // namespace btfloom
