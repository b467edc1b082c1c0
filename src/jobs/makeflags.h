// parse_makeflags(): what MAKEFLAGS says about the job server. GNU make manual, "POSIX Jobserver
// Interaction".
//
// A pure function of the text; whether the descriptors or the file are really there is
// jobserver.h's business. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace btfloom {

struct JobserverConfig {
  enum class Kind : std::uint8_t {
    kNone,      // not said
    kPipe,      // R,W: inherited descriptors
    kFifo,      // fifo:PATH, make >= 4.4
    kDisabled,  // a negative descriptor: there is one, but not for this command
    kUnknown,   // a style that we do not know
  };
  Kind kind = Kind::kNone;
  int read_descriptor = -1;
  int write_descriptor = -1;
  std::string fifo;
  std::string value;             // as written, for messages
  bool dry_run = false;          // -n
  bool unlimited = false;        // -j without a number
  std::optional<unsigned> jobs;  // N of -jN
};

// Never fails: what make would not understand is passed over. Of several values the last counts.
JobserverConfig parse_makeflags(std::string_view makeflags);

}  // namespace btfloom
