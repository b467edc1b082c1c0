// Outputs: what an encode makes, and how it gets to its place: all or nothing.
//
// Thread-safe as long as the outputs differ.
#pragma once

#include <cstddef>
#include <vector>

#include "base/base.h"
#include "btf/write.h"
#include "elf/image.h"
#include "options.h"
#include "support/result.h"

namespace btfloom {

struct Outputs {
  WrittenBtf btf;
  std::vector<std::byte> distilled_base;  // empty: none
};

// The feature distilled_base: the module takes along what it needs of `base` (null: none).
Result<> distill_outputs(const EncodeOptions& options, const Base* base, Outputs& outputs);

// Writes to temporary files, then renames: a detached file (or two), or `image` with the sections
// .BTF and .BTF.base added, replaced, or taken away if they are stale. Errors: kOutput; kInput: see
// elf/embed.h.
Result<> commit_outputs(const EncodeOptions& options, const ElfImage& image, Outputs& outputs);

}  // namespace btfloom
