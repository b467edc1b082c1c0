#include "jobs/choose_slots.h"

#include <algorithm>
#include <string>

#include <catch2/catch.hpp>

#include "jobs/processors.h"
#include "tests/unit/jobs/fake_slots.h"

namespace btfloom {
namespace {

ChosenSlots chosen(const SlotRequest& request) {
  return std::move(choose_slots(request).value());
}

unsigned threads(const SlotRequest& request) {
  return chosen(request).slots->max_workers();
}

TEST_CASE("Without a job server: what was said, else the processors", "[unit][jobs]") {
  CHECK(threads({.jobs = 7}) == 7);
  CHECK(threads({}) == usable_processors());
  CHECK(threads({.jobs_variable = "5"}) == 5);
  CHECK(threads({.jobs = 7, .jobs_variable = "5"}) == 7);
  CHECK(threads({.jobs = 4000000000}) == 1024);
  CHECK(chosen({}).note.empty());
}

TEST_CASE("BTFLOOM_JOBS that is no number is an error that names it", "[unit][jobs]") {
  const std::string text = GENERATE(as<std::string>(), "0", "-1", "two", "2x", " 2", "99999999999");
  const Result<ChosenSlots> result = choose_slots({.jobs_variable = text});
  REQUIRE(!result.ok());
  CHECK(result.error().kind == ErrorKind::kArgument);
  CHECK(result.error().text.find("BTFLOOM_JOBS is '" + text + "'") == 0);
}

TEST_CASE("make -j1 means one thread, unless another number was said", "[unit][jobs]") {
  CHECK(threads({.makeflags = " -j1"}) == 1);
  CHECK(threads({.jobs = 3, .makeflags = " -j1"}) == 3);
  CHECK(threads({.makeflags = " -j1", .mode = JobserverMode::kOff}) == usable_processors());
  CHECK(threads({.makeflags = " -j"}) == usable_processors());
  CHECK(threads({.makeflags = " -j500"}) == usable_processors());
}

TEST_CASE("A job server lends the slots, and -jN caps them", "[unit][jobs]") {
  const test::Pipe pipe;
  const std::string makeflags = " -j500 --jobserver-auth=" + std::to_string(pipe.reading()) + "," +
                                std::to_string(pipe.writing());
  CHECK(threads({.makeflags = makeflags}) == usable_processors());
  CHECK(threads({.jobs = 9, .makeflags = makeflags}) == 9);
  CHECK(threads({.makeflags = makeflags, .jobs_variable = "9"}) == 9);
  CHECK(chosen({.makeflags = makeflags}).slots->poll_descriptor() >= 0);
  CHECK(chosen({.jobs = 9, .makeflags = makeflags}).description ==
        "job server " + std::to_string(pipe.reading()) + "," + std::to_string(pipe.writing()) +
            ", at most 9 threads");
  CHECK(chosen({.makeflags = makeflags, .mode = JobserverMode::kRequire}).note.empty());
  CHECK(chosen({.makeflags = makeflags, .mode = JobserverMode::kOff}).slots->poll_descriptor() ==
        -1);
  CHECK(chosen({.makeflags = "n" + makeflags}).slots->poll_descriptor() == -1);
  CHECK(threads({.makeflags = "n" + makeflags}) == 1);
}

TEST_CASE("A job server that is named but not there leaves one slot, or what was said",
          "[unit][jobs]") {
  const std::string makeflags =
      GENERATE(as<std::string>(), " -j3 --jobserver-auth=1000,1001",
               " -j3 --jobserver-auth=fifo:/nonexistent/fifo", " -j3 --jobserver-auth=-2,-2",
               " -j3 --jobserver-auth=foo");
  INFO(makeflags);
  CHECK(threads({.makeflags = makeflags}) == 1);
  CHECK(threads({.jobs = 6, .makeflags = makeflags}) == 6);
  CHECK(chosen({.makeflags = makeflags}).note.find("cannot be used") != std::string::npos);
  CHECK(chosen({.makeflags = makeflags}).description == "1 thread");
  const Result<ChosenSlots> required =
      choose_slots({.makeflags = makeflags, .mode = JobserverMode::kRequire});
  REQUIRE(!required.ok());
  CHECK(required.error().kind == ErrorKind::kArgument);
}

TEST_CASE("Requiring a job server where MAKEFLAGS names none is an error", "[unit][jobs]") {
  const Result<ChosenSlots> result =
      choose_slots({.jobs = 2, .makeflags = " -j1", .mode = JobserverMode::kRequire});
  REQUIRE(!result.ok());
  CHECK(result.error().kind == ErrorKind::kArgument);
  CHECK(result.error().text.find("MAKEFLAGS names none") != std::string::npos);
}

}  // namespace
}  // namespace btfloom
