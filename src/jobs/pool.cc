// Threads follow the slots held, while the work is running.
//
// THE PROBLEM. A job server gives tokens late, one by one, and wants them back as soon as we have
// no use for them. A thread may run only while it holds one (the calling thread has the implicit
// slot), nobody may wait for a token while others need what he has, and none may be lost or
// forgotten.
//
// THE IDEA. The calling thread is worker 0: it does everything alone if nobody helps. Whoever
// obtains a slot *hires* a worker with it: a free worker number, whose thread is started at its
// first use and parked in between. A worker works until there is nothing to do for it (all indices
// handed out, or the window full), gives its slot back and parks. So a worker is either parked
// without a slot or busy with one; there are no other states. Which index is whose turn is the
// business of the turnstile (turnstile.cc, which also has the argument why no index is forgotten).
//
//        hire(slot): take a number, start or wake its thread
//   parked ------------------------------------------------> busy
//     ^                                                       |
//     +---------- nothing to do: slot given back -------------+
//
// WHO OBTAINS SLOTS. With a descriptor (job server) a broker thread sleeps in poll() on it, only
// while the turnstile wants another worker, and reads a token only if that is still so. The broker
// is a thread without a slot. That is within the rule, which is about processors: it is blocked
// except for the microseconds of one read and one wake-up per token, and it never touches the work.
// Without a descriptor (fixed slots, callbacks), only trying tells: each worker tries for up to two
// further slots before each index and for one after each consume, so that a fixed number of workers
// is complete after a few doublings and nobody starts 63 threads before his first unit.
//
// NO LOST WAKE-UP. All states are under mutex_. Three parties wait: parked workers for `hired` (set
// under mutex_ before the notify); worker 0, when the window is full or while others finish, for
// changes that only pass(), fail_*() and a worker's parking make, each of which notifies under
// mutex_; and the broker in poll(). The broker sets broker_sleeps_ under mutex_ after it found no
// worker wanted; whoever makes one wanted (consume, parking) or ends the run does so under mutex_
// too and then writes to alarm_, an eventfd that stays readable until the broker has come to read
// it.
//
// WHY IT ENDS. Worker 0 needs no slot, so indices are admitted and consumed (turnstile.cc) even if
// all others stay parked. At the end it waits for the busy ones; they find nothing to do. Then
// `over_` stops the broker first, because it may be about to start a thread, and then the parked
// threads. Slots are given back by each worker before it counts as parked, so none is out when
// in_order() returns.
//
// LOCKS. mutex_ guards states. lending_ serialises calls to the source, which may be a user's
// callback or a write to a pipe: never taken with mutex_ held, nor the other way round. There are
// no atomics but the caller's cancel flag.
#include "jobs/pool.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "jobs/signal_mask.h"
#include "jobs/turnstile.h"

namespace btfloom {
namespace {

using Produce = FunctionRef<Result<>(std::size_t index, unsigned worker)>;
using Consume = FunctionRef<Result<>(std::size_t index)>;
using Lock = std::unique_lock<std::mutex>;

constexpr int kProduceStage = 0;
constexpr int kConsumeStage = 1;

Error out_of_memory() {
  // Short enough to be stored without an allocation.
  return Error{ErrorKind::kResource, "out of memory", {}, {}, {}};
}

// Calls f; what it throws becomes an error.
template <typename F>
Result<> guarded(const F& f) {
  try {
    try {
      return f();
    } catch (const std::bad_alloc&) {
      return out_of_memory();
    } catch (const std::exception& exception) {
      return Error{ErrorKind::kResource,
                   std::string("unexpected exception: ") + exception.what(),
                   {},
                   {},
                   {}};
    } catch (...) {
      return Error{ErrorKind::kResource, "unexpected exception", {}, {}, {}};
    }
  } catch (const std::bad_alloc&) {
    return out_of_memory();  // no room even for the text
  }
}

// The two callbacks and what surrounds them. Const, thread-safe as far as the callbacks are.
class Task {
 public:
  Task(const InOrderOptions& options, Produce produce, Consume consume)
      : options_(options), produce_(produce), consume_(consume) {}

  [[nodiscard]] std::size_t count() const { return options_.count; }
  [[nodiscard]] std::size_t window() const { return options_.window; }
  // relaxed: a flag that hands over no data and may be seen late; its partner is whoever sets it.
  [[nodiscard]] bool is_cancelled() const {
    return options_.cancel != nullptr && options_.cancel->load(std::memory_order_relaxed);
  }
  [[nodiscard]] Result<> produce(std::size_t index, unsigned worker) const {
    return guarded([&] {
      call_hook(kProduceStage, index);
      return produce_(index, worker);
    });
  }
  [[nodiscard]] Result<> consume(std::size_t index) const {
    return guarded([&] {
      call_hook(kConsumeStage, index);
      return consume_(index);
    });
  }
  void tell_peak(unsigned workers) const {
    if (options_.peak_workers != nullptr) {
      *options_.peak_workers = workers;
    }
  }

 private:
  void call_hook(int stage, std::size_t index) const {
    if (options_.hook != nullptr) {
      options_.hook(options_.hook_context, stage, index);
    }
  }

