#include "encode.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "btf/functions.h"
#include "btf/read.h"
#include "dedup/fold.h"
#include "dedup/merge.h"
#include "inputs.h"
#include "jobs/pool.h"
#include "load/load_unit.h"
#include "outputs.h"

namespace btfloom {

namespace {

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

Result<WrittenBtf> write(const EncodeOptions& options, const Base* base, const Inputs& inputs,
                         const Graph& graph) {
  const Features& features = options.features;
  const std::vector<ChosenFunction> functions = choose_functions(
      graph, inputs.symbols,
      {.drop_inconsistent = features.consistent_func, .keep_variants = features.true_signature});
  std::optional<WriteBase> write_base;
  if (base != nullptr) {
    write_base.emplace(WriteBase{
        .end_id = base->image().end_id(), .strings = base->strings(), .known = base->known()});
  }
  return write_btf({.graph = graph,
                    .functions = functions,
                    .sections = inputs.sections,
                    .kfuncs = inputs.kfuncs,
                    .base = write_base ? &*write_base : nullptr,
                    .decl_tags = features.decl_tag,
                    .attributes = features.attributes,
                    .layout = features.layout && base == nullptr,
                    .order = inputs.files.front()->dwarf.order});
}

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

// One BTF of options.inputs, on top of `base` (null: none).
Result<> encode_together(const EncodeOptions& options, const Base* base, SlotSource& slots,
                         Diagnostics& diagnostics, EncodeResult& result) {
  Stopwatch watch;
  // Bytes. The mappings outlive everything below; all names point into them.
  Inputs inputs;
  TRY(open_inputs(options, base, diagnostics, inputs));
  result.seconds.open = watch.lap();

  // Units become fragments in parallel; the merger takes them in link order. A base (split BTF) is
  // simply what every unit finds already known.
  const auto read_from_base = [&](std::uint32_t id, Fragment& out) {
    read_type(base->image(), id, base->int_id(), out);
  };
  const BaseTypes base_types{.end_id = base != nullptr ? base->image().end_id() : 1,
                             .known = base != nullptr ? &base->known() : nullptr,
                             .read = read_from_base};
  Table table(expected_types(inputs), base_types.known);
  Merger merger(table, base != nullptr ? &base_types : nullptr);
  TRY(load_and_merge(options, inputs, slots, diagnostics, result, merger, table));
  if (result.broken_units != 0 && !options.keep_going) {
    return broken_units_error(result.broken_units);
  }
  result.seconds.load = watch.lap();

  // From here on no fragment is alive, every type has its place, and nothing depends on timing any
  // more.
  Outputs outputs;
  outputs.btf = TRY(write(options, base, inputs, merger.finish()));
  if (outputs.btf.types == 0 && base == nullptr) {
    diagnostics.report(Diagnostic{.severity = Severity::kWarning,
                                  .file = options.inputs.front(),
                                  .text = "there is no type in what was read; the BTF is empty"});
  }
  TRY(distill_outputs(options, base, outputs));
  result.types_written = outputs.btf.types;
  result.functions = outputs.btf.functions;
  result.variables = outputs.btf.variables;
  result.bytes = outputs.btf.bytes.size();
  result.seconds.write = watch.lap();

  // All or nothing: a temporary beside the target, fsync, rename.
  TRY(commit_outputs(options, inputs.files.front()->image, outputs));
  result.written = true;
  result.seconds.commit = watch.lap();
  return {};
}

Result<std::optional<Base>> open_base(const EncodeOptions& options, Diagnostics& diagnostics) {
  std::optional<Base> base;
  if (!options.base.empty()) {
    base.emplace(TRY(Base::open(options.base, options.base_cache)));
  } else if (options.features.distilled_base) {
    diagnostics.report(
        Diagnostic{.severity = Severity::kNote,
                   .text = "the feature distilled_base does nothing without a base"});
  }
  return base;
}

void add(const EncodeResult& one, EncodeResult& all) {
  all.units += one.units;
  all.broken_units += one.broken_units;
  all.dies += one.dies;
  all.types_read += one.types_read;
  all.types_written += one.types_written;
  all.functions += one.functions;
  all.variables += one.variables;
  all.degraded += one.degraded;
  all.bytes += one.bytes;
  all.seconds.open += one.seconds.open;
  all.seconds.load += one.seconds.load;
  all.seconds.write += one.seconds.write;
  all.seconds.commit += one.seconds.commit;
}

// DIR/NAME.btf for .../NAME.ko and the like.
std::string output_in(const std::string& folder, const std::string& input) {
  return (std::filesystem::path(folder) / std::filesystem::path(input).filename())
      .replace_extension(".btf")
      .string();
}

}  // namespace

Result<> encode(const EncodeOptions& options, SlotSource& slots, Diagnostics& diagnostics,
                EncodeResult& result) {
  const std::optional<Base> base = TRY(open_base(options, diagnostics));
  return encode_together(options, base ? &*base : nullptr, slots, diagnostics, result);
}

Result<> encode_each(const EncodeOptions& options, SlotSource& slots, Diagnostics& diagnostics,
                     EncodeResult& result) {
  struct One {
    EncodeResult result;
    DiagnosticList said;
    Result<> done;
  };
  const std::optional<Base> base = TRY(open_base(options, diagnostics));
  std::vector<One> each(options.inputs.size());
  std::atomic<bool> is_cancelled{false};
  Result<> first_failure;
  TRY(in_order(
      slots,
      {.count = each.size(),
       .window = each.size(),
       .cancel = &is_cancelled,
       .peak_workers = &result.peak_workers},
      [&](std::size_t i, unsigned) -> Result<> {
        EncodeOptions alone = options;
        alone.inputs = {options.inputs[i]};
        alone.progress = nullptr;
        if (options.output_kind == OutputKind::kDetached) {
          alone.output = output_in(options.output, options.inputs[i]);
          alone.output_base =
              options.output_base.empty() ? "" : output_in(options.output_base, options.inputs[i]);
        }
        Diagnostics collector([&](const Diagnostic& said) { each[i].said.push_back(said); });
        each[i].done = encode_together(alone, base ? &*base : nullptr, *fixed_slots(1), collector,
                                       each[i].result);
        return {};
      },
      [&](std::size_t i) -> Result<> {
        diagnostics.report(each[i].said);
        add(each[i].result, result);
        if (!each[i].done.ok()) {
          if (!first_failure.ok()) {
            diagnostics.report(each[i].done.error());
          } else {
            first_failure = std::move(each[i].done);
          }
        }
        if (options.progress) {
          options.progress(i + 1, each.size());
        }
        return {};
      }));
  result.written = first_failure.ok();
  return first_failure;
}

}  // namespace btfloom
