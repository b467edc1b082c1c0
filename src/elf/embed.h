// Adds or replaces non-allocated sections such as .BTF in an ELF image, in process; every other
// byte of content, every address and every program header stays as it was.
//
// The new contents, the new section names and the new section header table are appended to the
// file; in place only e_shoff, e_shnum and e_shstrndx change (with their extensions in section 0,
// gABI "ELF Header"). Sections look as objcopy
// --add-section makes them: PROGBITS, no flags. What an earlier call appended is cut off first, so
// that encoding twice gives the same bytes as encoding once; bytes that no header mentions stay. A
// section that is loaded into memory (SHF_ALLOC, as the .BTF of a linked vmlinux) cannot move: new
// contents must fit into the old place; the rest becomes zeros and sh_size shrinks. A vmlinux
// measures its .BTF by __stop_BTF - __start_BTF, which stay, and its kernel refuses bytes behind
// the last part of the BTF (btf_check_sec_info): whoever writes BTF for it must fill the old size.
// A section that is taken away leaves an inactive header (SHT_NULL), unless it was the last one:
// the numbers of the others stay. Thread-safe (pure).
#pragma once

#include <string_view>
#include <vector>

#include "elf/image.h"
#include "support/bytes.h"
#include "support/result.h"

namespace btfloom {

struct NewSection {
  std::string_view name;
  Bytes contents;  // none: an old section of that name is taken away
  std::uint64_t alignment = 1;
};

// The complete bytes of the new file. Errors (kInput): an image without section headers or names, a
// damaged program header table, a loaded section that is too small.
Result<std::vector<std::byte>> embed_sections(const ElfImage& image,
                                              const std::vector<NewSection>& sections);

}  // namespace btfloom
