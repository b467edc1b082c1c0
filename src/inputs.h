// Inputs: what is known of all input files before the first unit is read.
//
// Const while workers run, but for `names`, which is thread-safe.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/base.h"
#include "btf/write.h"
#include "dwarf/sections.h"
#include "dwarf/unit.h"
#include "elf/image.h"
#include "options.h"
#include "support/diagnostics.h"
#include "support/name_pool.h"
#include "types/function_symbols.h"
#include "types/variable_sections.h"

namespace btfloom {

struct InputFile {
  explicit InputFile(ElfImage opened) : image(std::move(opened)) {}
  ElfImage image;
  DwarfSections dwarf;
  std::vector<Unit> units;
};

struct Inputs {
  std::vector<std::unique_ptr<InputFile>> files;
  FunctionSymbols symbols;
  VariableSections sections;
  Kfuncs kfuncs;
  NamePool names;  // shared by the workers
  // Units in link order, over all files. This order, and nothing else, decides every number in the
  // output.
  std::vector<std::pair<std::uint32_t, const Unit*>> units;
};

// Opens options.inputs, in order, and lists their units; those without DWARF are left out, unless
// that leaves nothing (kNoDebug). Errors (file set): as ElfImage::open(); kArgument: none named,
// files of different machines, or of another machine than `base` (may be null).
Result<> open_inputs(const EncodeOptions& options, const Base* base, Diagnostics& diagnostics,
                     Inputs& inputs);

}  // namespace btfloom
