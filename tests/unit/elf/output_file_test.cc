#include "elf/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include "support/temporary_files.h"
#include "tests/support/command.h"
#include "tests/unit/elf/elf_builder.h"

namespace btfloom {
namespace {

using test::read_text;
using test::TemporaryFolder;

static_assert(!std::is_copy_constructible_v<OutputFile>);
static_assert(std::is_nothrow_move_constructible_v<OutputFile>);

OutputFile create(const std::string& target, mode_t mode = 0640, const std::string& like = {}) {
  auto output = OutputFile::create(target, mode, like);
  INFO((output.ok() ? "" : output.error().text));
  REQUIRE(output.ok());
  return std::move(output.value());
}

void write_all(const std::string& target, std::string_view text, mode_t mode = 0640,
               const std::string& like = {}) {
  OutputFile output = create(target, mode, like);
  REQUIRE(output.write(as_bytes_of(text)).ok());
  const auto done = output.commit();
  INFO((done.ok() ? "" : done.error().text));
  REQUIRE(done.ok());
}

mode_t mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

std::size_t files_in(const std::string& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

// Another user for a while; tests in containers run as root.
class Unprivileged {
 public:
  Unprivileged() { works_ = ::geteuid() == 0 && ::setegid(65534) == 0 && ::seteuid(65534) == 0; }
  Unprivileged(const Unprivileged&) = delete;
  Unprivileged& operator=(const Unprivileged&) = delete;
  ~Unprivileged() {
    if (works_ && (::seteuid(0) != 0 || ::setegid(0) != 0)) {
      std::abort();
    }
  }
  [[nodiscard]] bool works() const { return works_; }

 private:
  bool works_ = false;
};

TEST_CASE("A committed output is there whole, and nothing else is", "[unit][elf]") {
  const TemporaryFolder folder;
  OutputFile output = create(folder.path("out"));
  REQUIRE(output.write(as_bytes_of("first, ")).ok());
  REQUIRE(output.write({}).ok());
  REQUIRE(output.write(as_bytes_of("second")).ok());
  CHECK_FALSE(std::filesystem::exists(folder.path("out")));  // not before commit()
  CHECK(files_in(folder.path()) == 1);
  REQUIRE(output.commit().ok());
  CHECK(read_text(folder.path("out")) == "first, second");
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("An output that is not committed leaves the old file", "[unit][elf]") {
  const TemporaryFolder folder;
  const std::string target = folder.write("out", "old");
  {
    OutputFile output = create(target);
    REQUIRE(output.write(as_bytes_of("new")).ok());
    OutputFile moved = std::move(output);  // only one of the two cleans up
    CHECK(files_in(folder.path()) == 2);
  }
  CHECK(read_text(target) == "old");
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("A new file gets the mode asked for, less the umask", "[unit][elf]") {
  const TemporaryFolder folder;
  const mode_t old = ::umask(027);
  write_all(folder.path("a"), "x", 0666);
  ::umask(old);
  CHECK(mode_of(folder.path("a")) == 0640);
}

TEST_CASE("A file like another gets its mode, set-user-id bits included", "[unit][elf]") {
  const TemporaryFolder folder;
  const std::string program = folder.write("program", "old");
  for (const mode_t mode : {0755, 0600, 04711, 02755}) {
    REQUIRE(::chmod(program.c_str(), mode) == 0);
    write_all(program, "new", 0640, program);
    CHECK(mode_of(program) == mode);
  }
}

TEST_CASE("Who may not keep the owner does not keep the set-user-id bits", "[unit][elf]") {
  const TemporaryFolder folder;
  const std::string program = folder.write("program", "old");
  REQUIRE(::chmod(program.c_str(), 06755) == 0);
  REQUIRE(::chmod(folder.path().c_str(), 0777) == 0);
  {
    const Unprivileged unprivileged;
    if (!unprivileged.works()) {
      std::puts("SKIPPED: needs root");
      return;
    }
    write_all(program, "new", 0640, program);
  }
  CHECK(read_text(program) == "new");
  CHECK(mode_of(program) == 0755);
}

TEST_CASE("A symbolic link stays one; what it points to is replaced", "[unit][elf]") {
  const TemporaryFolder folder;
  REQUIRE(::mkdir(folder.path("elsewhere").c_str(), 0700) == 0);
  const std::string real = folder.write("elsewhere/real", "old");
  REQUIRE(::symlink("elsewhere/real", folder.path("link").c_str()) == 0);
  write_all(folder.path("link"), "new");
  CHECK(std::filesystem::is_symlink(folder.path("link")));
  CHECK(read_text(real) == "new");
  CHECK(files_in(folder.path("elsewhere")) == 1);
}

TEST_CASE("A target that is no regular file is written into", "[unit][elf]") {
  const TemporaryFolder folder;
  write_all("/dev/null", "gone");
  CHECK(std::filesystem::is_character_file("/dev/null"));
  const std::string fifo = folder.path("fifo");
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  std::string read;
  std::thread reader([&] { read = read_text(fifo); });
  write_all(fifo, std::string(200000, 'x'));  // more than a pipe holds
  reader.join();
  CHECK(read == std::string(200000, 'x'));
  CHECK(std::filesystem::is_fifo(fifo));
}

TEST_CASE("A full disk is an error that says so", "[unit][elf]") {
  OutputFile output = create("/dev/full");
  const auto written = output.write(as_bytes_of("x"));
  REQUIRE_FALSE(written.ok());
  CHECK(written.error().kind == ErrorKind::kOutput);
  CHECK(written.error().file == "/dev/full");
  CHECK(written.error().text ==
        "cannot write the output: No space left on device; free some space; nothing was written");
}

TEST_CASE("What cannot be created is an error with the reason", "[unit][elf]") {
  const TemporaryFolder folder;
  const auto why_not = [](const std::string& target) {
    const auto output = OutputFile::create(target, 0640);
    REQUIRE_FALSE(output.ok());
    CHECK(output.error().kind == ErrorKind::kOutput);
    CHECK(output.error().file == target);
    return output.error().text;
  };
  CHECK(why_not(folder.path("missing/out")) ==
        "cannot create the output: No such file or directory; create the folder first; nothing was "
        "written");
  CHECK(why_not(folder.path()) == "cannot write the output: Is a directory; nothing was written");
  CHECK(why_not("") == "the output has no name; give one");
  REQUIRE(::chmod(folder.path().c_str(), 0755) == 0);
  const Unprivileged unprivileged;
  if (unprivileged.works()) {
    CHECK(why_not(folder.path("out")) ==
          "cannot create the output: Permission denied; check who owns the folder; nothing was "
          "written");
  }
}

TEST_CASE("A name of the greatest length leaves room for the temporary's", "[unit][elf]") {
  const TemporaryFolder folder;
  const std::string target = folder.path(std::string(255, 'n'));
  write_all(target, "x");
  CHECK(read_text(target) == "x");
}

TEST_CASE("What a signal must not leave behind is unlinked, once committed no more",
          "[unit][elf]") {
  const TemporaryFolder folder;
  write_all(folder.path("committed"), "x");
  OutputFile output = create(folder.path("out"));
  CHECK(files_in(folder.path()) == 2);
  unlink_all_temporaries();
  CHECK(files_in(folder.path()) == 1);
  CHECK(read_text(folder.path("committed")) == "x");
}

TEST_CASE("Temporaries are registered and forgotten by many threads", "[unit][elf]") {
  const TemporaryFolder folder;
  std::vector<std::thread> threads;
  std::vector<int> failures(4);
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 2000; ++i) {
        const std::string path = folder.path(std::to_string(thread) + "." + std::to_string(i));
        failures[thread] += !register_temporary(path);
        forget_temporary(path);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(failures == std::vector<int>(4));
  // Nothing is left in the table: all its 64 places can be had.
  int registered = 0;
  while (registered < 1000 && register_temporary(folder.path(std::to_string(registered)))) {
    ++registered;
  }
  CHECK(registered == 64);
  for (int i = 0; i < registered; ++i) {
    forget_temporary(folder.path(std::to_string(i)));
  }
  CHECK_FALSE(register_temporary(std::string(5000, 'x')));
}

}  // namespace
}  // namespace btfloom
