// Whether the kernel would take a BTF: the rules of kernel/bpf/btf.c (6.12), every record by itself
// (btf_check_all_metas) and what records say of each other (btf_check_type_tags, btf_resolve).
//
// The kernel holds its own BTF and those of modules to the former only, but what libbpf loads for a
// program to both, so a sound BTF keeps both. Not checked: how deep btf_resolve() may go, which
// depends on where it starts.
//
//   for (const Violation& violation : validate(image))
//     std::printf("[%u] %s\n", violation.type, violation.text.c_str());
//
// Takes a time that grows with the types that are the image's own. Thread-safe (pure).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "btf/image.h"

namespace btfloom {

struct Violation {
  std::uint32_t type = 0;  // its number; 0: the BTF as a whole
  std::string text;        // "STRUCT 's': member 'a' ..."
};

struct ValidateOptions {
  std::size_t most = 100;  // no more violations than that are looked for
  // Bytes of a pointer, 4 or 8; 0: as `long` says, and 4 if there is none, so that nothing sound is
  // refused.
  std::uint32_t pointer_size = 0;
};

// Breaches of the rules among the image's own types, in the order of their numbers. References are
// looked at only if all records by themselves are sound.
std::vector<Violation> validate(const BtfImage& image, const ValidateOptions& options = {});

}  // namespace btfloom
