#include "jobs/makeflags.h"

#include <charconv>
#include <cstddef>
#include <system_error>
#include <vector>

namespace btfloom {
namespace {

using Kind = JobserverConfig::Kind;

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n';
}

// The words as make splits them in decode_env_switches(): a backslash takes the next character as
// it is. Ends at the word "--", behind which are variables of the command line, which may contain
// anything.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::size_t at = 0;
  while (true) {
    while (at < text.size() && is_blank(text[at])) {
      ++at;
    }
    if (at == text.size()) {
      return words;
    }
    std::string word;
    while (at < text.size() && !is_blank(text[at])) {
      if (text[at] == '\\' && at + 1 < text.size()) {
        ++at;
      }
      word += text[at++];
    }
    if (word == "--") {
      return words;
    }
    words.push_back(std::move(word));
  }
}

// The whole of `text` as a number.
template <typename T>
std::optional<T> number_of(std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return std::nullopt;
  }
  return number;
}

void take_auth(std::string_view value, JobserverConfig& config) {
  constexpr std::string_view kFifoPrefix = "fifo:";
  config.kind = Kind::kUnknown;
  config.value = value;
  config.fifo.clear();
  if (value.starts_with(kFifoPrefix)) {
    config.fifo = value.substr(kFifoPrefix.size());
    if (!config.fifo.empty()) {
      config.kind = Kind::kFifo;
    }
    return;
  }
  const std::size_t comma = value.find(',');
  if (comma == std::string_view::npos) {
    return;
  }
  const std::optional<int> reading = number_of<int>(value.substr(0, comma));
  const std::optional<int> writing = number_of<int>(value.substr(comma + 1));
  if (!reading || !writing) {
    return;
  }
  config.kind = *reading < 0 || *writing < 0 ? Kind::kDisabled : Kind::kPipe;
  config.read_descriptor = *reading;
  config.write_descriptor = *writing;
}

// `text` is what follows -j or --jobs=; make takes no 0.
void take_jobs(std::string_view text, JobserverConfig& config) {
  if (text.empty()) {
    config.unlimited = true;
    config.jobs.reset();
    return;
  }
  const std::optional<unsigned> jobs = number_of<unsigned>(text);
  if (jobs && *jobs > 0) {
    config.unlimited = false;
    config.jobs = jobs;
  }
}

// Letters of one word, without the dash: "kn", "j8", "wj8".
void take_letters(std::string_view letters, JobserverConfig& config) {
  constexpr std::string_view kWithArgument = "CEfIloOW";
  for (std::size_t i = 0; i < letters.size(); ++i) {
    if (letters[i] == 'j') {
      take_jobs(letters.substr(i + 1), config);
      return;
    }
    if (kWithArgument.find(letters[i]) != std::string_view::npos) {
      return;
    }
    config.dry_run = config.dry_run || letters[i] == 'n';
  }
}

void take_long_option(std::string_view word, JobserverConfig& config) {
  // make < 4.2 wrote --jobserver-fds. Whichever comes last counts, of the other name too.
  for (const std::string_view name : {"--jobserver-auth=", "--jobserver-fds="}) {
    if (word.starts_with(name)) {
      take_auth(word.substr(name.size()), config);
      return;
    }
  }
  constexpr std::string_view kJobs = "--jobs";
  if (word == kJobs) {
    take_jobs({}, config);
  } else if (word.starts_with(kJobs) && word[kJobs.size()] == '=') {
    take_jobs(word.substr(kJobs.size() + 1), config);
  } else if (word == "--dry-run" || word == "--just-print" || word == "--recon") {
    config.dry_run = true;
  }
}

}  // namespace

JobserverConfig parse_makeflags(std::string_view makeflags) {
  JobserverConfig config;
  const std::vector<std::string> words = words_of(makeflags);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word.starts_with("--")) {
      take_long_option(word, config);
    } else if (word.starts_with("-")) {
      // "-j 8" is what people write into MAKEFLAGS; make itself writes "-j8".
      const bool number_follows =
          word == "-j" && i + 1 < words.size() && number_of<unsigned>(words[i + 1]).has_value();
      if (number_follows) {
        take_jobs(words[++i], config);
      } else {
        take_letters(word.substr(1), config);
      }
    } else if (i == 0 && word.find('=') == std::string_view::npos) {
      take_letters(word, config);  // the flags without arguments come first, without a dash
    }
  }
  return config;
}

}  // namespace btfloom
