// in_order() with fixed slots: order, window, errors, cancelling, exceptions. Growth and shrinkage:
// pool_growth_test.cc.
#include "jobs/pool.h"

#include <atomic>
#include <cstdint>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/unit/jobs/fake_slots.h"

namespace btfloom {
namespace {

using test::CountingSlots;

Error failure(const std::string& text) {
  return {ErrorKind::kInput, text, {}, {}, {}};
}

// Runs in_order() and watches everything that it promises. Fails at `bad_produce` and
// `bad_consume`.
struct Watched {
  std::size_t count = 50;
  std::size_t window = 8;
  unsigned jobs = 4;
  std::uint64_t seed = 0;
  std::set<std::size_t> bad_produce;
  std::set<std::size_t> bad_consume;
  const std::atomic<bool>* cancel = nullptr;

  // What came out. Plain where in_order() promises an order, so that TSan checks the promise.
  std::vector<std::size_t> consumed;
  std::vector<int> produced;
  unsigned peak = 0;
  unsigned tries = 0;
  bool broken = false;

  Result<> run() {
    CountingSlots slots(fixed_slots(jobs));
    consumed.clear();
    produced.assign(count, 0);
    std::vector<std::size_t> cells(window);
    std::vector<int> scratch(jobs);
    std::atomic<std::size_t> started{0};
    std::atomic<std::size_t> done{0};
    std::atomic<bool> wrong{false};
    InOrderOptions options;
    options.count = count;
    options.window = window;
    options.cancel = cancel;
    options.hook = test::random_delays;
    options.hook_context = &seed;
    options.peak_workers = &peak;
    Result<> result = in_order(
        slots, options,
        [&](std::size_t i, unsigned worker) -> Result<> {
          slots.begin_running();
          if (worker >= jobs) {
            wrong = true;
          }
          const std::size_t nth = ++started;
          if (nth > done + window) {
            wrong = true;
          }
          ++scratch[worker];
          ++produced[i];
          cells[i % window] = i;
          slots.end_running();
          if (bad_produce.count(i) != 0) {
            return failure("produce " + std::to_string(i));
          }
          return {};
        },
        [&](std::size_t i) -> Result<> {
          slots.begin_running();
          if (cells[i % window] != i) {
            wrong = true;
          }
          consumed.push_back(i);
          ++done;
          slots.end_running();
          if (bad_consume.count(i) != 0) {
            return failure("consume " + std::to_string(i));
          }
          return {};
        });
    broken = wrong || slots.overlapped() || slots.held() != 0 || slots.exceeded();
    tries = slots.tries();
    return result;
  }

