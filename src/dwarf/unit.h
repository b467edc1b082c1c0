// Units: the headers of .debug_info (DWARF 5 section 7.5.1), versions 2 to 5, 32- and 64-bit DWARF.
//
// A unit is found by walking headers; its own DIE is read for what a reader must know beforehand
// (language, producer, bases of index tables). Const after list_units(), so any thread may read
// them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dwarf/form.h"
#include "dwarf/sections.h"
#include "support/result.h"

namespace btfloom {

struct Unit {
  FormContext forms;
  std::uint64_t offset = 0;         // of the unit header in .debug_info
  std::uint64_t first_die = 0;      // offset of the unit DIE
  std::uint64_t end = 0;            // offset behind the unit
  std::uint64_t abbrev_offset = 0;  // of its table in .debug_abbrev
  std::uint8_t unit_type = 0;       // DW_UT_*
  std::uint16_t tag = 0;            // of the unit DIE
  std::uint16_t language = 0;       // DW_LANG_*, 0 if not said
  std::uint64_t low_pc = 0;         // base of the unit's location lists
  std::string_view name;            // DW_AT_name
  std::string_view producer;        // DW_AT_producer
  std::string_view dwo_name;        // not empty: the DIEs are in another file
  std::string broken;               // not empty: why the unit cannot be read

  [[nodiscard]] bool is_clang() const { return producer.find("clang") != std::string_view::npos; }
};

// All units in section order. A unit whose header or unit DIE cannot be understood is listed with
// `broken` set. Errors (kInput): a length that leaves the section, after which nothing can be
// found.
Result<std::vector<Unit>> list_units(const DwarfSections& sections);

}  // namespace btfloom
