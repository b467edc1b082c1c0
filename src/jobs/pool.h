// in_order(): many workers in, one ordered line out.
//
// produce(i, worker) runs for i = 0..count-1, handed out in ascending order, on as many threads as
// slots are held (the calling thread is worker 0 on the implicit slot and never waits for a token).
// consume(i) runs exactly once per i, in ascending order, never two at a time, on whichever worker
// finished the next fragment in order: a baton, no encoder thread. At most `window` indices are
// between the start of produce and the end of consume.
//
//   TRY(in_order(slots, {.count = units.size(), .window = 32},
//       [&](std::size_t i, unsigned worker) -> Result<> { return load(units[i], fragments[i % 32]);
//       },
//       [&](std::size_t i) -> Result<> { return merge(fragments[i % 32]); }));
#pragma once

#include <atomic>
#include <cstddef>

#include "jobs/slot.h"
#include "support/function_ref.h"
#include "support/result.h"

namespace btfloom {

// Test hook: called before produce (stage 0) and before consume (stage 1) on the worker's thread;
// may sleep. Null in production.
using ScheduleHook = void (*)(void* context, int stage, std::size_t index);

struct InOrderOptions {
  std::size_t count = 0;
  std::size_t window = 0;  // >= 1
  const std::atomic<bool>* cancel =
      nullptr;  // set by anybody: in_order() stops soon and returns kCancelled
  ScheduleHook hook = nullptr;
  void* hook_context = nullptr;
  unsigned* peak_workers = nullptr;  // set to the most workers there were at one time, if not null
};

// Runs as above. `worker` is 0..max_workers-1; two threads never have the same worker number at the
// same time, and all that one worker number did happens before its next use, so per-worker scratch
// needs no lock. Everything that produce(i) did happens before consume(i), and consume(i) before
// consume(i+1). On the first error (lowest index wins, whatever the timing) no new work starts and
// that error is returned after all threads are done. All extra slots are given back before it
// returns. Never throws; an exception from a callback is caught and becomes kResource (bad_alloc)
// on the calling thread.
Result<> in_order(SlotSource& slots, const InOrderOptions& options,
                  FunctionRef<Result<>(std::size_t index, unsigned worker)> produce,
                  FunctionRef<Result<>(std::size_t index)> consume);

// The same without order: body(i, worker) for i = 0..count-1.
Result<> for_each_parallel(SlotSource& slots, std::size_t count, const std::atomic<bool>* cancel,
                           FunctionRef<Result<>(std::size_t index, unsigned worker)> body);

}  // namespace btfloom
