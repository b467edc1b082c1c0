// DwarfSections: the bytes of one file's debug sections, one span each; empty if the file lacks it.
//
// Decompressed and relocated by elf/section_data.h. Const after read_dwarf_sections(), so any
// thread may read them; they view into the image, which must outlive them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "elf/image.h"
#include "elf/section_data.h"
#include "support/bytes.h"
#include "support/result.h"

namespace btfloom {

struct DwarfSections {
  Bytes info;
  Bytes abbrev;
  Bytes str;
  Bytes line_str;
  Bytes str_offsets;
  Bytes addr;
  Bytes loc;       // DWARF 2 to 4 location lists
  Bytes loclists;  // DWARF 5 location lists
  ByteOrder order = ByteOrder::little;
  std::uint8_t address_size = 8;  // of the ELF class; units carry their own
  std::string file;               // input path, for messages
  std::vector<SectionBytes> owned;
};

// Errors: kNoDebug if there is no .debug_info, kInput for damaged sections (string sections must
// end with a NUL, so that every name in them is terminated).
Result<DwarfSections> read_dwarf_sections(const ElfImage& image);

}  // namespace btfloom
