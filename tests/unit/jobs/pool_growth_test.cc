// in_order() while slots come and go: job servers with late tokens, lost servers, callbacks.
#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "jobs/callback_slots.h"
#include "jobs/jobserver.h"
#include "jobs/pool.h"
#include "tests/unit/jobs/fake_slots.h"

namespace btfloom {
namespace {

using test::comes_true;
using test::CountingSlots;
using test::Pipe;

Error failure(const std::string& text) {
  return {ErrorKind::kInput, text, {}, {}, {}};
}

std::unique_ptr<SlotSource> connect(const Pipe& pipe, unsigned most) {
  JobserverConfig config;
  config.kind = JobserverConfig::Kind::kPipe;
  config.read_descriptor = pipe.reading();
  config.write_descriptor = pipe.writing();
  return std::move(open_jobserver(config, most).value());
}

const auto nothing = [](std::size_t) -> Result<> { return {}; };

TEST_CASE("A token that comes late starts a worker while the others are busy", "[unit][jobs]") {
  const Pipe pipe;
  CountingSlots slots(connect(pipe, 8));
  std::atomic<bool> second_ran{false};
  unsigned peak = 0;
  // Index 0 ends only when index 1 has run, which needs the token that index 0 puts there.
  const Result<> result = in_order(
      slots, {.count = 2, .window = 2, .peak_workers = &peak},
      [&](std::size_t i, unsigned worker) -> Result<> {
        if (i == 1) {
          second_ran = true;
          return worker == 1 ? Result<>() : failure("on the calling thread");
        }
        pipe.put("x");
        return comes_true([&] { return second_ran.load(); }) ? Result<>() : failure("nobody came");
      },
      nothing);
  CHECK(result.ok());
  CHECK(peak == 2);
  CHECK(pipe.take_all() == "x");
}

TEST_CASE("Without a token the calling thread does everything", "[unit][jobs]") {
  const Pipe pipe;
  CountingSlots slots(connect(pipe, 8));
  std::set<std::thread::id> threads;
  unsigned peak = 0;
  const Result<> result = in_order(
      slots, {.count = 100, .window = 8, .peak_workers = &peak},
      [&](std::size_t, unsigned) -> Result<> {
        threads.insert(std::this_thread::get_id());
        return {};
      },
      nothing);
  CHECK(result.ok());
  CHECK(threads == std::set<std::thread::id>{std::this_thread::get_id()});
  CHECK(peak == 1);
}

TEST_CASE("Workers that find the window full hold no token", "[unit][jobs]") {
  const Pipe pipe;
  pipe.put("ab");
  CountingSlots slots(connect(pipe, 8));
  std::atomic<std::size_t> produced{0};
  // Index 0 takes as long as it takes the others to fill the window and to give back what they
  // held.
  const Result<> result = in_order(
      slots, {.count = 40, .window = 6},
      [&](std::size_t i, unsigned worker) -> Result<> {
        const unsigned own = worker == 0 ? 0 : 1;  // whoever has index 0 keeps his slot
        if (i == 0 && !comes_true([&] { return produced == 5 && slots.held() == own; })) {
          return failure("a token is held");
        }
        ++produced;
        return {};
      },
      nothing);
  CHECK(result.ok());
  CHECK(produced == 40);
  CHECK(slots.held() == 0);
  CHECK(pipe.take_all() == "ab");
}

TEST_CASE("Workers come back when the window is no longer full", "[unit][jobs]") {
  const bool job_server = GENERATE(true, false);
  const Pipe pipe;
  pipe.put("a");
  CountingSlots slots(job_server ? connect(pipe, 2) : fixed_slots(2));
  std::atomic<std::size_t> produced{0};
  std::atomic<std::size_t> inside{0};
  const Result<> result = in_order(
      slots, {.count = 20, .window = 4},
      [&](std::size_t i, unsigned worker) -> Result<> {
        const unsigned own = worker == 0 ? 0 : 1;
        if (i == 0 && !comes_true([&] { return produced == 3 && slots.held() == own; })) {
          return failure("a slot is held");
        }
        // 10 and 11 meet: ends only if the second worker came back.
        if (i == 10 || i == 11) {
          ++inside;
          if (!comes_true([&] { return inside == 2; })) {
            return failure("nobody came back");
          }
        }
        ++produced;
        return {};
      },
      nothing);
  CHECK(result.ok());
}

TEST_CASE("Tokens go back when there is nothing left to start, not when all is done",
          "[unit][jobs]") {
  const Pipe pipe;
  pipe.put("abc");
  CountingSlots slots(connect(pipe, 8));
  // The last index to end waits for it.
  const Result<> result = in_order(
      slots, {.count = 8, .window = 8},
      [&](std::size_t i, unsigned worker) -> Result<> {
        return i != 7 || comes_true([&] { return slots.held() == (worker == 0 ? 0 : 1); })
                   ? Result<>()
                   : failure("tokens are held");
      },
      nothing);
  CHECK(result.ok());
  CHECK(pipe.take_all() == "abc");
}

TEST_CASE("All tokens are back after errors, exceptions and cancelling", "[unit][jobs]") {
  const int end = GENERATE(0, 1, 2, 3);
  const Pipe pipe;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    pipe.put("abcdefg");
    {
      CountingSlots slots(connect(pipe, 16));
      std::atomic<bool> cancel{false};
      const Result<> result = in_order(
          slots,
          {.count = 50,
           .window = 12,
           .cancel = &cancel,
           .hook = test::random_delays,
           .hook_context = &seed},
          [&](std::size_t i, unsigned) -> Result<> {
            if (i == 25 && end == 1) {
              return failure("bad");
            }
            if (i == 25 && end == 2) {
              throw i;
            }
            if (i == 25 && end == 3) {
              cancel = true;
            }
            return {};
          },
          nothing);
      CHECK(result.ok() == (end == 0));
      CHECK(slots.held() == 0);
      CHECK(!slots.overlapped());
    }
    REQUIRE(pipe.take_all() == "abcdefg");
  }
}

TEST_CASE("No more threads run than slots are held while tokens come and go", "[unit][jobs]") {
  const Pipe pipe;
  CountingSlots slots(connect(pipe, 64));
  std::atomic<bool> stop{false};
  // The rest of the build: takes tokens out and puts them back.
  std::thread build([&] {
    std::string mine = "0123456789";
    for (std::uint64_t step = 0; !stop; ++step) {
      if (test::mixed(step) % 2 == 0 && !mine.empty()) {
        pipe.put(mine.substr(0, 1));
        mine.erase(0, 1);
      } else {
        pollfd source{pipe.reading(), POLLIN, 0};
        char byte = 0;
        // Without blocking for good: our client may have been faster.
        const int flags = ::fcntl(pipe.reading(), F_GETFL);
        ::fcntl(pipe.reading(), F_SETFL, flags | O_NONBLOCK);
        if (::poll(&source, 1, 0) == 1 && ::read(pipe.reading(), &byte, 1) == 1) {
          mine += byte;
        }
      }
      std::this_thread::sleep_for(std::chrono::microseconds(test::mixed(step) % 100));
    }
    pipe.put(mine);
  });
  bool good = true;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const auto check = [&] {
      slots.begin_running();
      std::this_thread::yield();
      slots.end_running();
    };
    std::size_t next = 0;
    const Result<> result = in_order(
        slots, {.count = 100, .window = 20, .hook = test::random_delays, .hook_context = &seed},
        [&](std::size_t, unsigned) -> Result<> {
          check();
          return {};
        },
        [&](std::size_t i) -> Result<> {
          check();
          return i == next++ ? Result<>() : failure("out of order");
        });
    good = good && result.ok() && next == 100 && slots.held() == 0;
  }
  stop = true;
  build.join();
  CHECK(good);
  CHECK(!slots.exceeded());
  CHECK(!slots.overlapped());
  CHECK(pipe.take_all() == "0123456789");
}