  const InOrderOptions& options_;
  Produce produce_;
  Consume consume_;
};

// One thread, no locks: the same results as the crew's.
Result<> run_alone(const Task& task) {
  task.tell_peak(1);
  for (std::size_t i = 0; i < task.count(); ++i) {
    if (task.is_cancelled()) {
      return Error{ErrorKind::kCancelled, "cancelled", {}, {}, {}};
    }
    TRY(task.produce(i, 0));
    TRY(task.consume(i));
  }
  return {};
}

class Crew {
 public:
  Crew(SlotSource& source, const Task& task, unsigned most)
      : source_(source), task_(task), turnstile_(task.count(), task.window()), workers_(most) {}
  ~Crew() {
    if (alarm_ >= 0) {
      ::close(alarm_);
    }
  }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  Result<> run();

 private:
  struct Worker {
    std::thread thread;            // owned by who hired it first, then by run(); not of worker 0
    std::condition_variable wake;  // for `hired`
    Slot slot;                     // owned by who hires while !hired, by the worker while hired
    bool hired = false;            // needs mutex_
    bool has_thread = false;       // needs mutex_
  };

  void start_broker();
  void dismiss();
  void broker_main();
  void worker_main(unsigned number);
  void work(unsigned number, Lock& lock);   // needs mutex_
  void consume_ready(Lock& lock);           // needs mutex_, lets go of it meanwhile
  void grow(Lock& lock, int attempts);      // needs mutex_, lets go of it meanwhile
  [[nodiscard]] bool wants_worker() const;  // needs mutex_
  void tell_changed();                      // needs mutex_
  std::optional<Slot> try_acquire();
  void give_back(Slot slot);
  void hire(Slot slot);
  void start_thread(Worker& worker, unsigned number);

  // const after construction, or thread-safe by themselves
  SlotSource& source_;
  const Task& task_;
  std::mutex lending_;  // one call to source_ at a time
  std::mutex mutex_;

  // needs mutex_
  Turnstile turnstile_;
  std::size_t arriving_ = 0;  // hired, not yet at the turnstile
  unsigned busy_ = 1;         // hired, or worker 0
  unsigned peak_ = 1;
  bool may_grow_ = true;
  bool broker_sleeps_ = false;
  bool over_ = false;
  std::condition_variable boss_;  // worker 0 waits for room, or for the others to finish

