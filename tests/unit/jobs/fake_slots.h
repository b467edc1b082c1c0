// Helpers of the jobs tests: slot sources that count, pipes that stand for a job server, deadlines.
// Thread-safe where it says so.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "jobs/slot.h"

namespace btfloom::test {

// Lends the slots of another source and counts them. held() may be read by any thread.
class CountingSlots final : public SlotSource {
 public:
  explicit CountingSlots(std::unique_ptr<SlotSource> inner)
      : inner_(std::move(inner)), slots_(inner_->max_workers() + 1) {}

  [[nodiscard]] unsigned max_workers() const override { return inner_->max_workers(); }
  [[nodiscard]] int poll_descriptor() const override { return inner_->poll_descriptor(); }
  std::optional<Slot> try_acquire() override {
    ++tries_;
    enter();
    std::optional<Slot> result;
    if (std::optional<Slot> slot = inner_->try_acquire()) {
      const auto place = std::find_if(slots_.begin(), slots_.end(),
                                      [](const Slot& candidate) { return !candidate.held(); });
      *place = *std::move(slot);
      ++held_;
      ++spare_;
      result.emplace(*this, static_cast<int>(place - slots_.begin()));
    }
    inside_ = false;
    return result;
  }

  [[nodiscard]] unsigned held() const { return held_; }
  [[nodiscard]] unsigned tries() const { return tries_; }
  // Around what needs a slot. One number for slots and threads, so that the check is exact at every
  // instant: the implicit slot, plus those held, minus the threads that run.
  void begin_running() {
    if (--spare_ < 0) {
      exceeded_ = true;
    }
  }
  void end_running() { ++spare_; }
  // More threads ran than slots were held, at some instant.
  [[nodiscard]] bool exceeded() const { return exceeded_; }
  // Two calls at the same time, which SlotSource promises not to happen.
  [[nodiscard]] bool overlapped() const { return overlapped_; }

 private:
  void enter() {
    if (inside_.exchange(true)) {
      overlapped_ = true;
    }
  }
  void give_back(int token) override {
    enter();
    --held_;
    begin_running();  // the slot goes; if a thread still ran on it, there is one too many
    slots_[static_cast<std::size_t>(token)].release();
    inside_ = false;
  }

  std::unique_ptr<SlotSource> inner_;
  std::vector<Slot> slots_;  // plain: TSan sees calls that are not one at a time
  std::atomic<unsigned> held_{0};
  std::atomic<unsigned> tries_{0};
  std::atomic<int> spare_{1};
  std::atomic<bool> exceeded_{false};
  std::atomic<bool> inside_{false};
  std::atomic<bool> overlapped_{false};
};

// A pipe, both ends closed at the end.
class Pipe {
 public:
  explicit Pipe(int flags = O_CLOEXEC) {
    if (::pipe2(ends_.data(), flags) != 0) {
      std::abort();
    }
  }
  ~Pipe() {
    close_reading();
    close_writing();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  [[nodiscard]] int reading() const { return ends_[0]; }
  [[nodiscard]] int writing() const { return ends_[1]; }
  void put(std::string_view bytes) const {
    if (::write(writing(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
      std::abort();
    }
  }
  // Everything that is in it now, sorted.
  [[nodiscard]] std::string take_all() const { return take_all(reading()); }
  static std::string take_all(int descriptor) {
    std::string all;
    pollfd source{descriptor, POLLIN, 0};
    char byte = 0;
    while (::poll(&source, 1, 0) == 1 && (source.revents & POLLIN) != 0 &&
           ::read(descriptor, &byte, 1) == 1) {
      all += byte;
    }
    std::sort(all.begin(), all.end());
    return all;
  }
  void close_reading() { close_end(0); }
  void close_writing() { close_end(1); }

 private:
  void close_end(std::size_t end) {
    if (ends_[end] >= 0) {
      ::close(std::exchange(ends_[end], -1));
    }
  }
  std::array<int, 2> ends_{-1, -1};
};

// Waits until `condition` is true; false if it is not after 20 seconds. For what must happen, never
// for how fast.
template <typename Condition>
bool comes_true(const Condition& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return true;
}

// splitmix64: the same numbers for a seed everywhere.
inline std::uint64_t mixed(std::uint64_t seed) {
  seed += 0x9e3779b97f4a7c15;
  seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9;
  seed = (seed ^ (seed >> 27)) * 0x94d049bb133111eb;
  return seed ^ (seed >> 31);
}

// A schedule hook: each stage of each index sleeps for a time that follows from the seed; most not
// at all.
inline void random_delays(void* seed, int stage, std::size_t index) {
  const std::uint64_t number = mixed(*static_cast<std::uint64_t*>(seed) * 1000003 + index * 2 +
                                     static_cast<unsigned>(stage));
  if (number % 4 == 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(number / 4 % 200));
  } else if (number % 4 == 1) {
    std::this_thread::yield();
  }
}

}  // namespace btfloom::test
