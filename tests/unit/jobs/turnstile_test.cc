#include "jobs/turnstile.h"

#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/unit/jobs/fake_slots.h"

namespace btfloom {
namespace {

using Entry = Turnstile::Entry;

Error failure(const std::string& text) {
  return {ErrorKind::kInput, text, {}, {}, {}};
}

TEST_CASE("The baton falls to whoever makes the next index in order ready", "[unit][jobs]") {
  Turnstile turnstile(4, 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(turnstile.admit().index == i);
  }
  CHECK(turnstile.admit().entry == Entry::kOver);
  turnstile.arrive(1);
  CHECK(!turnstile.take_baton());
  turnstile.arrive(0);
  CHECK(turnstile.take_baton() == std::size_t{0});
  turnstile.arrive(2);
  CHECK(!turnstile.take_baton());  // somebody has it, and will come to 2
  CHECK(turnstile.pass(0) == std::size_t{1});
  CHECK(turnstile.pass(1) == std::size_t{2});
  CHECK(!turnstile.pass(2));
  turnstile.arrive(3);
  CHECK(turnstile.take_baton() == std::size_t{3});
  CHECK(!turnstile.pass(3));
  CHECK(std::move(turnstile).result().ok());
}

TEST_CASE("A full window admits nobody until its lowest index is consumed", "[unit][jobs]") {
  Turnstile turnstile(100, 2);
  CHECK(turnstile.admit().entry == Entry::kIndex);
  CHECK(turnstile.wants(0));
  CHECK(!turnstile.wants(1));
  CHECK(turnstile.admit().entry == Entry::kIndex);
  CHECK(turnstile.admit().entry == Entry::kFull);
  CHECK(!turnstile.has_eased());
  turnstile.arrive(1);
  CHECK(turnstile.admit().entry == Entry::kFull);
  turnstile.arrive(0);
  CHECK(turnstile.admit().entry == Entry::kFull);  // ready is not consumed
  CHECK(turnstile.take_baton() == std::size_t{0});
  CHECK(turnstile.pass(0) == std::size_t{1});
  CHECK(turnstile.has_eased());
  CHECK(turnstile.admit().index == 2);
}

TEST_CASE("After a full window, workers are wanted again when a quarter of it is free",
          "[unit][jobs]") {
  Turnstile turnstile(100, 8);
  for (std::size_t i = 0; i < 8; ++i) {
    turnstile.admit();
    turnstile.arrive(i);
  }
  CHECK(turnstile.admit().entry == Entry::kFull);
  CHECK(turnstile.take_baton() == std::size_t{0});
  CHECK(turnstile.pass(0) == std::size_t{1});
  CHECK(!turnstile.wants(0));
  CHECK(turnstile.pass(1) == std::size_t{2});
  CHECK(turnstile.wants(0));
  CHECK(turnstile.wants(1));
  CHECK(!turnstile.wants(2));
}

TEST_CASE("The lowest error counts, whichever is reported first", "[unit][jobs]") {
  const bool low_first = GENERATE(true, false);
  Turnstile turnstile(10, 10);
  for (int i = 0; i < 6; ++i) {
    turnstile.admit();
  }
  turnstile.fail(low_first ? 2 : 4, failure(low_first ? "two" : "four"));
  CHECK(turnstile.admit().entry == Entry::kOver);
  turnstile.fail(low_first ? 4 : 2, failure(low_first ? "four" : "two"));
  turnstile.arrive(3);
  turnstile.arrive(5);
  turnstile.arrive(0);
  CHECK(turnstile.take_baton() == std::size_t{0});
  CHECK(!turnstile.pass(0));
  turnstile.arrive(1);
  CHECK(turnstile.take_baton() == std::size_t{1});
  CHECK(!turnstile.pass(1));  // 2 failed: nothing from there on is consumed
  CHECK(std::move(turnstile).result().error().text == "two");
}

TEST_CASE("An error of consume beats that of a later produce", "[unit][jobs]") {
  Turnstile turnstile(10, 10);
  for (int i = 0; i < 3; ++i) {
    turnstile.admit();
  }
  turnstile.fail(2, failure("produce two"));
  turnstile.arrive(1);
  turnstile.arrive(0);
  CHECK(turnstile.take_baton() == std::size_t{0});
  turnstile.fail_consume(0, failure("consume nought"));
  CHECK(!turnstile.take_baton());
  CHECK(std::move(turnstile).result().error().text == "consume nought");
}

TEST_CASE("Cancelling stops admission and consumption, but does not undo a finished line",
          "[unit][jobs]") {
  Turnstile turnstile(2, 2);
  turnstile.admit();
  turnstile.arrive(0);
  SECTION("before the end") {
    turnstile.cancel();
    CHECK(turnstile.admit().entry == Entry::kOver);
    CHECK(!turnstile.take_baton());
    CHECK(std::move(turnstile).result().error().kind == ErrorKind::kCancelled);
  }
  SECTION("after the end") {
    turnstile.admit();
    turnstile.arrive(1);
    CHECK(turnstile.take_baton() == std::size_t{0});
    CHECK(turnstile.pass(0) == std::size_t{1});
    CHECK(!turnstile.pass(1));
    turnstile.cancel();
    CHECK(std::move(turnstile).result().ok());
  }
}

TEST_CASE("Whatever the order of arrival, the line is complete and ordered", "[unit][jobs]") {
  // No threads: a random walk over the steps that workers could take, with several in flight.
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const std::size_t count = 1 + test::mixed(seed) % 20;
    const std::size_t window = 1 + test::mixed(seed + 1000) % 6;
    Turnstile turnstile(count, window);
    std::vector<std::size_t> producing;
    std::vector<std::size_t> consumed;
    std::optional<std::size_t> baton;
    std::uint64_t step = 0;
    while (consumed.size() < count && step < 10000) {
      const std::uint64_t dice = test::mixed(seed * 10007 + step++);
      if (dice % 3 == 0) {
        const auto [entry, index] = turnstile.admit();
        if (entry == Entry::kIndex) {
          producing.push_back(index);
          if (index >= consumed.size() + window) {
            FAIL("index " << index << " was admitted beyond the window");
          }
        }
      } else if (dice % 3 == 1 && !producing.empty()) {
        const std::size_t chosen = dice / 3 % producing.size();
        turnstile.arrive(producing[chosen]);
        producing.erase(producing.begin() + static_cast<std::ptrdiff_t>(chosen));
        if (const auto taken = turnstile.take_baton()) {
          REQUIRE(!baton);
          baton = taken;
        }
      } else if (dice % 3 == 2 && baton) {
        REQUIRE(*baton == consumed.size());
        consumed.push_back(*baton);
        baton = turnstile.pass(*baton);
      }
    }
    REQUIRE(consumed.size() == count);
    REQUIRE(std::move(turnstile).result().ok());
  }
}

}  // namespace
}  // namespace btfloom
