// Turnstile: many workers in, one ordered line out. It knows which index is produced next, which
// are ready, who may consume (the baton), how full the window is and which error counts; it knows
// no threads and no slots.
//
//   while (admit() gives an index i) {
//     produce(i) -> arrive(i) or fail(i, error)
//     for (auto c = take_baton(); c; c = pass(*c)) consume(*c) -> pass(*c) or fail_consume(*c,
//     error)
//   }
//
// Not thread-safe: every function needs the pool's mutex. produce and consume run without it. Essay
// in turnstile.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "support/result.h"

namespace btfloom {

class Turnstile {
 public:
  enum class Entry : std::uint8_t {
    kIndex,  // produce `index` now
    kFull,   // the window is full: come back when has_eased()
    kOver,   // nothing will ever be admitted again
  };
  struct Admission {
    Entry entry = Entry::kOver;
    std::size_t index = 0;
  };

  // Precondition: window >= 1.
  Turnstile(std::size_t count, std::size_t window);

  // The next index to produce, in ascending order.
  Admission admit();
  // produce(index) went well.
  void arrive(std::size_t index);
  // produce(index) failed.
  void fail(std::size_t index, Error error);

  // The index to consume now, if the baton is free and the next index in order is ready; the caller
  // then has the baton.
  [[nodiscard]] std::optional<std::size_t> take_baton();
  // consume(index) went well: the next one to consume, or nothing, and then the baton is free
  // again.
  [[nodiscard]] std::optional<std::size_t> pass(std::size_t index);
  // consume(index) failed; the baton is free again (and nobody will need it).
  void fail_consume(std::size_t index, Error error);

  // Admits and consumes nothing any more; result() is kCancelled unless everything was consumed
  // already.
  void cancel();

  // True if another `arriving` + 1 workers would all be admitted. False from the moment when
  // somebody found the window full until a quarter of it is free again, so that workers do not come
  // and go with every single index.
  [[nodiscard]] bool wants(std::size_t arriving) const;
  [[nodiscard]] bool has_eased() const { return !was_full_; }
  [[nodiscard]] bool is_over() const { return cancelled_ || admitted_ >= limit_; }

  // Valid when nothing is in flight.
  [[nodiscard]] Result<> result() &&;

 private:
  [[nodiscard]] std::size_t room() const { return ready_.size() - (admitted_ - consumed_); }
  [[nodiscard]] std::optional<std::size_t> next_ready();
  void lower_limit(std::size_t index, Error error);

  std::size_t limit_;  // indices at or above are not wanted: count, or that of the lowest error
  std::size_t admitted_ = 0;  // indices below were handed out
  std::size_t consumed_ = 0;  // indices below were consumed
  std::vector<bool> ready_;   // by index % window: produced, not yet consumed
  bool baton_taken_ = false;
  bool was_full_ = false;
  bool cancelled_ = false;
  std::optional<Error> error_;  // that of index limit_
};

}  // namespace btfloom
