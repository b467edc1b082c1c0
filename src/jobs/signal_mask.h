// SignalMask: while it lives, its thread takes no asynchronous signal (SIGINT, SIGTERM, ...);
// threads that are started meanwhile inherit that for good. Those that a fault raises stay open,
// and so does SIGPROF: profilers want all threads.
//
// For our own threads in somebody else's process: handlers of that program should not find
// themselves on a worker's stack. Thread-safe: changes the calling thread only.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace btfloom {

class SignalMask {
 public:
  SignalMask() {
    sigset_t mask;
    sigfillset(&mask);
    for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF}) {
      sigdelset(&mask, number);
    }
    pthread_sigmask(SIG_BLOCK, &mask, &before_);
  }
  ~SignalMask() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalMask(const SignalMask&) = delete;
  SignalMask& operator=(const SignalMask&) = delete;

 private:
  sigset_t before_;
};

}  // namespace btfloom
