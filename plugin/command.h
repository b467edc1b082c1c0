// What both commands share: diagnostics on stderr, progress on a terminal, languages, exit codes.
// Uses the C ABI only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugin/btfloom.h"

namespace btfloom {

// Where indices of bases are kept: BTFLOOM_CACHE if it is set ("" for nowhere), else
// XDG_CACHE_HOME/btfloom, else HOME/.cache/btfloom, else nowhere. A program that runs with more
// rights than its caller does not look at the environment.
std::string default_base_cache();

struct Request {
  std::string program;  // for messages
  std::vector<std::string> inputs;
  std::string output;       // empty: in place
  std::string output_base;  // of a distilled base; empty: none
  std::string base;         // of a split BTF; empty: none
  std::string base_cache = default_base_cache();
  std::uint64_t features = BTFLOOM_FEATURES_DEFAULT;
  std::vector<std::uint16_t> exclude_languages;
  unsigned jobs = 0;  // 0: not said
  bool keep_going = false;
  bool each = false;        // every input by itself
  bool is_verbose = false;  // notes too
  bool show_statistics = false;
  bool use_jobserver = true;
};

// A line on stderr: "btfloom: error: ...".
void say(const std::string& program, const char* severity, const std::string& text);

// The codes of a comma-separated list of languages; false, and `unknown` set, for a name that is
// not known.
bool parse_languages(const std::string& list, std::vector<std::uint16_t>& codes,
                     std::string& unknown);

// Appends an argument of the command line as CLI11 wants it: version 2.1 takes the word behind
// "--option=" for its value, so an empty value becomes a word of its own.
void append_argument(std::vector<std::string>& arguments, const std::string& argument);

// Runs the encoder, with signals handled, and tells the user what happened. Returns an enum
// btfloom_status.
int run_encode(const Request& request);

}  // namespace btfloom
