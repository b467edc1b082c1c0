// choose_slots(): who grants slots to this run: a job server, a number that the user said, or the
// processors.
//
//   job server | jobs said | slots
//   usable     | N         | tokens, at most N threads
//   usable     | no        | tokens, at most the processors, and at most -jN of MAKEFLAGS
//   not usable | N         | N threads
//   not usable | no        | 1: one slot is all that make gave us; `note` says why
//   none       | N         | N threads
//   none       | no        | the processors, at most -jN of MAKEFLAGS (so that make -j1 means 1)
//
// "Not usable": MAKEFLAGS names one, but its descriptors are closed or in use for something else,
// or its file is gone, or it is not lent to this command. make -n counts as that too. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "jobs/slot.h"
#include "support/result.h"

namespace btfloom {

enum class JobserverMode : std::uint8_t {
  kAuto,     // if there is one
  kOff,      // never: MAKEFLAGS is not looked at
  kRequire,  // it is an error if there is none
};

struct SlotRequest {
  unsigned jobs = 0;                // of the command line; 0: not said
  std::string_view makeflags = {};  // value of MAKEFLAGS, empty if not set
  std::string_view jobs_variable =
      {};  // value of BTFLOOM_JOBS, empty if not set; counts if `jobs` is 0
  JobserverMode mode = JobserverMode::kAuto;
};

struct ChosenSlots {
  std::unique_ptr<SlotSource> slots;
  std::string description;  // "job server 3,4, at most 8 threads": for verbose output
  std::string note;         // why a job server that is named is not used; empty if all is well
};

// kArgument: BTFLOOM_JOBS is no number from 1 up, or a job server is required and there is none.
Result<ChosenSlots> choose_slots(const SlotRequest& request);

}  // namespace btfloom
