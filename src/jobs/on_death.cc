#include "jobs/on_death.h"

#include <poll.h>

#include <atomic>

#include "jobs/jobserver.h"
#include "support/temporary_files.h"

namespace btfloom {
namespace {

// relaxed: only the exchange matters, nothing is handed over; the first signal cleans up.
constinit std::atomic<bool> dying{false};

// Async-signal-safe. Ends the process.
void die(int number) {
  if (!dying.exchange(true, std::memory_order_relaxed)) {
    give_back_all_tokens();
    unlink_all_temporaries();
  } else {
    // A second signal, on another thread (on this one all are blocked). The first will end us; but
    // if it hangs, so be it.
    ::poll(nullptr, 0, 2000);
  }
  struct sigaction plain = {};
  plain.sa_handler = SIG_DFL;
  ::sigaction(number, &plain, nullptr);
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, number);
  ::raise(number);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);  // ends here
}

}  // namespace

OnDeath::OnDeath() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction action = {};
    action.sa_handler = die;
    ::sigfillset(&action.sa_mask);
    action.sa_flags = SA_RESTART;
    Before& before = before_[i];
    if (::sigaction(kSignals[i], nullptr, &before.action) == 0 &&
        before.action.sa_handler != SIG_IGN) {
      before.changed = ::sigaction(kSignals[i], &action, nullptr) == 0;
    }
  }
}

OnDeath::~OnDeath() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    if (before_[i].changed) {
      ::sigaction(kSignals[i], &before_[i].action, nullptr);
    }
  }
}

}  // namespace btfloom
