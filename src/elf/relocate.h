// Relocates a debug section of a relocatable file (ET_REL) in a private copy.
//
// Only what debug sections need: absolute values, differences and thread-local offsets
// (machines.h). A symbol's value is its st_value plus the address that image.h gave its section;
// symbols of debug sections are offsets in them; undefined ones are 0. REL and RELA, and MIPS64's
// three relocations in one (gABI "Relocation"; MIPS64 psABI section 2.9). Thread-safe: image is
// const.
#pragma once

#include <cstddef>
#include <span>

#include "elf/image.h"
#include "support/result.h"

namespace btfloom {

// Applies every relocation section for `section` to `bytes`, a copy of its (decompressed) contents.
// Errors (kInput, file set; section and number of the relocation in the text): offset out of
// bounds, unknown type, bad symbol.
Result<> relocate(const ElfImage& image, const ElfSection& section, std::span<std::byte> bytes);

// Whether there is anything to do.
bool has_relocations(const ElfImage& image, const ElfSection& section);

}  // namespace btfloom
