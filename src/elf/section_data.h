// Bytes of a debug section as a DWARF reader wants them: decompressed, and for ET_REL relocated
// into a private copy.
//
// SHF_COMPRESSED with ELFCOMPRESS_ZLIB and ELFCOMPRESS_ZSTD (gABI "Compressed sections"), GNU
// .zdebug_* ("ZLIB" + big-endian size). The name asked for is the plain one; .zdebug_X is found for
// .debug_X. Thread-safe: image is const.
#pragma once

#include <memory>
#include <string_view>

#include "elf/image.h"
#include "support/bytes.h"
#include "support/result.h"

namespace btfloom {

// A view, and the memory behind it if it is not the file's own mapping.
struct SectionBytes {
  Bytes bytes;
  std::unique_ptr<std::byte[]> owned;  // null: a view into the mapping
};

// The bytes of section `name` (".debug_info"); empty if the image has no such section. For ET_REL
// with a relocation section for it, relocated by relocate.h. Errors: kInput with file and section
// named (bad compression header, size over the limit, relocation out of bounds or of an unknown
// type).
Result<SectionBytes> debug_section(const ElfImage& image, std::string_view name);

}  // namespace btfloom
