#include "encode.h"

#include <elf.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "base/base.h"
#include "btf/distill.h"
#include "btf/functions.h"
#include "btf/read.h"
#include "btf/write.h"
#include "dedup/fold.h"
#include "dedup/merge.h"
#include "dwarf/sections.h"
#include "dwarf/unit.h"
#include "elf/embed.h"
#include "elf/image.h"
#include "elf/kfunc_sets.h"
#include "elf/output_file.h"
#include "jobs/pool.h"
#include "load/load_unit.h"

namespace btfloom {

namespace {

// Mode of a new detached file, as the peer's: readable for the owner and the group.
constexpr mode_t kDetachedMode = 0640;

struct InputFile {
  explicit InputFile(ElfImage opened) : image(std::move(opened)) {}
  ElfImage image;
  DwarfSections dwarf;
  std::vector<Unit> units;
};

// What is known of all inputs before the first unit is read. Const while workers run.
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

class Stopwatch {
 public:
  // Seconds since the last call, or since construction.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double> passed = now - start_;
    start_ = now;
    return passed.count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

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
Result<> open_inputs(const EncodeOptions& options, Diagnostics& diagnostics, Inputs& inputs) {
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

LoadContext load_context(Inputs& inputs, std::uint32_t file, const Features& features) {
  return {.file = file,
          .symbols = &inputs.symbols,
          .sections = features.var || features.global_var ? &inputs.sections : nullptr,
          .abi = machine_abi(inputs.files[file]->image.machine()),
          .floats = features.floats,
          .decl_tags = features.decl_tag,
          .type_tags = features.type_tag,
          .enum64 = features.enum64,
          .skip_odd_variables = features.encode_force,
          .true_signature = features.true_signature,
          .names = &inputs.names};
}

// About one distinct type for each KiB of DWARF: true for a kernel, plenty for a small program.
std::size_t expected_types(const Inputs& inputs) {
  std::size_t bytes = 0;
  for (const auto& file : inputs.files) {
    bytes += file->dwarf.info.size();
  }
  return bytes / 1024 + 256;
}

// One place in the window: the fragment of a unit, or why there is none.
struct WindowSlot {
  Folded folded;
  Result<> loaded;
};

struct WorkerScratch {
  LoadScratch load;
  ShapeScratch shape;
};

Error broken_units_error(std::uint64_t count) {
  return Error{.kind = ErrorKind::kInput,
               .text = std::to_string(count) + (count == 1 ? " unit is" : " units are") +
                       " broken, so the answer would be incomplete; nothing was written "
                       "(--keep-going writes what could be read)"};
}

// Workers decode and fold units in any order; the turnstile lets the results through in link order,
// on whichever worker arrives with the next one. No thread runs without a slot; at most `window`
// fragments are alive.
Result<> load_and_merge(const EncodeOptions& options, Inputs& inputs, SlotSource& slots,
                        Diagnostics& diagnostics, EncodeResult& result, Merger& merger,
                        const Table& table) {
  const unsigned workers = slots.max_workers();
  const std::size_t window = 2 * std::size_t{workers} + 2;
  std::vector<WindowSlot> slots_of_window(window);
  std::vector<WorkerScratch> scratch(workers);
  std::vector<LoadContext> contexts;
  for (std::uint32_t file = 0; file < inputs.files.size(); ++file) {
    contexts.push_back(load_context(inputs, file, options.features));
  }
  std::atomic<bool> is_cancelled{false};
  const InOrderOptions order{.count = inputs.units.size(),
                             .window = window,
                             .cancel = &is_cancelled,
                             .hook = options.schedule_hook,
                             .hook_context = options.schedule_hook_context,
                             .peak_workers = &result.peak_workers};
  return in_order(
      slots, order,
      [&](std::size_t i, unsigned worker) -> Result<> {
        // relaxed, both: nothing but the wish to stop is passed on
        if (options.cancel != nullptr && __atomic_load_n(options.cancel, __ATOMIC_RELAXED) != 0) {
          is_cancelled.store(true, std::memory_order_relaxed);
        }
        const auto& [file, unit] = inputs.units[i];
        WindowSlot& slot = slots_of_window[i % window];
        slot.loaded = load_unit(*unit, contexts[file], scratch[worker].load, slot.folded.fragment);
        if (slot.loaded.ok()) {
          fold(table, scratch[worker].shape, slot.folded);
        }
        return {};
      },
      [&](std::size_t i) -> Result<> {
        WindowSlot& slot = slots_of_window[i % window];
        const Fragment& fragment = slot.folded.fragment;
        diagnostics.report(fragment.diagnostics);
        result.dies += fragment.dies;
        result.degraded += fragment.degraded;
        if (slot.loaded.ok()) {
          ++result.units;
          result.types_read += fragment.types.size();
          merger.add(slot.folded);
        } else {
          ++result.broken_units;
          diagnostics.report(slot.loaded.error());
        }
        if (options.progress) {
          options.progress(i + 1, inputs.units.size());
        }
        return {};
      });
}

// What goes out: the BTF, and the distilled base if one was asked for.
struct Products {
  WrittenBtf btf;
  std::vector<std::byte> distilled_base;
};

// The feature distilled_base: the module takes along what it needs of its base.
Result<> distill_products(const EncodeOptions& options, const Base* base, Products& products) {
  const bool has_place =
      options.output_kind == OutputKind::kInPlace || !options.output_base.empty();
  if (!options.features.distilled_base || base == nullptr || !has_place) {
    return {};
  }
  const BtfImage split = TRY(BtfImage::parse(products.btf.bytes, &base->image()));
  DistilledBtf distilled = TRY(distill(split));
  products.btf.bytes = std::move(distilled.split);
  products.distilled_base = std::move(distilled.base);
  return {};
}

Result<> commit_detached(const EncodeOptions& options, const Products& products) {
  OutputFile output = TRY(OutputFile::create(options.output, kDetachedMode));
  TRY(output.write(products.btf.bytes));
  if (!products.distilled_base.empty()) {
    OutputFile base = TRY(OutputFile::create(options.output_base, kDetachedMode));
    TRY(base.write(products.distilled_base));
    TRY(base.commit());
  }
  return output.commit();
}

Result<> commit(const EncodeOptions& options, const ElfImage& image, Products& products) {
  WrittenBtf& written = products.btf;
  if (options.output_kind == OutputKind::kDetached) {
    return commit_detached(options, products);
  }
  // A .BTF that is loaded into memory keeps its size, and the kernel takes all of it for BTF.
  const ElfSection* old = image.find(".BTF");
  if (old != nullptr && (old->flags & SHF_ALLOC) != 0 && old->size > written.bytes.size()) {
    pad_btf(written, old->size, image.byte_order());
  }
  const std::vector<std::byte> file = TRY(embed_sections(
      image, {{".BTF", written.bytes}, {".BTF.base", products.distilled_base}}));
  OutputFile output = TRY(OutputFile::create(image.path(), kDetachedMode, image.path()));
  TRY(output.write(file));
  return output.commit();
}

}  // namespace

Result<> encode(const EncodeOptions& options, SlotSource& slots, Diagnostics& diagnostics,
                EncodeResult& result) {
  Stopwatch watch;
  // Bytes. The mappings outlive everything below; all names point into them.
  Inputs inputs;
  TRY(open_inputs(options, diagnostics, inputs));
  TRY(check_same_machine(inputs));
  select_units(options, inputs);
  std::optional<Base> base;
  if (options.base.empty() && options.features.distilled_base) {
    diagnostics.report(Diagnostic{.severity = Severity::kNote,
                                  .text = "the feature distilled_base does nothing without a base"});
  }
  if (!options.base.empty()) {
    base.emplace(TRY(Base::open(options.base, options.base_cache)));
    TRY(check_same_machine(inputs, *base));
  }
  result.seconds.open = watch.lap();

  // Units become fragments in parallel; the merger takes them in link order. A base (split BTF) is
  // simply what every unit finds already known.
  const auto read_from_base = [&](std::uint32_t id, Fragment& out) {
    read_type(base->image(), id, base->int_id(), out);
  };
  const BaseTypes base_types{.end_id = base ? base->image().end_id() : 1,
                             .known = base ? &base->known() : nullptr,
                             .read = read_from_base};
  Table table(expected_types(inputs), base_types.known);
  Merger merger(table, base ? &base_types : nullptr);
  TRY(load_and_merge(options, inputs, slots, diagnostics, result, merger, table));
  if (result.broken_units != 0 && !options.keep_going) {
    return broken_units_error(result.broken_units);
  }
  result.seconds.load = watch.lap();

  // From here on no fragment is alive, every type has its place, and nothing depends on timing any
  // more.
  const Graph graph = merger.finish();
  const std::vector<ChosenFunction> functions =
      choose_functions(graph, inputs.symbols,
                       {.drop_inconsistent = options.features.consistent_func,
                        .keep_variants = options.features.true_signature});
  std::optional<WriteBase> write_base;
  if (base) {
    write_base.emplace(WriteBase{
        .end_id = base->image().end_id(), .strings = base->strings(), .known = base->known()});
  }
  Products products;
  WrittenBtf& btf = products.btf;
  btf = TRY(write_btf({.graph = graph,
                                  .functions = functions,
                                  .sections = inputs.sections,
                                  .kfuncs = inputs.kfuncs,
                                  .base = write_base ? &*write_base : nullptr,
                                  .decl_tags = options.features.decl_tag,
                                  .attributes = options.features.attributes,
                                  .layout = options.features.layout && !base,
                                  .order = inputs.files.front()->dwarf.order}));
  if (btf.types == 0 && !base) {
    diagnostics.report(Diagnostic{.severity = Severity::kWarning,
                                  .file = options.inputs.front(),
                                  .text = "there is no type in what was read; the BTF is empty"});
  }
  TRY(distill_products(options, base ? &*base : nullptr, products));
  result.types_written = btf.types;
  result.functions = btf.functions;
  result.variables = btf.variables;
  result.bytes = btf.bytes.size();
  result.seconds.write = watch.lap();

  // All or nothing: a temporary beside the target, fsync, rename.
  TRY(commit(options, inputs.files.front()->image, products));
  result.written = true;
  result.seconds.commit = watch.lap();
  return {};
}

}  // namespace btfloom
