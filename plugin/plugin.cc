// The C ABI: checks what came in, turns it into the C++ of src/, catches everything.
#include <cxxabi.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>

#include "encode.h"
#include "jobs/callback_slots.h"
#include "jobs/choose_slots.h"
#include "jobs/on_death.h"
#include "plugin/btfloom.h"
#include "plugin/feature_names.h"

namespace btfloom {

namespace {

int status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kInput:
      return BTFLOOM_ERROR_INPUT;
    case ErrorKind::kNoDebug:
      return BTFLOOM_ERROR_NO_DEBUG;
    case ErrorKind::kOutput:
      return BTFLOOM_ERROR_OUTPUT;
    case ErrorKind::kArgument:
      return BTFLOOM_ERROR_ARGUMENT;
    case ErrorKind::kCancelled:
      return BTFLOOM_ERROR_CANCELLED;
    case ErrorKind::kResource:
      return BTFLOOM_ERROR_RESOURCE;
  }
  return BTFLOOM_ERROR_RESOURCE;
}

btfloom_severity severity_of(Severity severity) {
  switch (severity) {
    case Severity::kNote:
      return BTFLOOM_NOTE;
    case Severity::kWarning:
      return BTFLOOM_WARNING;
    case Severity::kError:
      return BTFLOOM_ERROR;
  }
  return BTFLOOM_ERROR;
}

Diagnostics::Callback diagnostic_callback(const btfloom_options& options) {
  if (options.on_diagnostic == nullptr) {
    return {};
  }
  return [callback = options.on_diagnostic, user = options.user](const Diagnostic& diagnostic) {
    const std::string message = to_text(diagnostic);
    const btfloom_diagnostic c_diagnostic = {
        .size = sizeof(btfloom_diagnostic),
        .severity = severity_of(diagnostic.severity),
        .message = message.c_str(),
        .file = diagnostic.file.c_str(),
        .unit = diagnostic.unit.c_str(),
        .die_offset = diagnostic.die_offset.value_or(UINT64_MAX),
        .text = diagnostic.text.c_str()};
    callback(user, &c_diagnostic);
  };
}

// The caller's struct, whatever version it is from: what it lacks is zero. Nothing without a size
// that is plausible.
std::optional<btfloom_options> copy_options(const btfloom_options* options) {
  // Up to and including `output`, the first version had everything that a call cannot do without.
  constexpr std::size_t kSmallest =
      offsetof(btfloom_options, output) + sizeof(btfloom_options::output);
  if (options == nullptr || options->size < kSmallest) {
    return std::nullopt;
  }
  btfloom_options copy{};
  std::memcpy(&copy, options, std::min(options->size, sizeof copy));
  copy.size = sizeof copy;
  return copy;
}

Result<> check_options(const btfloom_options& options) {
  const auto contradiction = [](const char* text) {
    return Error{.kind = ErrorKind::kArgument, .text = text};
  };
  if (options.input_count != 0 && options.inputs == nullptr) {
    return contradiction("input_count is set, but inputs is NULL");
  }
  if (options.output == nullptr && (options.flags & BTFLOOM_IN_PLACE) == 0) {
    return contradiction("neither output nor BTFLOOM_IN_PLACE is set; say where the BTF should go");
  }
  return {};
}

EncodeOptions encode_options(const btfloom_options& options) {
  EncodeOptions result;
  for (std::size_t i = 0; i < options.input_count; ++i) {
    result.inputs.emplace_back(options.inputs[i] != nullptr ? options.inputs[i] : "");
  }
  const bool in_place = (options.flags & BTFLOOM_IN_PLACE) != 0;
  result.output_kind = in_place ? OutputKind::kInPlace : OutputKind::kDetached;
  result.output = in_place ? "" : options.output;
  result.base = options.base != nullptr ? options.base : "";
  result.output_base = options.output_base != nullptr ? options.output_base : "";
  result.base_cache = options.base_cache != nullptr ? options.base_cache : "";
  result.features = features_of(options.features);
  if (options.exclude_languages != nullptr) {
    result.exclude_languages.assign(options.exclude_languages,
                                    options.exclude_languages + options.exclude_language_count);
  }
  result.keep_going = (options.flags & BTFLOOM_KEEP_GOING) != 0;
  result.cancel = options.cancel;
  if (options.on_progress != nullptr) {
    result.progress = [callback = options.on_progress, user = options.user](
                          std::size_t done, std::size_t total) { callback(user, done, total); };
  }
  return result;
}

const char* variable(const char* name) {
  const char* value =
      std::getenv(name);  // NOLINT(concurrency-mt-unsafe): read before threads start
  return value != nullptr ? value : "";
}

