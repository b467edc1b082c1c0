#include "jobs/jobserver.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "jobs/choose_slots.h"
#include "jobs/pool.h"
#include "tests/unit/jobs/fake_slots.h"

namespace btfloom {
namespace {

using test::Pipe;

JobserverConfig pipe_config(int reading, int writing) {
  return parse_makeflags(" -j8 --jobserver-auth=" + std::to_string(reading) + "," +
                         std::to_string(writing));
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "btfloom-jobs-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

bool is_nonblocking(int descriptor) {
  return (::fcntl(descriptor, F_GETFL) & O_NONBLOCK) != 0;
}

TEST_CASE("Tokens of a pipe are read one by one and go back as the same bytes", "[unit][jobs]") {
  const bool nonblocking = GENERATE(false, true);  // make < 4.3, and since
  const std::string directory = GENERATE(std::string("/proc/self/fd"), std::string("/nonexistent"));
  const Pipe pipe(O_CLOEXEC | (nonblocking ? O_NONBLOCK : 0));
  INFO((nonblocking ? "non-blocking, " : "blocking, ") << directory);
  pipe.put("xyz");
  Result<std::unique_ptr<SlotSource>> source =
      open_jobserver(pipe_config(pipe.reading(), pipe.writing()), 8, directory.c_str());
  if (!source.ok() && !nonblocking && directory == "/nonexistent") {
    // Kernels that cannot read a pipe without waiting; then we must not try.
    CHECK(source.error().text.find("without blocking") != std::string::npos);
    CHECK(pipe.take_all() == "xyz");
    return;
  }
  REQUIRE(source.ok());
  CHECK(source.value()->max_workers() == 8);
  CHECK(source.value()->poll_descriptor() >= 0);
  CHECK(is_nonblocking(pipe.reading()) == nonblocking);
  CHECK(is_nonblocking(pipe.writing()) == nonblocking);
  {
    std::vector<Slot> held;
    while (std::optional<Slot> slot = source.value()->try_acquire()) {
      held.push_back(*std::move(slot));
    }
    CHECK(held.size() == 3);
    CHECK(pipe.take_all().empty());
    CHECK(source.value()->poll_descriptor() >= 0);  // empty is not dead
    held.erase(held.begin() + 1);
    const std::string back = pipe.take_all();
    CHECK(back.size() == 1);
    pipe.put(back);
  }
  CHECK(pipe.take_all() == "xyz");
}

TEST_CASE("Every byte value is a token and goes back as it came", "[unit][jobs]") {
  const Pipe pipe;
  std::string all;
  for (int byte = 0; byte < 256; ++byte) {
    all += static_cast<char>(byte);
  }
  pipe.put(all);
  const auto source =
      std::move(open_jobserver(pipe_config(pipe.reading(), pipe.writing()), 8).value());
  std::vector<Slot> held;
  while (std::optional<Slot> slot = source->try_acquire()) {
    held.push_back(*std::move(slot));
  }
  CHECK(held.size() == 256);
  held.clear();
  std::sort(all.begin(), all.end());
  CHECK(pipe.take_all() == all);
}

TEST_CASE("Tokens of a fifo are read one by one and go back as the same bytes", "[unit][jobs]") {
  const TemporaryFolder folder;
  const std::string path = folder.file("fifo");
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const int server = ::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  REQUIRE(server >= 0);
  REQUIRE(::write(server, "abcdefg", 7) == 7);
  {
    auto source = open_jobserver(
        parse_makeflags(" -j8 --jobserver-auth=99,98 --jobserver-auth=fifo:" + path), 5);
    REQUIRE(source.ok());
    std::vector<Slot> held;
    while (std::optional<Slot> slot = source.value()->try_acquire()) {
      held.push_back(*std::move(slot));
    }
    CHECK(held.size() == 7);
    // The name may go before the tokens do: nothing is opened for giving back.
    std::filesystem::remove(path);
  }
  CHECK(Pipe::take_all(server) == "abcdefg");
  ::close(server);
}

TEST_CASE("Descriptors of our own do not leak into children", "[unit][jobs]") {
  const Pipe pipe;
  const auto source =
      std::move(open_jobserver(pipe_config(pipe.reading(), pipe.writing()), 8).value());
  CHECK((::fcntl(source->poll_descriptor(), F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_CASE("What is not the job server's pipe is refused with a reason, and left alone",
          "[unit][jobs]") {
  const TemporaryFolder folder;
  const Pipe pipe;
  const Pipe other;
  const std::string path = folder.file("regular");
  std::ofstream(path) << "content";
  const int regular = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  struct Row {
    std::string auth;
    std::string reason;
  };
  const auto fds = [](int reading, int writing) {
    return std::to_string(reading) + "," + std::to_string(writing);
  };
  const std::vector<Row> rows = {
      {"1000,1001", "descriptor 1000 is closed"},
      {fds(pipe.reading(), 1001), "descriptor 1001 is closed"},
      {fds(regular, regular), "not a pipe"},
      {fds(pipe.writing(), pipe.reading()), "not readable"},
      {fds(pipe.reading(), pipe.reading()), "not writable"},
      {fds(pipe.reading(), other.writing()), "not the two ends of one pipe"},
      {"fifo:" + folder.file("absent"), "no such file"},
      {"fifo:" + path, "not a fifo"},
      {"-2,-2", "does not lend"},
      {"sem:1", "unknown style"},
  };
  for (const Row& row : rows) {
    INFO(row.auth);
    const auto source = open_jobserver(parse_makeflags(" -j3 --jobserver-auth=" + row.auth), 8);
    REQUIRE(!source.ok());
    CHECK(source.error().text.find(row.reason) != std::string::npos);
    CHECK(source.error().text.find(row.auth) != std::string::npos);
  }
  ::close(regular);
  std::string content;
  std::getline(std::ifstream(path), content);
  CHECK(content == "content");
  CHECK(!open_jobserver({}, 8).ok());
}

TEST_CASE("A full pipe delays a token but does not lose it", "[unit][jobs]") {
  const Pipe pipe;
  ::fcntl(pipe.writing(), F_SETPIPE_SZ, 4096);
  const auto size = static_cast<std::size_t>(::fcntl(pipe.writing(), F_GETPIPE_SZ));
  pipe.put(std::string(size, 'a'));
  const auto source =
      std::move(open_jobserver(pipe_config(pipe.reading(), pipe.writing()), 8).value());
  std::optional<Slot> slot = source->try_acquire();
  REQUIRE(slot.has_value());
  // A page from which one byte was read has no room for one yet (which is why make's pipes are
  // larger).
  std::thread reader([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::string some(size, ' ');
    if (::read(pipe.reading(), some.data(), size - 1) != static_cast<ssize_t>(size - 1)) {
      std::abort();
    }
  });
  slot.reset();
  reader.join();
  CHECK(pipe.take_all() == "a");
}

// ---- under a real make ----

// What the recipes below run: this test in a process of its own, as a client.
TEST_CASE("client of the make tests", "[.make-client]") {
  const char* const report = std::getenv("BTFLOOM_TEST_REPORT");
  const char* const makeflags = std::getenv("MAKEFLAGS");
  if (report == nullptr) {
    return;
  }
  const ChosenSlots chosen = std::move(
      choose_slots({.jobs = 8, .makeflags = makeflags != nullptr ? makeflags : ""}).value());
  unsigned peak = 0;
  const bool ok = in_order(
                      *chosen.slots, {.count = 100, .window = 16, .peak_workers = &peak},
                      [](std::size_t, unsigned) -> Result<> {
                        std::this_thread::sleep_for(std::chrono::milliseconds(1));
                        return {};
                      },
                      [](std::size_t) -> Result<> { return {}; })
                      .ok();
  std::ofstream(report, std::ios::app) << (ok ? "ok " : "bad ") + std::to_string(peak) + " " +
                                              chosen.description + "|" + chosen.note + "\n";
}

struct MakeRun {
  int status = -1;
  std::string errors;
  std::vector<std::string> reports;
};

// `prefix`: "+" lends the job server to the recipe. Nothing if there is no make.
MakeRun run_make(const std::string& arguments, const std::string& prefix, int clients) {
  const TemporaryFolder folder;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  {
    std::ofstream makefile(folder.file("Makefile"));
    makefile << "all:";
    for (int i = 0; i < clients; ++i) {
      makefile << " c" << i;
    }
    makefile << "\nc%: ; " << prefix << "@'" << self << "' 'client of the make tests' >/dev/null\n";
  }
  MakeRun run;
  const std::string command = "env -u MAKEFLAGS BTFLOOM_TEST_REPORT=" + folder.file("report") +
                              " make " + arguments + " -f " + folder.file("Makefile") +
                              " >/dev/null 2>" + folder.file("errors");
  run.status = std::system(command.c_str());
  std::getline(std::ifstream(folder.file("errors")), run.errors, '\0');
  std::ifstream reports(folder.file("report"));
  for (std::string line; std::getline(reports, line);) {
    run.reports.push_back(line);
  }
  return run;
}

bool has_make() {
  if (std::system("make --version >/dev/null 2>&1") == 0) {
    return true;
  }
  std::puts("SKIPPED: needs make");
  return false;
}

TEST_CASE("Under make, clients share the tokens and make counts them complete", "[unit][jobs]") {
  if (!has_make()) {
    return;
  }
  const MakeRun run = run_make("-j5", "+", 4);
  CHECK(run.status == 0);
  CHECK(run.errors.empty());  // "INTERNAL: Exiting with 4 jobserver tokens available; should be 5!"
  REQUIRE(run.reports.size() == 4);
  for (const std::string& report : run.reports) {
    CHECK(report.find("job server") != std::string::npos);
    CHECK(report.substr(0, 3) == "ok ");
  }
}

TEST_CASE("Under make, a client that is alone gets all of -jN", "[unit][jobs]") {
  if (!has_make()) {
    return;
  }
  const MakeRun run = run_make("-j5", "+", 1);
  CHECK(run.errors.empty());
  REQUIRE(run.reports.size() == 1);
  CHECK(run.reports[0].substr(0, 5) == "ok 5 ");
}

TEST_CASE("A recipe that make lends nothing works with what was said, and knows why",
          "[unit][jobs]") {
  if (!has_make()) {
    return;
  }
  const MakeRun run = run_make("-j5", "", 1);
  CHECK(run.errors.empty());
  REQUIRE(run.reports.size() == 1);
  // make < 4.4 closes the descriptors; later ones have a fifo that everybody can open.
  CHECK((run.reports[0].find("is closed") != std::string::npos ||
         run.reports[0].find("not a pipe") != std::string::npos ||
         run.reports[0].find("job server fifo:") != std::string::npos));
}

}  // namespace
}  // namespace btfloom
