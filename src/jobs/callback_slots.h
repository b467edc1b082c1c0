// callback_slots(): slots lent by the program that embeds us, through C callbacks.
//
// Thread-safe as SlotSource says: one call at a time, from different threads. The callbacks must
// not throw, and must not call back into the run that they serve.
#pragma once

#include <memory>

#include "jobs/slot.h"

namespace btfloom {

struct SlotCallbacks {
  void* user = nullptr;
  // Waits for a slot. Never called: a run only asks whether a slot is free now, because a thread
  // that waits for one cannot be cancelled, and might wait for somebody who waits for us. Here so
  // that one set of callbacks serves other clients too.
  int (*acquire)(void* user) = nullptr;
  // A number >= 0 for a slot lent now, which release() gets again; a negative one if none is free.
  // Must not block.
  int (*try_acquire)(void* user) = nullptr;
  void (*release)(void* user, int token) = nullptr;
};

// At most `most` threads, the calling one included. Without try_acquire or release: one.
std::unique_ptr<SlotSource> callback_slots(const SlotCallbacks& callbacks, unsigned most);

}  // namespace btfloom
