#include "jobs/slot.h"

#include <atomic>
#include <utility>

namespace btfloom {

Slot& Slot::operator=(Slot&& other) noexcept {
  if (this != &other) {
    release();
    source_ = std::exchange(other.source_, nullptr);
    token_ = other.token_;
  }
  return *this;
}

void Slot::release() {
  if (SlotSource* source = std::exchange(source_, nullptr)) {
    source->give_back(token_);
  }
}

namespace {

class FixedSlots final : public SlotSource {
 public:
  explicit FixedSlots(unsigned count) : count_(count), free_(count - 1) {}

  [[nodiscard]] unsigned max_workers() const override { return count_; }

  std::optional<Slot> try_acquire() override {
    // relaxed, here and below: the number is all there is, no data is handed over through it.
    unsigned free = free_.load(std::memory_order_relaxed);
    while (free > 0) {
      if (free_.compare_exchange_weak(free, free - 1, std::memory_order_relaxed)) {
        return Slot(*this, 0);
      }
    }
    return std::nullopt;
  }

 private:
  void give_back(int /*token*/) override { free_.fetch_add(1, std::memory_order_relaxed); }

  const unsigned count_;
  std::atomic<unsigned> free_;
};

}  // namespace

std::unique_ptr<SlotSource> fixed_slots(unsigned count) {
  return std::make_unique<FixedSlots>(count > 0 ? count : 1);
}

}  // namespace btfloom
