#include "jobs/makeflags.h"

#include <optional>
#include <string>

#include <catch2/catch.hpp>

namespace btfloom {
namespace {

using Kind = JobserverConfig::Kind;

TEST_CASE("What make writes into MAKEFLAGS is understood", "[unit][jobs]") {
  struct Row {
    const char* text;
    Kind kind;
    int reading;
    int writing;
    const char* fifo;
    std::optional<unsigned> jobs;
    bool unlimited;
    bool dry_run;
  };
  // The first eight as make 4.3 and 4.4 write them (kbuild-jobserver.md 2.1), then what others do.
  const Row row = GENERATE(
      Row{"", Kind::kNone, -1, -1, "", {}, false, false},
      Row{" -j1", Kind::kNone, -1, -1, "", 1, false, false},
      Row{" -j", Kind::kNone, -1, -1, "", {}, true, false},
      Row{" -j3 --jobserver-auth=3,4", Kind::kPipe, 3, 4, "", 3, false, false},
      Row{"n -j3 --jobserver-auth=3,4", Kind::kPipe, 3, 4, "", 3, false, true},
      Row{" -j3 --jobserver-auth=fifo:/tmp/GMfifo77", Kind::kFifo, -1, -1, "/tmp/GMfifo77", 3,
          false, false},
      Row{"kw -j8 --jobserver-auth=-2,-2 -- V=1", Kind::kDisabled, -2, -2, "", 8, false, false},
      Row{"w -j4 --jobserver-fds=5,6", Kind::kPipe, 5, 6, "", 4, false, false},
      Row{"w", Kind::kNone, -1, -1, "", {}, false, false},
      Row{"kn", Kind::kNone, -1, -1, "", {}, false, true},
      Row{"--dry-run", Kind::kNone, -1, -1, "", {}, false, true},
      Row{"-kn", Kind::kNone, -1, -1, "", {}, false, true},
      Row{"-j 8", Kind::kNone, -1, -1, "", 8, false, false},
      Row{"--jobs=8", Kind::kNone, -1, -1, "", 8, false, false},
      Row{"--jobs", Kind::kNone, -1, -1, "", {}, true, false},
      Row{"kj2", Kind::kNone, -1, -1, "", 2, false, false});
  INFO("MAKEFLAGS='" << row.text << "'");
  const JobserverConfig config = parse_makeflags(row.text);
  CHECK(config.kind == row.kind);
  CHECK(config.read_descriptor == row.reading);
  CHECK(config.write_descriptor == row.writing);
  CHECK(config.fifo == row.fifo);
  CHECK(config.jobs == row.jobs);
  CHECK(config.unlimited == row.unlimited);
  CHECK(config.dry_run == row.dry_run);
}

TEST_CASE("The last job server named counts, by the old name too", "[unit][jobs]") {
  JobserverConfig config =
      parse_makeflags(" --jobserver-auth=3,4 --jobserver-auth=fifo:/tmp/f -j2 -j5");
  CHECK(config.kind == Kind::kFifo);
  CHECK(config.value == "fifo:/tmp/f");
  CHECK(config.jobs == 5u);
  config = parse_makeflags(" --jobserver-auth=fifo:/tmp/f --jobserver-fds=7,8");
  CHECK(config.kind == Kind::kPipe);
  CHECK(config.read_descriptor == 7);
  CHECK(config.fifo.empty());
  // make 4.4 in pipe style takes the server away from a command by appending this.
  config = parse_makeflags(" -j3 --jobserver-auth=3,4 --jobserver-auth=-2,-2");
  CHECK(config.kind == Kind::kDisabled);
}

TEST_CASE("Behind -- are variables, which name no job server", "[unit][jobs]") {
  const JobserverConfig config =
      parse_makeflags("n -j4 -- X=--jobserver-auth=3,4 --jobserver-auth=5,6 -j9");
  CHECK(config.kind == Kind::kNone);
  CHECK(config.jobs == 4u);
}

TEST_CASE("Letters that only look like -n are not -n", "[unit][jobs]") {
  const std::string text =
      GENERATE(as<std::string>(), "Name=n", " -Inclue", "w -Onone", " -fnMakefile",
               " --no-print-directory", " -Cn", " -lnn", "k -- n", " n");
  INFO("MAKEFLAGS='" << text << "'");
  // Except the last: make itself takes a first word without dash as letters, blank before it or
  // not.
  CHECK(parse_makeflags(text).dry_run == (text == " n"));
}

TEST_CASE("A backslash keeps a blank in a path, as in make", "[unit][jobs]") {
  CHECK(parse_makeflags(R"( --jobserver-auth=fifo:/tmp/my\ dir/f\\x -j2)").fifo ==
        R"(/tmp/my dir/f\x)");
  CHECK(parse_makeflags(R"( --jobserver-auth=fifo:/tmp/f\)").fifo == R"(/tmp/f\)");
}

TEST_CASE("A style that we do not know is no job server, and no crash", "[unit][jobs]") {
  const std::string value =
      GENERATE(as<std::string>(), "", "foo", "3", "3,", ",4", "3,4,5", "3;4", " 3,4", "0x3,4",
               "fifo:", "sem:gmake", "99999999999,4", "3,4x", "+3,4");
  INFO("value '" << value << "'");
  const JobserverConfig config = parse_makeflags(" -j2 --jobserver-auth=" + value);
  CHECK(config.kind == Kind::kUnknown);
}

TEST_CASE("Numbers of jobs that make refuses are passed over", "[unit][jobs]") {
  const std::string text =
      GENERATE(as<std::string>(), " -j0", " -j-3", " -jx", " -j99999999999", " --jobs=0");
  CHECK(!parse_makeflags(text).jobs.has_value());
  CHECK(!parse_makeflags(text).unlimited);
}

}  // namespace
}  // namespace btfloom