  [[nodiscard]] bool consumed_exactly(std::size_t number) const {
    for (std::size_t i = 0; i < consumed.size(); ++i) {
      if (consumed[i] != i) {
        return false;
      }
    }
    return consumed.size() == number;
  }
};

TEST_CASE("Every index is produced once and consumed once, in order, inside the window",
          "[unit][jobs]") {
  Watched run;
  run.jobs = GENERATE(1U, 2U, 3U, 8U, 64U);
  run.window = GENERATE(1U, 2U, 7U, 32U, 1000U);
  run.count = GENERATE(0U, 1U, 2U, 33U, 100U);
  for (run.seed = 0; run.seed < 3; ++run.seed) {
    REQUIRE(run.run().ok());
    CHECK(!run.broken);
    CHECK(run.consumed_exactly(run.count));
    CHECK(run.produced == std::vector<int>(run.count, 1));
    CHECK(run.peak >= 1);
    CHECK(run.peak <=
          std::max<std::size_t>(1, std::min({std::size_t{run.jobs}, run.window, run.count})));
  }
}

TEST_CASE("Three hundred runs with 64 workers keep every promise", "[unit][jobs]") {
  Watched run;
  run.jobs = 64;
  run.count = 200;
  for (run.seed = 0; run.seed < 300; ++run.seed) {
    run.window = 1 + test::mixed(run.seed) % 90;
    REQUIRE(run.run().ok());
    REQUIRE(!run.broken);
    REQUIRE(run.consumed_exactly(run.count));
    REQUIRE(run.produced == std::vector<int>(run.count, 1));
  }
}

TEST_CASE("One index, one slot or a window of one starts no thread and asks for no slot",
          "[unit][jobs]") {
  Watched run;
  SECTION("one index") {
    run.count = 1;
  }
  SECTION("one slot") {
    run.jobs = 1;
  }
  SECTION("a window of one") {
    run.window = 1;
  }
  REQUIRE(run.run().ok());
  CHECK(run.peak == 1);
  CHECK(run.tries == 0);
  CHECK(run.consumed_exactly(run.count));
}

TEST_CASE("Fixed slots are used in full", "[unit][jobs]") {
  // Every produce waits until four of them are inside at once: ends only if there are four workers.
  const auto slots = fixed_slots(4);
  std::atomic<unsigned> inside{0};
  unsigned peak = 0;
  const Result<> result = in_order(
      *slots, {.count = 4, .window = 4, .peak_workers = &peak},
      [&](std::size_t, unsigned) -> Result<> {
        ++inside;
        return test::comes_true([&] { return inside == 4; }) ? Result<>() : failure("alone");
      },
      [](std::size_t) -> Result<> { return {}; });
  CHECK(result.ok());
  CHECK(peak == 4);
}

TEST_CASE("An error at any index of either stage ends the run with exactly that error",
          "[unit][jobs]") {
  Watched run;
  run.jobs = GENERATE(1U, 2U, 5U, 64U);
  run.window = GENERATE(1U, 3U, 16U);
  run.count = 12;
  for (std::size_t bad = 0; bad < run.count; ++bad) {
    for (run.seed = 0; run.seed < 5; ++run.seed) {
      run.bad_produce = {bad};
      run.bad_consume.clear();
      Result<> result = run.run();
      REQUIRE(!result.ok());
      CHECK(result.error().text == "produce " + std::to_string(bad));
      CHECK(run.consumed_exactly(bad));
      CHECK(!run.broken);

      run.bad_produce.clear();
      run.bad_consume = {bad};
      result = run.run();
      REQUIRE(!result.ok());
      CHECK(result.error().text == "consume " + std::to_string(bad));
      CHECK(run.consumed_exactly(bad + 1));
      CHECK(!run.broken);
    }
  }
}

TEST_CASE("Of many errors the one at the lowest index is returned, whatever the timing",
          "[unit][jobs]") {
  Watched run;
  run.jobs = GENERATE(2U, 7U, 64U);
  run.window = 16;
  run.count = 60;
  for (run.seed = 0; run.seed < 100; ++run.seed) {
    run.bad_produce.clear();
    run.bad_consume.clear();
    for (std::uint64_t i = 0; i < 6; ++i) {
      run.bad_produce.insert(test::mixed(run.seed * 64 + i) % run.count);
      run.bad_consume.insert(test::mixed(run.seed * 64 + 32 + i) % run.count);
    }
    const std::size_t produce = *run.bad_produce.begin();
    const std::size_t consume = *run.bad_consume.begin();
    const Result<> result = run.run();
    REQUIRE(!result.ok());
    // The same index: produce comes first.
    REQUIRE(result.error().text == (produce <= consume ? "produce " + std::to_string(produce)
                                                       : "consume " + std::to_string(consume)));
    REQUIRE(run.consumed_exactly(produce <= consume ? produce : consume + 1));
    REQUIRE(!run.broken);
  }
}

TEST_CASE("After an error no new index is started", "[unit][jobs]") {
  Watched run;
  run.count = 100000;
  run.window = 8;
  run.jobs = 4;
  run.bad_produce = {3};
  REQUIRE(!run.run().ok());
  // Those in the window when 3 failed, at most: 3 was in it, so nothing from 3 + 8 on.
  for (std::size_t i = 11; i < run.count; ++i) {
    if (run.produced[i] != 0) {
      FAIL("index " << i << " was started");
    }
  }
}

TEST_CASE("Exceptions of callbacks become errors of their index", "[unit][jobs]") {
  const auto slots = fixed_slots(GENERATE(1U, 4U));
  const int stage = GENERATE(0, 1);
  const int what = GENERATE(0, 1, 2);
  const auto misbehave = [&](std::size_t i) -> Result<> {
    if (i < 5) {
      return {};
    }
    if (what == 0) {
      throw std::bad_alloc();
    }
    if (what == 1) {
      throw std::runtime_error("five");
    }
    throw 5;
  };
  std::size_t consumed = 0;
  const Result<> result = in_order(
      *slots, {.count = 40, .window = 8},
      [&](std::size_t i, unsigned) -> Result<> { return stage == 0 ? misbehave(i) : Result<>(); },
      [&](std::size_t i) -> Result<> {
        if (stage == 1) {
          TRY(misbehave(i));
        }
        ++consumed;
        return {};
      });
  REQUIRE(!result.ok());
  CHECK(result.error().kind == ErrorKind::kResource);
  CHECK(result.error().text == (what == 0   ? "out of memory"
                                : what == 1 ? "unexpected exception: five"
                                            : "unexpected exception"));
  CHECK(consumed == 5);
}

TEST_CASE("A run that was cancelled before it begins does nothing", "[unit][jobs]") {
  const std::atomic<bool> cancel{true};
  Watched run;
  run.jobs = GENERATE(1U, 4U);
  run.cancel = &cancel;
  const Result<> result = run.run();
  REQUIRE(!result.ok());
  CHECK(result.error().kind == ErrorKind::kCancelled);
  CHECK(run.consumed.empty());
  CHECK(run.produced == std::vector<int>(run.count, 0));
}

TEST_CASE("A run that is cancelled in the middle stops soon", "[unit][jobs]") {
  const auto slots = fixed_slots(GENERATE(1U, 2U, 8U));
  const int stage = GENERATE(0, 1);
  std::atomic<bool> cancel{false};
  std::atomic<std::size_t> produced{0};
  const auto at_20 = [&](int here, std::size_t i) {
    if (here == stage && i == 20) {
      cancel = true;
    }
  };
  const Result<> result = in_order(
      *slots, {.count = 1000000, .window = 16, .cancel = &cancel},
      [&](std::size_t i, unsigned) -> Result<> {
        ++produced;
        at_20(0, i);
        return {};
      },
      [&](std::size_t i) -> Result<> {
        at_20(1, i);
        return {};
      });
  REQUIRE(!result.ok());
  CHECK(result.error().kind == ErrorKind::kCancelled);
  // The window from 20 on, and one index for each worker that looked at the flag just before.
  CHECK(produced <= 21 + 16 + 8);
}

TEST_CASE("Cancelling from another thread stops the run", "[unit][jobs]") {
  const auto slots = fixed_slots(3);
  std::atomic<bool> cancel{false};
  std::atomic<bool> begun{false};
  std::thread other([&] {
    test::comes_true([&] { return begun.load(); });
    cancel = true;
  });
  const Result<> result = in_order(
      *slots, {.count = ~std::size_t{0}, .window = 8, .cancel = &cancel},
      [&](std::size_t, unsigned) -> Result<> {
        begun = true;
        return {};
      },
      [](std::size_t) -> Result<> { return {}; });
  other.join();
  REQUIRE(!result.ok());
  CHECK(result.error().kind == ErrorKind::kCancelled);
}

TEST_CASE("Workers without order run every index once and return the lowest error",
          "[unit][jobs]") {
  const auto slots = fixed_slots(GENERATE(1U, 2U, 16U));
  std::vector<int> runs(1000);
  REQUIRE(for_each_parallel(*slots, runs.size(), nullptr, [&](std::size_t i, unsigned) -> Result<> {
            ++runs[i];
            return {};
          }).ok());
  CHECK(runs == std::vector<int>(1000, 1));
  const Result<> result =
      for_each_parallel(*slots, 1000, nullptr, [&](std::size_t i, unsigned) -> Result<> {
        return i % 100 == 77 ? Result<>(failure(std::to_string(i))) : Result<>();
      });
  REQUIRE(!result.ok());
  CHECK(result.error().text == "77");
  CHECK(for_each_parallel(*slots, 0, nullptr, [](std::size_t, unsigned) -> Result<> {
          return failure("called");
        }).ok());
}

}  // namespace
}  // namespace btfloom
