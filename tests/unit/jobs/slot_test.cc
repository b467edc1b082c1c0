#include "jobs/slot.h"

#include <type_traits>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "jobs/callback_slots.h"

namespace btfloom {
namespace {

static_assert(!std::is_copy_constructible_v<Slot>);
static_assert(!std::is_copy_assignable_v<Slot>);
static_assert(std::is_nothrow_move_constructible_v<Slot>);

// Lends 0, 1, 2, ... and writes down what comes back.
struct Ledger {
  int next = 0;
  int most = 1000;
  std::vector<int> returned;

  SlotCallbacks callbacks() {
    SlotCallbacks result;
    result.user = this;
    result.try_acquire = [](void* user) {
      auto* ledger = static_cast<Ledger*>(user);
      return ledger->next < ledger->most ? ledger->next++ : -1;
    };
    result.release = [](void* user, int token) {
      static_cast<Ledger*>(user)->returned.push_back(token);
    };
    return result;
  }
};

TEST_CASE("A slot gives itself back once, when it goes out of scope", "[unit][jobs]") {
  Ledger ledger;
  const auto source = callback_slots(ledger.callbacks(), 8);
  {
    const std::optional<Slot> slot = source->try_acquire();
    REQUIRE(slot.has_value());
    CHECK(slot->held());
    CHECK(ledger.returned.empty());
  }
  CHECK(ledger.returned == std::vector<int>{0});
}

TEST_CASE("Releasing a slot twice gives it back once", "[unit][jobs]") {
  Ledger ledger;
  const auto source = callback_slots(ledger.callbacks(), 8);
  Slot slot = *source->try_acquire();
  slot.release();
  CHECK(!slot.held());
  slot.release();
  CHECK(ledger.returned == std::vector<int>{0});
}

TEST_CASE("Assigning over a held slot loses no token", "[unit][jobs]") {
  Ledger ledger;
  const auto source = callback_slots(ledger.callbacks(), 8);
  {
    Slot first = *source->try_acquire();
    Slot second = *source->try_acquire();
    first = std::move(second);
    CHECK(ledger.returned == std::vector<int>{0});
    Slot& same = first;
    first = std::move(same);
    CHECK(first.held());
    CHECK(ledger.returned == std::vector<int>{0});
  }
  CHECK(ledger.returned == std::vector<int>{0, 1});
}

TEST_CASE("Fixed slots lend one less than their number, because one is implicit", "[unit][jobs]") {
  const auto source = fixed_slots(3);
  CHECK(source->max_workers() == 3);
  CHECK(source->poll_descriptor() == -1);
  std::optional<Slot> first = source->try_acquire();
  const std::optional<Slot> second = source->try_acquire();
  CHECK(first.has_value());
  CHECK(second.has_value());
  CHECK(!source->try_acquire().has_value());
  first.reset();
  CHECK(source->try_acquire().has_value());
}

TEST_CASE("Zero fixed slots are one", "[unit][jobs]") {
  const auto source = fixed_slots(0);
  CHECK(source->max_workers() == 1);
  CHECK(!source->try_acquire().has_value());
}

TEST_CASE("Callback slots hand each token back as it was lent, and stop when none is free",
          "[unit][jobs]") {
  Ledger ledger;
  ledger.most = 2;
  const auto source = callback_slots(ledger.callbacks(), 8);
  CHECK(source->max_workers() == 8);
  std::optional<Slot> first = source->try_acquire();
  std::optional<Slot> second = source->try_acquire();
  CHECK(!source->try_acquire().has_value());
  second.reset();
  first.reset();
  CHECK(ledger.returned == std::vector<int>{1, 0});
}

TEST_CASE("Callbacks that cannot be tried lend nothing", "[unit][jobs]") {
  Ledger ledger;
  SlotCallbacks callbacks = ledger.callbacks();
  const bool no_try = GENERATE(true, false);
  (no_try ? (callbacks.try_acquire = nullptr, void()) : (callbacks.release = nullptr, void()));
  const auto source = callback_slots(callbacks, 8);
  CHECK(source->max_workers() == 1);
  CHECK(!source->try_acquire().has_value());
}

}  // namespace
}  // namespace btfloom
