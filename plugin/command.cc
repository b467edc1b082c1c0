#include "plugin/command.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace btfloom {

namespace {

struct Output {
  std::string program;
  bool is_verbose = false;
  bool is_terminal = false;
  bool shows_progress = false;  // a progress line stands on the terminal
};

void clear_progress(Output& output) {
  if (output.shows_progress) {
    std::fputs("\r\033[K", stderr);
    output.shows_progress = false;
  }
}

void print_diagnostic(void* user, const btfloom_diagnostic* diagnostic) {
  Output& output = *static_cast<Output*>(user);
  static constexpr const char* kNames[] = {"note", "warning", "error"};
  if (diagnostic->severity == BTFLOOM_NOTE && !output.is_verbose) {
    return;
  }
  clear_progress(output);
  say(output.program, kNames[diagnostic->severity], diagnostic->message);
}

void print_progress(void* user, std::size_t done, std::size_t total) {
  Output& output = *static_cast<Output*>(user);
  // A hundred steps at most, and none for what is over in a moment anyway.
  const std::size_t step = total / 100 + 1;
  if (total >= 200 && done % step == 0) {
    std::fprintf(stderr, "\r%s: %zu of %zu units", output.program.c_str(), done, total);
    output.shows_progress = true;
  }
}

void print_statistics(const btfloom_result& result) {
  std::fprintf(
      stderr,
      "units      %10llu   broken %llu\n"
      "DIEs       %10llu\n"
      "types      %10llu   read %llu, degraded %llu\n"
      "functions  %10llu\n"
      "variables  %10llu\n"
      "bytes      %10llu\n"
      "threads    %10u\n"
      "open       %10.3f s\n"
      "load       %10.3f s\n"
      "write      %10.3f s\n"
      "commit     %10.3f s\n",
      static_cast<unsigned long long>(result.units),
      static_cast<unsigned long long>(result.broken_units),
      static_cast<unsigned long long>(result.dies), static_cast<unsigned long long>(result.types),
      static_cast<unsigned long long>(result.types_read),
      static_cast<unsigned long long>(result.degraded),
      static_cast<unsigned long long>(result.functions),
      static_cast<unsigned long long>(result.variables),
      static_cast<unsigned long long>(result.bytes), result.peak_threads, result.seconds_open,
      result.seconds_load, result.seconds_write, result.seconds_commit);
}

}  // namespace

std::string default_base_cache() {
  const auto variable = [](const char* name) { return ::secure_getenv(name); };
  if (const char* folder = variable("BTFLOOM_CACHE"); folder != nullptr) {
    return folder;
  }
  if (const char* folder = variable("XDG_CACHE_HOME"); folder != nullptr && *folder == '/') {
    return std::string(folder) + "/btfloom";
  }
  if (const char* home = variable("HOME"); home != nullptr && *home == '/') {
    return std::string(home) + "/.cache/btfloom";
  }
  return "";
}

void say(const std::string& program, const char* severity, const std::string& text) {
  std::fprintf(stderr, "%s: %s: %s\n", program.c_str(), severity, text.c_str());
}

bool parse_languages(const std::string& list, std::vector<std::uint16_t>& codes,
                     std::string& unknown) {
  for (std::size_t start = 0; start < list.size();) {
    const std::size_t comma = list.find(',', start);
    const std::size_t end = comma == std::string::npos ? list.size() : comma;
    if (end > start) {
      const std::uint16_t code = btfloom_language_code(list.data() + start, end - start);
      if (code == 0) {
        unknown = list.substr(start, end - start);
        return false;
      }
      codes.push_back(code);
    }
    start = end + 1;
  }
  return true;
}

void append_argument(std::vector<std::string>& arguments, const std::string& argument) {
  if (argument.starts_with("--") && argument.ends_with('=')) {
    arguments.push_back(argument.substr(0, argument.size() - 1));
    arguments.emplace_back();
  } else {
    arguments.push_back(argument);
  }
}

int run_encode(const Request& request) {
  std::vector<const char*> inputs;
  for (const std::string& input : request.inputs) {
    inputs.push_back(input.c_str());
  }
  Output output{.program = request.program,
                .is_verbose = request.is_verbose,
                .is_terminal = ::isatty(STDERR_FILENO) != 0};
  btfloom_options options = BTFLOOM_OPTIONS_INIT;
  options.flags = BTFLOOM_HANDLE_SIGNALS;
  options.flags |= request.use_jobserver ? BTFLOOM_USE_JOBSERVER : 0;
  options.flags |= request.each ? BTFLOOM_EACH : 0;
  options.flags |= request.keep_going ? BTFLOOM_KEEP_GOING : 0;
  options.flags |= request.output.empty() ? BTFLOOM_IN_PLACE : 0;
  options.inputs = inputs.data();
  options.input_count = inputs.size();
  options.output = request.output.empty() ? nullptr : request.output.c_str();
  options.output_base = request.output_base.c_str();
  options.base = request.base.c_str();
  options.base_cache = request.base_cache.c_str();
  options.features = request.features;
  options.exclude_languages = request.exclude_languages.data();
  options.exclude_language_count = request.exclude_languages.size();
  options.jobs = request.jobs;
  options.on_diagnostic = print_diagnostic;
  options.on_progress = output.is_terminal ? print_progress : nullptr;
  options.user = &output;
  btfloom_result result = BTFLOOM_RESULT_INIT;
  const int status = btfloom_encode(&options, &result);
  clear_progress(output);
  if (status == BTFLOOM_ERROR_RESOURCE) {
    say(request.program, "error", "out of memory or threads; nothing was written");
  }
  if (result.degraded != 0) {
    say(request.program, "warning",
        std::to_string(result.degraded) + " odd types were replaced by the nearest that BTF has");
  }
  if (request.show_statistics) {
    print_statistics(result);
  }
  return status;
}

}  // namespace btfloom
