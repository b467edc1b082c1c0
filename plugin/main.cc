// btfloom, the command: argv -> the C ABI, nothing else.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>

#include "plugin/command.h"

#include <CLI/CLI.hpp>

namespace btfloom {

namespace {

struct Arguments {
  Request request;
  bool in_place = false;
  std::vector<std::string> features;
  std::string exclude_languages;
};

void add_encode_options(CLI::App& encode, Arguments& arguments) {
  Request& request = arguments.request;
  encode.add_option("FILE", request.inputs, "ELF files with DWARF, in link order")->required();
  CLI::Option* output =
      encode.add_option("-o,--output", request.output, "write the BTF to this file of its own");
  encode
      .add_flag("--in-place", arguments.in_place, "add the BTF to the first FILE, as section .BTF")
      ->excludes(output);
  encode.add_option("--base", request.base,
                    "write only what this BTF does not have (split BTF): a raw BTF file, or an ELF "
                    "file with .BTF, such as the vmlinux of a module");
  encode
      .add_option("--output-base", request.output_base,
                  "with -o and the feature distilled_base: write the distilled base to this file")
      ->needs(output);
  encode.add_option("--base-cache", request.base_cache,
                    "folder that keeps what was found out about bases, \"\" for none [default: "
                    "BTFLOOM_CACHE, or btfloom in the user's cache folder]");
  encode
      .add_option("-j,--jobs", request.jobs,
                  "threads at most; under a job server never more than it grants "
                  "[default: the processors]")
      ->check(CLI::PositiveNumber);
  encode
      .add_option("--features", arguments.features,
                  "as pahole's --btf_features: default, all, +NAME, NAME,... [default: default]")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
  encode.add_option("--lang-exclude", arguments.exclude_languages,
                    "leave units in these languages out: rust,...");
  encode.add_flag("--each", request.each,
                  "make a BTF of every FILE by itself, in place or as NAME.btf in the folder that "
                  "-o names: the modules of a kernel, on one base");
  encode.add_flag("--keep-going", request.keep_going,
                  "write the output although units are broken; the exit code still tells");
  encode.add_flag("--stats", request.show_statistics, "print counts and the time of each stage");
  encode.add_flag("-v,--verbose", request.is_verbose, "print notes too");
}

// Turns texts into what the C ABI wants; false after a message.
bool settle(Arguments& arguments) {
  Request& request = arguments.request;
  if (request.output.empty() && !arguments.in_place) {
    say("btfloom", "error", "say where the BTF should go: -o FILE or --in-place");
    return false;
  }
  if (!arguments.features.empty()) {
    request.features = 0;
  }
  for (const std::string& list : arguments.features) {
    if (const char* unknown = btfloom_parse_features(list.c_str(), &request.features)) {
      say("btfloom", "error",
          "unknown feature in --features, from here on: " + std::string(unknown));
      return false;
    }
  }
  std::string unknown;
  if (!parse_languages(arguments.exclude_languages, request.exclude_languages, unknown)) {
    say("btfloom", "error", "unknown language in --lang-exclude: " + unknown);
    return false;
  }
  return true;
}

// The stand-in for pahole lies beside this command.
int print_pahole() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) {
    say("btfloom", "error", "cannot find out where this command is: " + error.message());
    return 1;
  }
  std::puts((self.parent_path() / "btfloom-pahole").c_str());
  return 0;
}

// The command line in the form that CLI11 takes: last argument first.
std::vector<std::string> arguments_of(int argc, char** argv) {
  std::vector<std::string> arguments;
  int i = 1;
  for (; i < argc && std::string(argv[i]) != "--"; ++i) {
    append_argument(arguments, argv[i]);
  }
  arguments.insert(arguments.end(), argv + i, argv + argc);
  std::reverse(arguments.begin(), arguments.end());
  return arguments;
}

int run(int argc, char** argv) {
  CLI::App app("Puts BTF (BPF Type Format), made from DWARF, into what a build produces.",
               "btfloom");
  app.set_version_flag("--version", "btfloom " BTFLOOM_VERSION);
  bool wants_pahole = false;
  app.add_flag("--print-pahole", wants_pahole,
               "print the path of the stand-in for pahole: make PAHOLE=$(btfloom --print-pahole)");
  Arguments arguments;
  arguments.request.program = "btfloom";
  CLI::App* encode = app.add_subcommand("encode", "encode FILEs into one BTF");
  add_encode_options(*encode, arguments);
  app.footer(
      "Exit status: 0 the output is complete and in place; 1 to 7 as in btfloom.h;\n"
      "64 the command line is wrong.");
  try {
    app.parse(arguments_of(argc, argv));
  } catch (const CLI::ParseError& error) {
    const int status = app.exit(error, std::cout, std::cerr);
    return status == 0 ? 0 : 64;
  }
  if (wants_pahole) {
    return print_pahole();
  }
  if (!encode->parsed()) {
    std::fputs(app.help().c_str(), stderr);
    return 64;
  }
  return settle(arguments) ? run_encode(arguments.request) : 64;
}

}  // namespace

}  // namespace btfloom

int main(int argc, char** argv) {
  try {
    return btfloom::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "btfloom: error: %s\n", error.what());  // out of memory
    return BTFLOOM_ERROR_RESOURCE;
  }
}
