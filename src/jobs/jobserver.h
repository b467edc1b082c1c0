// A client of the GNU make job server, pipe and fifo style: a SlotSource whose slots are one-byte
// tokens.
//
// Protocol: GNU make manual, "POSIX Jobserver Interaction". A token is one byte read; it goes back
// as exactly that byte. The implicit slot has no byte and is never given back. Descriptors that we
// inherited are shared with all of the build, so their flags are never changed: reading without
// blocking happens through an open file description of our own.
//
// Call open_jobserver() before the program opens any file: descriptors that make closed may
// otherwise be in use by then, for something else. Thread-safe; all tokens held in this process are
// in one list, which a signal handler can give back.
#pragma once

#include <memory>

#include "jobs/makeflags.h"
#include "jobs/slot.h"
#include "support/result.h"

namespace btfloom {

// Connects, or says why that is not possible; then one slot, the implicit one, is all that this
// process has been given. `most`: upper bound of threads. `descriptor_directory` is for tests:
// where a system without /proc would have nothing. The source must outlive its slots.
Result<std::unique_ptr<SlotSource>> open_jobserver(
    const JobserverConfig& config, unsigned most,
    const char* descriptor_directory = "/proc/self/fd");

// Gives back every token that this process holds, of all clients, and lets none take another. For
// dying: async-signal-safe, waits some 100 ms at most for threads that are just moving a token.
// Nothing in a forked child.
void give_back_all_tokens() noexcept;

}  // namespace btfloom