Result<ChosenSlots> slots_of(const btfloom_options& options) {
  if (options.try_acquire != nullptr && options.release != nullptr) {
    const unsigned most = options.jobs != 0 ? options.jobs : 1024;
    ChosenSlots chosen;
    chosen.slots = callback_slots({.user = options.user,
                                   .acquire = options.acquire,
                                   .try_acquire = options.try_acquire,
                                   .release = options.release},
                                  most);
    return chosen;
  }
  const bool use_jobserver = (options.flags & BTFLOOM_USE_JOBSERVER) != 0;
  return choose_slots({.jobs = options.jobs,
                       .makeflags = use_jobserver ? variable("MAKEFLAGS") : "",
                       .jobs_variable = use_jobserver ? variable("BTFLOOM_JOBS") : "",
                       .mode = use_jobserver ? JobserverMode::kAuto : JobserverMode::kOff});
}

#ifdef BTFLOOM_TEST_HOOKS
// Sleeps up to half a millisecond in about every fourth stage, as a hash of seed, stage and unit
// says.
void delay(void* seed, int stage, std::size_t index) {
  std::uint64_t x = *static_cast<std::uint64_t*>(seed) + index * 0x9e3779b97f4a7c15ULL +
                    static_cast<unsigned>(stage) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  x ^= x >> 31;
  if (x % 4 == 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(x / 4 % 500));
  }
}
#endif

Result<> run(const btfloom_options& options, Diagnostics& diagnostics, EncodeResult& result) {
  TRY(check_options(options));
  std::optional<OnDeath> on_death;
  if ((options.flags & BTFLOOM_HANDLE_SIGNALS) != 0) {
    on_death.emplace();
  }
  // Before any file is opened: a descriptor that MAKEFLAGS names must not be one of ours.
  const ChosenSlots slots = TRY(slots_of(options));
  if (!slots.note.empty()) {
    diagnostics.report(Diagnostic{.severity = Severity::kNote, .text = slots.note});
  }
  EncodeOptions encode_with = encode_options(options);
#ifdef BTFLOOM_TEST_HOOKS
  std::uint64_t seed = std::strtoull(variable("BTFLOOM_TEST_DELAY"), nullptr, 10);
  if (seed != 0) {
    encode_with.schedule_hook = delay;
    encode_with.schedule_hook_context = &seed;
  }
#endif
  return (options.flags & BTFLOOM_EACH) != 0
             ? encode_each(encode_with, *slots.slots, diagnostics, result)
             : encode(encode_with, *slots.slots, diagnostics, result);
}

void fill(btfloom_result* out, const EncodeResult& result, int status) {
  if (out == nullptr) {
    return;
  }
  const std::size_t size = std::min(out->size, sizeof *out);
  const btfloom_result filled = {.size = size,
                                 .status = status,
                                 .written = result.written ? 1 : 0,
                                 .units = result.units,
                                 .broken_units = result.broken_units,
                                 .dies = result.dies,
                                 .types_read = result.types_read,
                                 .types = result.types_written,
                                 .functions = result.functions,
                                 .variables = result.variables,
                                 .degraded = result.degraded,
                                 .bytes = result.bytes,
                                 .peak_threads = result.peak_workers,
                                 .seconds_open = result.seconds.open,
                                 .seconds_load = result.seconds.load,
                                 .seconds_write = result.seconds.write,
                                 .seconds_commit = result.seconds.commit};
  std::memcpy(out, &filled, size);
}

int encode_checked(const btfloom_options* c_options, btfloom_result* out) {
  EncodeResult result;
  const std::optional<btfloom_options> options = copy_options(c_options);
  if (!options) {
    // Without a sound options struct there is no callback that could be trusted.
    fill(out, result, BTFLOOM_ERROR_ARGUMENT);
    return BTFLOOM_ERROR_ARGUMENT;
  }
  Diagnostics diagnostics(diagnostic_callback(*options));
  const Result<> done = run(*options, diagnostics, result);
  int status = BTFLOOM_OK;
  if (!done.ok()) {
    diagnostics.report(done.error());
    status = status_of(done.error().kind);
  } else if (result.broken_units != 0) {
    status = BTFLOOM_INCOMPLETE;
  }
  fill(out, result, status);
  return status;
}

}  // namespace

}  // namespace btfloom

extern "C" int btfloom_encode(const btfloom_options* options, btfloom_result* result) {
  try {
    return btfloom::encode_checked(options, result);
  } catch (const abi::__forced_unwind&) {
    throw;  // pthread_cancel(): the thread ends, which must not be stopped
  } catch (...) {
    // Only memory and threads can run out here, for src/ throws nothing of its own; but a callback
    // written in C++ may throw anything.
    btfloom::fill(result, {}, BTFLOOM_ERROR_RESOURCE);
    return BTFLOOM_ERROR_RESOURCE;
  }
}

// The name that the plugin convention asks for; programs that link the library use the longer one.
extern "C" BTFLOOM_API int encode(const btfloom_options* options, btfloom_result* result)
    __attribute__((alias("btfloom_encode")));
