// OnDeath: while it lives, SIGINT, SIGTERM, SIGHUP and SIGQUIT give all job server tokens back and
// remove the temporary files before they end the process, in the way that the parent expects (it
// sees the true signal).
//
//   int main() { const OnDeath on_death; ... }
//
// For the command only, never for the library: signals belong to the program. One at a time;
// signals that were ignored when it was made (nohup) stay ignored. Not thread-safe: make it before
// there are threads.
#pragma once

#include <signal.h>

#include <array>
#include <cstddef>

namespace btfloom {

class OnDeath {
 public:
  OnDeath();
  // Restores what was there before.
  ~OnDeath();
  OnDeath(const OnDeath&) = delete;
  OnDeath& operator=(const OnDeath&) = delete;

 private:
  struct Before {
    bool changed = false;
    struct sigaction action = {};
  };
  static constexpr std::array<int, 4> kSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  std::array<Before, kSignals.size()> before_;
};

}  // namespace btfloom
