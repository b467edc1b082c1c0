#include "dwarf/sections.h"

#include <utility>

namespace btfloom {

namespace {

Result<Bytes> take_section(const ElfImage& image, std::string_view name, DwarfSections& sections) {
  SectionBytes section = TRY(debug_section(image, name));
  const Bytes bytes = section.bytes;
  if (section.owned != nullptr) {
    sections.owned.push_back(std::move(section));
  }
  return bytes;
}

// A string section whose last byte is not NUL would let a name run out of it.
Result<Bytes> take_strings(const ElfImage& image, std::string_view name, DwarfSections& sections) {
  const Bytes bytes = TRY(take_section(image, name, sections));
  if (!bytes.empty() && bytes.back() != std::byte{0}) {
    return Error{.kind = ErrorKind::kInput,
                 .text = std::string(name) +
                         " does not end with a NUL; the file is damaged or truncated, rebuild it",
                 .file = image.path()};
  }
  return bytes;
}

}  // namespace

Result<DwarfSections> read_dwarf_sections(const ElfImage& image) {
  DwarfSections sections;
  sections.order = image.byte_order();
  sections.address_size = static_cast<std::uint8_t>(image.address_size());
  sections.file = image.path();
  sections.info = TRY(take_section(image, ".debug_info", sections));
  if (sections.info.empty()) {
    return Error{.kind = ErrorKind::kNoDebug,
                 .text = "no DWARF (.debug_info) in this file; compile with -g and do not strip",
                 .file = image.path()};
  }
  sections.abbrev = TRY(take_section(image, ".debug_abbrev", sections));
  sections.str = TRY(take_strings(image, ".debug_str", sections));
  sections.line_str = TRY(take_strings(image, ".debug_line_str", sections));
  sections.str_offsets = TRY(take_section(image, ".debug_str_offsets", sections));
  sections.addr = TRY(take_section(image, ".debug_addr", sections));
  sections.loc = TRY(take_section(image, ".debug_loc", sections));
  sections.loclists = TRY(take_section(image, ".debug_loclists", sections));
  return sections;
}

}  // namespace btfloom
