#include "inputs.h"

#include <elf.h>

#include "elf/kfunc_sets.h"

namespace btfloom {

namespace {

void add_functions(const std::vector<ElfSymbol>& symbols, FunctionSymbols& functions) {
  functions.add_file(symbols.size() / 2);
  for (const ElfSymbol& symbol : symbols) {
    if (symbol.type == STT_FUNC) {
      functions.add(symbol.name, symbol.value);
    }
  }
  functions.finish_file();
}

void add_sections(const ElfImage& image, const std::vector<ElfSymbol>& symbols,
                  const Features& features, VariableSections& sections) {
  sections.add_file();
  for (const ElfSection& section : image.sections()) {
    if (section.type != SHT_PROGBITS && section.type != SHT_NOBITS) {
      continue;
    }
    const bool is_percpu = section.name == ".data..percpu";
    sections.add({.name = section.name,
                  .address = section.address,
                  .size = section.size,
                  .index = section.index,
                  .is_wanted = features.global_var || (features.var && is_percpu)});
  }
  for (const ElfSymbol& symbol : symbols) {
    if (symbol.type == STT_OBJECT && symbol.is_in_section) {
      sections.add_object(symbol.section, symbol.name);
    }
  }
}

Error no_symtab(const ElfImage& image) {
  return Error{.kind = ErrorKind::kInput,
               .text =
                   "no .symtab in this file, so its functions cannot be told from inlined ones; "
                   "encode before strip",
               .file = image.path()};
}

Result<> open_input(const std::string& path, const Features& features, Inputs& inputs) {
  auto file = std::make_unique<InputFile>(TRY(ElfImage::open(path)));
  const ElfImage& image = file->image;
  file->dwarf = TRY(read_dwarf_sections(image));
  file->units = TRY(list_units(file->dwarf));
  if (!image.has_symtab()) {
    return no_symtab(image);
  }
  const std::vector<ElfSymbol> symbols = TRY(image.symbols());
  add_functions(symbols, inputs.symbols);
  add_sections(image, symbols, features, inputs.sections);
  if (features.decl_tag_kfuncs) {
    const auto index = static_cast<std::uint32_t>(inputs.files.size());
    for (const Kfunc& kfunc : read_kfuncs(image, symbols)) {
      const std::uint32_t symbol = inputs.symbols.find(index, kfunc.name);
      if (symbol != FunctionSymbols::kNotFound) {
        inputs.kfuncs.emplace(symbol, kfunc.flags);
      }
    }
  }
  inputs.files.push_back(std::move(file));
  return {};
}

// Opens every input; those without DWARF are left out, unless that leaves nothing.
Result<> open_files(const EncodeOptions& options, Diagnostics& diagnostics, Inputs& inputs) {
  if (options.inputs.empty()) {
    return Error{.kind = ErrorKind::kArgument, .text = "no input file; name at least one"};
  }
  Result<> last_without;
  for (const std::string& path : options.inputs) {
    Result<> opened = open_input(path, options.features, inputs);
    if (opened.ok()) {
      continue;
    }
    if (opened.error().kind != ErrorKind::kNoDebug) {
      return opened;
    }
    if (options.inputs.size() > 1) {
      diagnostics.report(
          Diagnostic{.severity = Severity::kWarning, .file = path, .text = opened.error().text});
    }
    last_without = std::move(opened);
  }
  if (inputs.files.empty()) {
    return last_without;
  }
  return {};
}

Result<> check_same_machine(const Inputs& inputs) {
  const ElfImage& first = inputs.files.front()->image;
  for (const auto& file : inputs.files) {
    if (file->image.byte_order() != first.byte_order() ||
        file->image.address_size() != first.address_size() ||
        file->image.machine() != first.machine()) {
      return Error{.kind = ErrorKind::kArgument,
                   .text = "this file is for another machine than " + first.path() +
                           "; encode them one by one",
                   .file = file->image.path()};
    }
  }
  return {};
}

Result<> check_same_machine(const Inputs& inputs, const Base& base) {
  const ElfImage& first = inputs.files.front()->image;
  const ElfImage* elf = base.elf();
  if (base.image().order() == first.byte_order() &&
      (elf == nullptr ||
       (elf->address_size() == first.address_size() && elf->machine() == first.machine()))) {
    return {};
  }
  return Error{.kind = ErrorKind::kArgument,
               .text = "this base is for another machine than " + first.path() +
                       "; name the BTF of the kernel or program that it was built for",
               .file = base.path()};
}

bool is_excluded(const Unit& unit, const std::vector<std::uint16_t>& languages) {
  for (const std::uint16_t language : languages) {
    if (unit.language == language) {
      return true;
    }
  }
  return false;
}

void select_units(const EncodeOptions& options, Inputs& inputs) {
  for (std::uint32_t f = 0; f < inputs.files.size(); ++f) {
    for (const Unit& unit : inputs.files[f]->units) {
      if (!is_excluded(unit, options.exclude_languages)) {
        inputs.units.emplace_back(f, &unit);
      }
    }
  }
}

}  // namespace

Result<> open_inputs(const EncodeOptions& options, const Base* base, Diagnostics& diagnostics,
                     Inputs& inputs) {
  TRY(open_files(options, diagnostics, inputs));
  TRY(check_same_machine(inputs));
  if (base != nullptr) {
    TRY(check_same_machine(inputs, *base));
  }
  select_units(options, inputs);
  return {};
}

}  // namespace btfloom