  std::vector<Worker> workers_;  // [0] is the calling thread; see Worker
  std::thread broker_;           // owned by run()
  bool has_broker_ = false;      // const while workers other than 0 run
  int alarm_ = -1;               // const while the broker runs
};

Result<> Crew::run() {
  if (source_.poll_descriptor() >= 0) {
    start_broker();
  }
  Lock lock(mutex_);
  work(0, lock);
  boss_.wait(lock, [this] { return busy_ == 1; });
  over_ = true;
  lock.unlock();
  dismiss();
  task_.tell_peak(peak_);
  return std::move(turnstile_).result();
}

// Without a descriptor for the alarm, or a thread, growing is left to the workers between indices.
void Crew::start_broker() {
  alarm_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (alarm_ < 0) {
    return;
  }
  has_broker_ = true;
  try {
    const SignalMask masked;
    broker_ = std::thread([this] { broker_main(); });
  } catch (const std::exception&) {
    has_broker_ = false;
  }
}

// Ends all threads: the broker first, it may be starting one.
void Crew::dismiss() {
  if (has_broker_) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(alarm_, &one, sizeof one);
    broker_.join();
  }
  Lock lock(mutex_);
  for (Worker& worker : workers_) {
    worker.wake.notify_one();
  }
  lock.unlock();
  for (Worker& worker : workers_) {
    if (worker.thread.joinable()) {
      worker.thread.join();
    }
  }
}

void Crew::broker_main() {
  Lock lock(mutex_);
  while (!over_) {
    const bool wanted = wants_worker();
    broker_sleeps_ = !wanted;
    lock.unlock();
    pollfd sources[2] = {{alarm_, POLLIN, 0}, {wanted ? source_.poll_descriptor() : -1, POLLIN, 0}};
    if (::poll(sources, 2, -1) < 0 && errno != EINTR) {
      return;  // out of kernel memory: no more workers, but all that was begun gets done
    }
    const short seen = sources[1].revents;
    if (sources[0].revents != 0) {
      std::uint64_t rung = 0;
      [[maybe_unused]] const ssize_t got = ::read(alarm_, &rung, sizeof rung);
    }
    lock.lock();
    if (seen == 0 || !wants_worker()) {
      continue;
    }
    lock.unlock();
    // Nothing after POLLIN: another process was faster. Nothing, and only an end or an error: it
    // will never be better.
    std::optional<Slot> slot = try_acquire();
    const bool dead = !slot && (seen & POLLIN) == 0;
    if (slot) {
      hire(*std::move(slot));
    }
    lock.lock();
    may_grow_ = may_grow_ && !dead;
  }
}

void Crew::worker_main(unsigned number) {
  Worker& self = workers_[number];
  Lock lock(mutex_);
  while (true) {
    self.wake.wait(lock, [&] { return self.hired || over_; });
    if (!self.hired) {
      return;
    }
    --arriving_;
    work(number, lock);
    lock.unlock();
    give_back(std::move(self.slot));
    lock.lock();
    self.hired = false;
    --busy_;
    tell_changed();
  }
}

// Works until there is nothing to do: for worker 0 until everything is admitted, for others also
// when the window is full.
void Crew::work(unsigned number, Lock& lock) {
  while (true) {
    if (task_.is_cancelled()) {
      turnstile_.cancel();
    }
    grow(lock, 2);
    const auto [entry, index] = turnstile_.admit();
    if (entry == Turnstile::Entry::kOver || (entry == Turnstile::Entry::kFull && number != 0)) {
      return;
    }
    if (entry == Turnstile::Entry::kFull) {
      boss_.wait(lock, [this] { return turnstile_.has_eased() || turnstile_.is_over(); });
      continue;
    }
    lock.unlock();
    Result<> made = task_.produce(index, number);
    lock.lock();
    if (made.ok()) {
      turnstile_.arrive(index);
      consume_ready(lock);
    } else {
      turnstile_.fail(index, std::move(made.error()));
      tell_changed();
    }
  }
}

// Takes the baton if it is free and the next in order is ready, and consumes all that is ready in a
// row.
void Crew::consume_ready(Lock& lock) {
  std::optional<std::size_t> next = turnstile_.take_baton();
  while (next) {
    const std::size_t index = *next;
    lock.unlock();
    Result<> done = task_.consume(index);
    lock.lock();
    if (task_.is_cancelled()) {
      turnstile_.cancel();
    }
    if (done.ok()) {
      next = turnstile_.pass(index);
    } else {
      turnstile_.fail_consume(index, std::move(done.error()));
      next.reset();
    }
    tell_changed();
    if (next) {
      grow(lock, 1);
    }
  }
}

bool Crew::wants_worker() const {
  return may_grow_ && busy_ < workers_.size() && turnstile_.wants(arriving_);
}

// Something changed that worker 0 or the broker may be waiting for.
void Crew::tell_changed() {
  boss_.notify_one();
  if (broker_sleeps_ && wants_worker()) {
    broker_sleeps_ = false;
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(alarm_, &one, sizeof one);
  }
}

// Tries for further slots, where no broker does.
void Crew::grow(Lock& lock, int attempts) {
  for (; !has_broker_ && attempts > 0 && wants_worker(); --attempts) {
    lock.unlock();
    std::optional<Slot> slot = try_acquire();
    const bool got = slot.has_value();
    if (got) {
      hire(*std::move(slot));
    }
    lock.lock();
    if (!got) {
      return;
    }
  }
}

std::optional<Slot> Crew::try_acquire() {
  const std::lock_guard lending(lending_);
  return source_.try_acquire();
}

void Crew::give_back(Slot slot) {
  const std::lock_guard lending(lending_);
  slot.release();
}

// Puts a worker to work with `slot`; if none is wanted any more, gives it back at once.
void Crew::hire(Slot slot) {
  Lock lock(mutex_);
  if (!wants_worker()) {
    lock.unlock();
    give_back(std::move(slot));
    return;
  }
  // Lowest number first: few threads, warm scratch. Worker 0 is never free.
  const auto free = std::find_if(workers_.begin() + 1, workers_.end(),
                                 [](const Worker& worker) { return !worker.hired; });
  assert(free != workers_.end());
  free->slot = std::move(slot);
  free->hired = true;
  ++arriving_;
  peak_ = std::max(peak_, ++busy_);
  if (std::exchange(free->has_thread, true)) {
    free->wake.notify_one();
    return;
  }
  lock.unlock();
  start_thread(*free, static_cast<unsigned>(free - workers_.begin()));
}

// No thread to be had is no error: we go on with those we have.
void Crew::start_thread(Worker& worker, unsigned number) {
  try {
    const SignalMask masked;
    worker.thread = std::thread([this, number] { worker_main(number); });
    return;
  } catch (const std::exception&) {
    // handled below
  }
  give_back(std::move(worker.slot));
  const Lock lock(mutex_);
  worker.has_thread = false;
  worker.hired = false;
  --arriving_;
  --busy_;
  may_grow_ = false;
  tell_changed();
}

}  // namespace

Result<> in_order(SlotSource& slots, const InOrderOptions& options, Produce produce,
                  Consume consume) {
  assert(options.window >= 1);
  const Task task(options, produce, consume);
  const std::size_t most =
      std::min({std::size_t{slots.max_workers()}, options.count, options.window});
  if (most <= 1) {
    return run_alone(task);
  }
  return guarded([&] {
    Crew crew(slots, task, static_cast<unsigned>(most));
    return crew.run();
  });
}

Result<> for_each_parallel(SlotSource& slots, std::size_t count, const std::atomic<bool>* cancel,
                           Produce body) {
  return in_order(slots,
                  {.count = count, .window = std::max<std::size_t>(count, 1), .cancel = cancel},
                  body, [](std::size_t) -> Result<> { return {}; });
}

}  // namespace btfloom
