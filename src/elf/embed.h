// Adds or replaces non-allocated sections such as .BTF in an ELF image, in process; every other byte of content, every
// address and every program header stays as it was (the reference is what objcopy --add-section makes: PROGBITS, no flags,
// alignment 1 unless asked for otherwise).
//
// How: the new section contents, the new section name table and the new section header table are appended to the file; only
// e_shoff, e_shnum, e_shstrndx (and section 0's extension fields) change in place. A replaced section's old bytes are
// dropped when they lie at the end of the file, else they stay as dead bytes... unless the section is SHF_ALLOC: then it is
// inside a segment and cannot move; a replacement there is refused with an error unless it fits (see embed.cc).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "elf/image.h"
#include "support/bytes.h"
#include "support/result.h"

namespace btfloom {

struct NewSection {
  std::string_view name;
  Bytes contents;
  std::uint64_t alignment = 1;
};

// The complete bytes of the new file. Idempotent: embedding the same sections twice gives the same bytes as once (no growth).
// Errors: kInput for images whose header table cannot be rewritten.
Result<std::vector<std::byte>> embed_sections(const ElfImage& image, const std::vector<NewSection>& sections);

}  // namespace btfloom
