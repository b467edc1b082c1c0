// How many workers make one ordered line without a thread that does the ordering.
//
// THE PROBLEM. Units are produced in parallel and finish in any order, but must be consumed in link
// order, one at a time. A consumer thread would be one running thread more than there are slots, or
// an idle one that holds a slot. So consuming is a duty, the baton, which falls to whoever finds
// the next index in order ready:
//
//   worker A  produce(0) ------------------------ consume(0) consume(1) consume(2) consume(3)
//   worker B  produce(1) ----- produce(3) ------------- produce(4) --------------- consume(4)
//   worker C  produce(2) ----------- (window full: gives its slot back)
//
// A marks 0 ready, takes the baton and consumes all that is ready in a row; B and C never wait for
// it, they just leave what they made in the window and go on.
//
// WHY NO INDEX IS FORGOTTEN. Let r be the lowest index not consumed. When the worker of r marks it
// ready (arrive), it calls take_baton() in the same critical section. Either the baton is free,
// then it takes it and consumes r. Or somebody has it, who is inside consume(r - 1), since only r -
// 1 can be consumed before r: he will come back through pass(r - 1), under the same mutex and
// therefore after arrive(r), sees r ready and goes on with it. The baton is put down only in
// pass(), in the critical section that saw the next index not ready; so "ready, next in order, and
// the baton free" is false whenever the mutex is free (or the line has stopped).
//
// WHY IT ENDS. The lowest index in flight is always with a running worker: being produced, being
// consumed, or ready with the baton on its way by the above. A worker waits only when the window is
// full, and then there are indices in flight. A full window is left by consuming its lowest index,
// which needs no slot and no further worker.
//
// WHICH ERROR COUNTS. Let e be the lowest index whose produce or consume fails. Indices are
// admitted in ascending order, so when the failure of some index x becomes known all below x have
// been admitted, and they are still produced and consumed: limit_ falls to x, stops admission, and
// nothing at or above limit_ is consumed. An index below e never fails; so all of 0..e-1 get
// consumed whatever the timing, e fails, and limit_ cannot fall lower. The caller sees error e, and
// consume has run for exactly 0..e-1 (and e, if consume is what failed). Work above e may or may
// not have been produced. Cancelling is the one thing that depends on timing, as its name says.
//
// MEMORY ORDER. There are no atomics here. Every transition is under the pool's mutex, hence: what
// produce(i) wrote is released by the unlock after arrive(i) and acquired by whoever got i from
// take_baton() or pass(); what consume(i) wrote is ordered before consume(i + 1) by the critical
// section of pass(i) or of the take_baton() that follows it; and a window cell (index % window) is
// used again only by an admit() that follows the pass() which emptied it.
//
// COST. Two short critical sections per index. Dropped: one atomic per window cell, with a
// lock-free baton. It saves some 50 ns on units of 300 us and needs a store-load fence in the place
// where forgetting it loses a wake-up once a month.
#include "jobs/turnstile.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace btfloom {

Turnstile::Turnstile(std::size_t count, std::size_t window)
    : limit_(count), ready_(std::clamp<std::size_t>(window, 1, std::max<std::size_t>(count, 1))) {}

Turnstile::Admission Turnstile::admit() {
  if (is_over()) {
    return {Entry::kOver, 0};
  }
  if (room() == 0) {
    was_full_ = true;
    return {Entry::kFull, 0};
  }
  return {Entry::kIndex, admitted_++};
}

void Turnstile::arrive(std::size_t index) {
  assert(index >= consumed_ && index < admitted_ && !ready_[index % ready_.size()]);
  ready_[index % ready_.size()] = true;
}

void Turnstile::fail(std::size_t index, Error error) {
  assert(index >= consumed_ && index < admitted_);
  lower_limit(index, std::move(error));
}

std::optional<std::size_t> Turnstile::take_baton() {
  if (baton_taken_) {
    return std::nullopt;
  }
  return next_ready();
}

std::optional<std::size_t> Turnstile::pass(std::size_t index) {
  assert(baton_taken_ && index == consumed_);
  ready_[index % ready_.size()] = false;
  consumed_ = index + 1;
  if (room() >= std::max<std::size_t>(1, ready_.size() / 4)) {
    was_full_ = false;
  }
  return next_ready();
}

void Turnstile::fail_consume(std::size_t index, Error error) {
  assert(baton_taken_ && index == consumed_);
  baton_taken_ = false;
  lower_limit(index, std::move(error));
}

// Takes the baton or puts it down.
std::optional<std::size_t> Turnstile::next_ready() {
  baton_taken_ =
      !cancelled_ && consumed_ < std::min(limit_, admitted_) && ready_[consumed_ % ready_.size()];
  return baton_taken_ ? std::optional(consumed_) : std::nullopt;
}

void Turnstile::lower_limit(std::size_t index, Error error) {
  if (index < limit_) {
    limit_ = index;
    error_ = std::move(error);
  }
}

void Turnstile::cancel() {
  cancelled_ = true;
}

bool Turnstile::wants(std::size_t arriving) const {
  return !is_over() && !was_full_ && room() > arriving && limit_ - admitted_ > arriving;
}

Result<> Turnstile::result() && {
  if (cancelled_ && consumed_ < limit_) {
    return Error{ErrorKind::kCancelled, "cancelled", {}, {}, {}};
  }
  if (error_) {
    return *std::move(error_);
  }
  assert(consumed_ == limit_);
  return {};
}

}  // namespace btfloom
