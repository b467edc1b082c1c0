#include "jobs/callback_slots.h"

#include <optional>

namespace btfloom {
namespace {

class CallbackSlots final : public SlotSource {
 public:
  CallbackSlots(const SlotCallbacks& callbacks, unsigned most)
      : callbacks_(callbacks), most_(most) {}

  [[nodiscard]] unsigned max_workers() const override { return most_; }

  std::optional<Slot> try_acquire() override {
    const int token = callbacks_.try_acquire(callbacks_.user);
    return token >= 0 ? std::optional<Slot>(std::in_place, *this, token) : std::nullopt;
  }

 private:
  void give_back(int token) override { callbacks_.release(callbacks_.user, token); }

  const SlotCallbacks callbacks_;
  const unsigned most_;
};

}  // namespace

std::unique_ptr<SlotSource> callback_slots(const SlotCallbacks& callbacks, unsigned most) {
  if (most <= 1 || callbacks.try_acquire == nullptr || callbacks.release == nullptr) {
    return fixed_slots(1);
  }
  return std::make_unique<CallbackSlots>(callbacks, most);
}

}  // namespace btfloom
