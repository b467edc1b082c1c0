// kfuncs of a kernel image: functions that BPF programs may call, as its .BTF_ids section lists
// them.
//
// The kernel's BTF_KFUNCS_START macros (include/linux/btf_ids.h) leave 32-bit words in .BTF_ids and
// symbols on them: __BTF_ID__set8__NAME on a set (count, flags, then pairs of id and flags) and
// __BTF_ID__func__NAME__SUFFIX on each pair. Bit 0 of a set's flags marks a set of kfuncs.
// Thread-safe: image is const.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "elf/image.h"
#include "support/result.h"

namespace btfloom {

struct Kfunc {
  std::string_view name;    // view into the file's string table
  std::uint32_t flags = 0;  // KF_* of include/linux/btf.h
};

// In symbol table order; empty if the image has no .BTF_ids. `symbols` are the image's.
std::vector<Kfunc> read_kfuncs(const ElfImage& image, const std::vector<ElfSymbol>& symbols);

}  // namespace btfloom