// A source whose descriptor says "ready" or "closed" and whose tries fail.
class Disappointment final : public SlotSource {
 public:
  explicit Disappointment(int descriptor) : descriptor_(descriptor) {}
  [[nodiscard]] unsigned max_workers() const override { return 4; }
  [[nodiscard]] int poll_descriptor() const override { return descriptor_; }
  std::optional<Slot> try_acquire() override {
    ++tries;
    return std::nullopt;
  }
  std::atomic<unsigned> tries{0};

 private:
  void give_back(int /*token*/) override {}
  int descriptor_;
};

TEST_CASE("A server that is gone is asked once and the work goes on alone", "[unit][jobs]") {
  Pipe pipe;
  pipe.close_writing();
  Disappointment slots(pipe.reading());
  const Result<> result = in_order(
      slots, {.count = 20, .window = 8},
      [&](std::size_t i, unsigned) -> Result<> {
        // Long enough for a broker that spins to try thousands of times.
        if (i == 0 && !comes_true([&] { return slots.tries > 0; })) {
          return failure("never asked");
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        return {};
      },
      nothing);
  CHECK(result.ok());
  CHECK(slots.tries == 1);
}

TEST_CASE("A descriptor that is closed under us does not stop the work", "[unit][jobs]") {
  Disappointment slots(1000000);  // POLLNVAL
  CHECK(in_order(
            slots, {.count = 20, .window = 8}, [](std::size_t, unsigned) -> Result<> { return {}; },
            nothing)
            .ok());
  CHECK(slots.tries <= 1);
}

TEST_CASE("Callbacks are asked again between indices, so a slot that frees later is used",
          "[unit][jobs]") {
  struct Lender {
    std::atomic<int> free{0};
    std::atomic<int> out{0};
  } lender;
  SlotCallbacks callbacks;
  callbacks.user = &lender;
  callbacks.try_acquire = [](void* user) {
    auto* self = static_cast<Lender*>(user);
    if (self->free == 0) {
      return -1;
    }
    ++self->out;
    return --self->free;
  };
  callbacks.release = [](void* user, int) {
    auto* self = static_cast<Lender*>(user);
    --self->out;
    ++self->free;
  };
  const auto slots = callback_slots(callbacks, 3);
  std::atomic<unsigned> inside{0};
  const Result<> result = in_order(
      *slots, {.count = 12, .window = 12},
      [&](std::size_t i, unsigned) -> Result<> {
        if (i == 3) {
          lender.free = 2;
        }
        if (i >= 4 && i <= 6) {  // three meet
          ++inside;
          return comes_true([&] { return inside == 3; }) ? Result<>() : failure("alone");
        }
        return {};
      },
      nothing);
  CHECK(result.ok());
  CHECK(lender.out == 0);
  CHECK(lender.free == 2);
}

TEST_CASE("Two runs at once share one job server and lose nothing", "[unit][jobs]") {
  const Pipe pipe;
  pipe.put("abcde");
  const auto run = [&pipe](bool& good) {
    const auto slots = connect(pipe, 8);
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      good = good &&
             in_order(
                 *slots,
                 {.count = 40, .window = 10, .hook = test::random_delays, .hook_context = &seed},
                 [](std::size_t, unsigned) -> Result<> { return {}; }, nothing)
                 .ok();
    }
  };
  bool first = true;
  bool second = true;
  std::thread other(run, std::ref(first));
  run(second);
  other.join();
  CHECK(first);
  CHECK(second);
  CHECK(pipe.take_all() == "abcde");
}

}  // namespace
}  // namespace btfloom
