// btfloom-pahole: stands in for pahole where builds call it to encode BTF (make PAHOLE=...).
// Understands pahole's options for that, and refuses the others by name. Thin: argv -> the C ABI.
//
// What differs from pahole, on purpose: failures have an exit code other than 0 and leave nothing
// behind; --btf_features=all means all. An input without DWARF is reported and counts as success,
// for builds rely on that.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "plugin/command.h"

#include <CLI/CLI.hpp>

namespace btfloom {

namespace {

constexpr const char* kProgram = "btfloom-pahole";
// The version whose behaviour is followed; kernel builds ask for it.
constexpr const char* kVersion = "v1.31";
constexpr const char* kNumericVersion = "131";

// Without any --btf_features: what pahole does by itself (rules of its legacy options).
constexpr std::uint64_t kLegacyFeatures = BTFLOOM_FEATURE_VAR | BTFLOOM_FEATURE_DECL_TAG |
                                          BTFLOOM_FEATURE_TYPE_TAG | BTFLOOM_FEATURE_ENUM64;

class PaholeOptions {
 public:
  PaholeOptions() : app_("Encodes BTF as pahole -J does.", kProgram) {
    request_.program = kProgram;
    request_.features = kLegacyFeatures;
    request_.jobs = 1;  // as pahole without -j
    add_actions();
    add_features();
    add_legacy_flags();
    add_files();
  }

  int run(int argc, char** argv) {
    std::vector<std::string> arguments = split(argc, argv);
    if (is_finished_) {
      return status_;
    }
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes a vector
    try {
      app_.parse(std::move(arguments));
    } catch (const CLI::CallForHelp& help) {
      return app_.exit(help);
    } catch (const CLI::ParseError& error) {
      say(kProgram, "error",
          std::string(error.what()) +
              "; only the options that encode BTF are understood, "
              "use pahole itself for the rest");
      return 64;
    }
    return is_finished_ ? status_ : encode();
  }

 private:
  // -jN, -j N never (as pahole), -j alone, --jobs, --jobs=N: an attached, optional number, which
  // CLI11 cannot express; taken out of the list here. The questions that builds ask are answered
  // here too, in a few milliseconds and wherever they stand.
  std::vector<std::string> split(int argc, char** argv) {
    std::vector<std::string> rest;
    for (int i = 1; i < argc && !is_finished_; ++i) {
      const std::string argument = argv[i];
      if (argument == "--") {
        rest.insert(rest.end(), argv + i, argv + argc);
        break;
      }
      if (argument == "-j" || argument == "--jobs") {
        request_.jobs = 0;
      } else if (argument.rfind("-j", 0) == 0) {
        set_jobs(argument.substr(2));
      } else if (argument.rfind("--jobs=", 0) == 0) {
        set_jobs(argument.substr(7));
      } else if (argument == "--supported_btf_features") {
        finish(known_features().c_str());
      } else if (argument == "--version") {
        finish(kVersion);
      } else if (argument == "--numeric_version") {
        finish(kNumericVersion);
      } else {
        append_argument(rest, argument);
      }
    }
    return rest;
  }

  void set_jobs(const std::string& text) {
    char* end = nullptr;
    const long jobs = std::strtol(text.c_str(), &end, 10);
    if (*end != '\0') {
      say(kProgram, "error", "-j wants a number, not " + text);
      is_finished_ = true;
      status_ = 64;
      return;
    }
    request_.jobs = jobs <= 0 ? 1 : static_cast<unsigned>(std::min(jobs, 4096L));
  }

  void finish(const char* line) {
    std::puts(line);
    is_finished_ = true;
  }

  static std::string known_features() {
    std::string line;
    for (unsigned i = 0; btfloom_feature_name(i) != nullptr; ++i) {
      line += (i == 0 ? "" : ",") + std::string(btfloom_feature_name(i));
    }
    return line;
  }

  void add_actions() {
    app_.add_flag("-J,--btf_encode", encodes_, "encode BTF into FILE");
    app_.add_option("--btf_encode_detached", request_.output, "encode BTF into a file of its own")
        ->take_last();
    app_.add_option("--btf_base", request_.base, "base of split BTF")->take_last();
    app_.add_option("--lang_exclude", languages_, "leave units in these languages out")
        ->take_last();
    app_.add_flag("-V,--verbose", request_.is_verbose, "say more");
    app_.add_option("-F,--format_path", formats_, "dwarf")->take_last();
  }

