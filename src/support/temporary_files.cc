#include "support/temporary_files.h"

#include <limits.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>

namespace btfloom {

namespace {

enum State : int { kFree, kBusy, kUsed };

struct Entry {
  std::atomic<int> state{kFree};  // shared: see below
  std::array<char, PATH_MAX> path{};
};

// The one global of the library: a signal belongs to the process, and so do the files that it must clean up.
std::array<Entry, 64> entries;

}  // namespace

bool register_temporary(const std::string& path) {
  if (path.size() >= PATH_MAX) {
    return false;
  }
  for (Entry& entry : entries) {
    int expected = kFree;
    // acquire: pairs with the release in forget_temporary(), so the old path is no longer in use
    if (entry.state.compare_exchange_strong(expected, kBusy, std::memory_order_acquire,
                                            std::memory_order_relaxed)) {
      std::memcpy(entry.path.data(), path.c_str(), path.size() + 1);
      // release: pairs with the acquire in unlink_all_temporaries()
      entry.state.store(kUsed, std::memory_order_release);
      return true;
    }
  }
  return false;
}

void forget_temporary(const std::string& path) {
  for (Entry& entry : entries) {
    // acquire: pairs with the release in register_temporary()
    if (entry.state.load(std::memory_order_acquire) == kUsed && path == entry.path.data()) {
      // release: pairs with the acquire in register_temporary()
      entry.state.store(kFree, std::memory_order_release);
      return;
    }
  }
}

void unlink_all_temporaries() {
  for (Entry& entry : entries) {
    // acquire: pairs with the release in register_temporary()
    if (entry.state.load(std::memory_order_acquire) == kUsed) {
      ::unlink(entry.path.data());
    }
  }
}

}  // namespace btfloom
