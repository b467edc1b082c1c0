// Each test ends a child process, by a signal, in the middle of work with tokens.
#include "jobs/on_death.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "jobs/jobserver.h"
#include "jobs/pool.h"
#include "tests/unit/jobs/fake_slots.h"

namespace btfloom {
namespace {

using test::Pipe;

std::unique_ptr<SlotSource> connect(const Pipe& pipe) {
  return std::move(
      open_jobserver(parse_makeflags(" --jobserver-auth=" + std::to_string(pipe.reading()) + "," +
                                     std::to_string(pipe.writing())),
                     16)
          .value());
}

// Runs `body` in a child; the way in which the child ended.
template <typename Body>
pid_t start_child(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
      ::signal(number, SIG_DFL);
    }
    body();
    ::_exit(77);
  }
  return child;
}

int end_of(pid_t child) {
  int status = 0;
  return ::waitpid(child, &status, 0) == child ? status : -1;
}

TEST_CASE("A signal gives the tokens back and ends the process by that signal", "[unit][jobs]") {
  const int number = GENERATE(SIGINT, SIGTERM, SIGHUP, SIGQUIT);
  const Pipe pipe;
  pipe.put("abc");
  const int status = end_of(start_child([&] {
    const OnDeath on_death;
    const auto source = connect(pipe);
    std::vector<Slot> held;
    while (std::optional<Slot> slot = source->try_acquire()) {
      held.push_back(*std::move(slot));
    }
    held.pop_back();  // one went back in the normal way, and must not do so twice
    ::raise(number);
  }));
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == number);
  CHECK(pipe.take_all() == "abc");
}

TEST_CASE("Signals in the middle of a run lose no token, whenever they come", "[unit][jobs]") {
  const Pipe pipe;
  const Pipe begun;
  pipe.put("abcdefg");
  for (unsigned delay = 0; delay < 60; ++delay) {
    const pid_t child = start_child([&] {
      const OnDeath on_death;
      const auto source = connect(pipe);
      begun.put("b");
      // Runs of a few microseconds: tokens are in motion nearly all the time.
      while (true) {
        static_cast<void>(in_order(
            *source, {.count = 64, .window = 16},
            [](std::size_t, unsigned) -> Result<> { return {}; },
            [](std::size_t) -> Result<> { return {}; }));
      }
    });
    char byte = 0;
    REQUIRE(::read(begun.reading(), &byte, 1) == 1);
    std::this_thread::sleep_for(std::chrono::microseconds(delay * 37));
    ::kill(child, SIGTERM);
    const int status = end_of(child);
    REQUIRE(WIFSIGNALED(status));
    REQUIRE(WTERMSIG(status) == SIGTERM);
    const std::string back = pipe.take_all();
    REQUIRE(back == "abcdefg");
    pipe.put(back);
  }
}

TEST_CASE("A signal that was ignored stays ignored", "[unit][jobs]") {
  const int status = end_of(start_child([] {
    ::signal(SIGHUP, SIG_IGN);
    const OnDeath on_death;
    ::raise(SIGHUP);
  }));
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 77);
}

TEST_CASE("The handlers that were there before are there again afterwards", "[unit][jobs]") {
  struct sigaction before = {};
  struct sigaction inside = {};
  struct sigaction after = {};
  ::sigaction(SIGTERM, nullptr, &before);
  {
    const OnDeath on_death;
    ::sigaction(SIGTERM, nullptr, &inside);
  }
  ::sigaction(SIGTERM, nullptr, &after);
  CHECK(inside.sa_handler != before.sa_handler);
  CHECK(after.sa_handler == before.sa_handler);
}

TEST_CASE("A forked child gives back nothing that its parent holds", "[unit][jobs]") {
  const Pipe pipe;
  pipe.put("ab");
  const auto source = connect(pipe);
  std::optional<Slot> slot = source->try_acquire();
  REQUIRE(slot.has_value());
  const int status = end_of(start_child([] {
    const OnDeath on_death;
    ::raise(SIGTERM);
  }));
  CHECK(WIFSIGNALED(status));
  CHECK(pipe.take_all() == "b");
  slot.reset();
  CHECK(pipe.take_all() == "a");
}

TEST_CASE("After all tokens went back none is taken any more", "[unit][jobs]") {
  const Pipe pipe;
  pipe.put("ab");
  const int status = end_of(start_child([&] {
    const auto source = connect(pipe);
    std::optional<Slot> slot = source->try_acquire();
    give_back_all_tokens();
    const bool none = !source->try_acquire().has_value();
    slot.reset();  // its token is back already
    ::_exit(none ? 0 : 1);
  }));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(pipe.take_all() == "ab");
}

}  // namespace
}  // namespace btfloom