  // The first list of features, even an empty one, switches off what is on without any.
  void set_features(const std::vector<std::string>& lists, bool is_strict) {
    if (!has_feature_list_) {
      request_.features = 0;
      has_feature_list_ = true;
    }
    for (const std::string& list : lists) {
      const char* unknown = btfloom_parse_features(list.c_str(), &request_.features);
      if (unknown != nullptr && is_strict && !is_finished_) {
        say(kProgram, "error",
            "unknown feature in --btf_features_strict: " +
                std::string(unknown, std::strcspn(unknown, ",")) + "; known are " +
                known_features());
        is_finished_ = true;
        status_ = 1;
      }
    }
  }

  void add_features() {
    app_.add_option_function<std::vector<std::string>>(
            "--btf_features",
            [this](const std::vector<std::string>& lists) { set_features(lists, false); },
            "features to encode")
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all()
        ->trigger_on_parse();
    app_.add_option_function<std::vector<std::string>>(
            "--btf_features_strict",
            [this](const std::vector<std::string>& lists) { set_features(lists, true); },
            "features to encode, all of which must be known")
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all()
        ->trigger_on_parse();
  }

  // Switches of older versions; what comes after a --btf_features changes what that said.
  void add_legacy_flags() {
    const auto add = [this](const char* name, std::uint64_t on, std::uint64_t off) {
      app_.add_flag_callback(
              name, [this, on, off] { request_.features = (request_.features | on) & ~off; }, "")
          ->group("legacy")
          ->trigger_on_parse();
    };
    add("--btf_encode_force", BTFLOOM_FEATURE_ENCODE_FORCE, 0);
    add("--btf_attributes", BTFLOOM_FEATURE_ATTRIBUTES, 0);
    add("--btf_gen_floats", BTFLOOM_FEATURE_FLOAT, 0);
    add("--btf_gen_optimized", BTFLOOM_FEATURE_OPTIMIZED_FUNC, 0);
    add("--skip_encoding_btf_vars", 0, BTFLOOM_FEATURE_VAR);
    add("--skip_encoding_btf_decl_tag", 0, BTFLOOM_FEATURE_DECL_TAG);
    add("--skip_encoding_btf_type_tag", 0, BTFLOOM_FEATURE_TYPE_TAG);
    add("--skip_encoding_btf_enum64", 0, BTFLOOM_FEATURE_ENUM64);
    add("--skip_encoding_btf_inconsistent_proto", BTFLOOM_FEATURE_CONSISTENT_FUNC, 0);
    add("--reproducible_build", 0, 0);
    app_.add_flag_callback(
            "--btf_gen_all", [this] { btfloom_parse_features("all", &request_.features); }, "")
        ->group("legacy")
        ->trigger_on_parse();
  }

  void add_files() { app_.add_option("FILE", request_.inputs, "ELF files with DWARF"); }

  int encode() {
    if (!encodes_ && request_.output.empty()) {
      say(kProgram, "error",
          "nothing to do: only -J and --btf_encode_detached are understood, use pahole itself for "
          "the rest");
      return 64;
    }
    if (languages_.empty()) {
      const char* variable = std::getenv("PAHOLE_LANG_EXCLUDE");  // NOLINT(concurrency-mt-unsafe)
      languages_ = variable != nullptr ? variable : "";
    }
    std::string unknown;
    if (!parse_languages(languages_, request_.exclude_languages, unknown)) {
      say(kProgram, "error", "unknown language in --lang_exclude: " + unknown);
      return 1;
    }
    if (request_.inputs.empty()) {
      say(kProgram, "error", "no input file; name at least one");
      return 64;
    }
    const int status = run_encode(request_);
    if (status == BTFLOOM_ERROR_NO_DEBUG) {
      return 0;  // reported; builds without debug information call us all the same
    }
    return status == BTFLOOM_OK ? 0 : 1;
  }

  CLI::App app_;
  Request request_;
  bool encodes_ = false;
  bool has_feature_list_ = false;
  bool is_finished_ = false;
  int status_ = 0;
  std::string languages_;
  std::string formats_;
};

}  // namespace

}  // namespace btfloom

int main(int argc, char** argv) {
  try {
    return btfloom::PaholeOptions().run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "btfloom-pahole: error: %s\n", error.what());  // out of memory
    return 1;
  }
}
