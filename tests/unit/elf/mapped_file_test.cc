#include "elf/mapped_file.h"

#include <sys/stat.h>

#include <string>
#include <type_traits>
#include <utility>

#include <catch2/catch.hpp>

#include "tests/support/command.h"

namespace btfloom {
namespace {

static_assert(!std::is_copy_constructible_v<MappedFile>);
static_assert(!std::is_copy_assignable_v<MappedFile>);
static_assert(std::is_nothrow_move_constructible_v<MappedFile>);
static_assert(std::is_nothrow_move_assignable_v<MappedFile>);

std::string why_not(const std::string& path) {
  const Result<MappedFile> file = MappedFile::open(path);
  REQUIRE_FALSE(file.ok());
  CHECK(file.error().kind == ErrorKind::kInput);
  CHECK(file.error().file == path);
  return file.error().text;
}

TEST_CASE("A mapped file shows the bytes of the file", "[unit][elf]") {
  const test::TemporaryFolder folder;
  const auto file = MappedFile::open(folder.write("a", "some bytes"));
  REQUIRE(file.ok());
  CHECK(as_text(file.value().bytes()) == "some bytes");
}

TEST_CASE("Moving a mapped file leaves nothing behind, and assigning over one replaces it",
          "[unit][elf]") {
  const test::TemporaryFolder folder;
  auto first = MappedFile::open(folder.write("a", "first"));
  auto second = MappedFile::open(folder.write("b", "second"));
  REQUIRE((first.ok() && second.ok()));
  MappedFile file = std::move(first.value());
  CHECK(first.value().bytes().empty());
  file = std::move(second.value());
  CHECK(as_text(file.bytes()) == "second");
  CHECK(second.value().bytes().empty());
}

TEST_CASE("What cannot be mapped is refused with the reason", "[unit][elf]") {
  const test::TemporaryFolder folder;
  CHECK(why_not(folder.path("missing")) == "cannot open the input: No such file or directory");
  CHECK(why_not(folder.path()) == "the input is a folder; name an ELF file");
  CHECK(why_not(folder.write("empty", "")) == "the input is empty; rebuild it");
  CHECK(why_not("/dev/null") == "the input is no regular file; copy it to one first");
  const std::string fifo = folder.path("fifo");
  REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
  CHECK(why_not(fifo) ==
        "the input is no regular file; copy it to one first");  // and does not wait
}

}  // namespace
}  // namespace btfloom
