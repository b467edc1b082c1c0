// Slots: the right to run one thread. The process always owns one, the implicit slot, which is
// never acquired or given back.
//
// A SlotSource says how many threads may run at most (`max_workers`, the implicit one included) and
// lends the extra ones. Thread-safe: in_order() calls try_acquire/release from one broker at a time
// but possibly different threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

namespace btfloom {

class SlotSource;

// RAII: gives itself back to its source. Move-only. Assigning over a held slot releases the old
// one.
class Slot {
 public:
  Slot() = default;
  Slot(SlotSource& source, int token) : source_(&source), token_(token) {}
  Slot(Slot&& other) noexcept : source_(other.source_), token_(other.token_) {
    other.source_ = nullptr;
  }
  Slot& operator=(Slot&& other) noexcept;
  Slot(const Slot&) = delete;
  ~Slot() { release(); }
  void release();
  [[nodiscard]] bool held() const { return source_ != nullptr; }

 private:
  SlotSource* source_ = nullptr;
  int token_ = 0;
};

class SlotSource {
 public:
  virtual ~SlotSource() = default;
  // Upper bound on threads, the implicit slot included; >= 1, constant.
  [[nodiscard]] virtual unsigned max_workers() const = 0;
  // A further slot if one is free now; never blocks.
  virtual std::optional<Slot> try_acquire() = 0;
  // A descriptor that polls readable when try_acquire() is worth a try, or -1: all slots are free
  // from the start (a fixed number) or only trying tells (callbacks).
  [[nodiscard]] virtual int poll_descriptor() const { return -1; }

 private:
  friend class Slot;
  virtual void give_back(int token) = 0;
};

// N threads at once, nobody to ask: -jN.
std::unique_ptr<SlotSource> fixed_slots(unsigned count);

}  // namespace btfloom
