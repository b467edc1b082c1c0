#include "support/temporary_files.h"

#include <limits.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <mutex>

namespace btfloom {

namespace {

struct Entry {
  std::atomic<bool> is_used{
      false};  // shared with the signal handler, which holds no lock: see below
  std::array<char, PATH_MAX>
      path{};  // needs entries_mutex to write, or to read outside the handler
};

// The globals of the library: a signal belongs to the process, and so do the files that it must
// clean up.
std::array<Entry, 64> entries;
std::mutex entries_mutex;  // never taken by the handler

}  // namespace

bool register_temporary(const std::string& path) {
  if (path.size() >= PATH_MAX) {
    return false;
  }
  const std::lock_guard lock(entries_mutex);
  for (Entry& entry : entries) {
    // relaxed: written under the mutex only
    if (!entry.is_used.load(std::memory_order_relaxed)) {
      std::memcpy(entry.path.data(), path.c_str(), path.size() + 1);
      // release: pairs with the acquire in unlink_all_temporaries()
      entry.is_used.store(true, std::memory_order_release);
      return true;
    }
  }
  return false;
}

void forget_temporary(const std::string& path) {
  const std::lock_guard lock(entries_mutex);
  for (Entry& entry : entries) {
    // relaxed: written under the mutex only
    if (entry.is_used.load(std::memory_order_relaxed) && path == entry.path.data()) {
      // relaxed: whoever reads the path next has the mutex, or is the handler, for which the path
      // is still whole
      entry.is_used.store(false, std::memory_order_relaxed);
      return;
    }
  }
}

void unlink_all_temporaries() {
  for (Entry& entry : entries) {
    // acquire: pairs with the release in register_temporary()
    if (entry.is_used.load(std::memory_order_acquire)) {
      ::unlink(entry.path.data());
    }
  }
}

}  // namespace btfloom
