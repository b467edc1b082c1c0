// DW_* constants: those of <dwarf.h> (elfutils), and the few that its Debian 12 version lacks.
#pragma once

#include <cstdint>

#include <dwarf.h>

namespace btfloom {

inline constexpr std::uint16_t kTagLlvmAnnotation = 0x6000;  // DW_TAG_LLVM_annotation (clang)
inline constexpr std::uint16_t kTagGnuAnnotation = 0x6001;   // DW_TAG_GNU_annotation (gcc)
inline constexpr std::uint16_t kAtGnuAnnotation = 0x2139;    // DW_AT_GNU_annotation (gcc)
inline constexpr std::uint16_t kLanguageRust = 0x1c;         // DW_LANG_Rust

}  // namespace btfloom
