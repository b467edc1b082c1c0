#include "elf/section_data.h"

#include <elf.h>
#include <zstd.h>

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/command.h"
#include "tests/support/needs.h"
#include "tests/unit/elf/elf_builder.h"

namespace btfloom {
namespace {

using test::compile;
using test::open_image;
using test::TemporaryFolder;
using namespace std::string_literals;

constexpr const char* kSource = R"(
#define MANY(n) struct a##n { int x; long y; struct a##n *next; } v##n; int f##n(int x) { return x + v##n.x; }
MANY(0) MANY(1) MANY(2) MANY(3) MANY(4) MANY(5) MANY(6) MANY(7) MANY(8) MANY(9)
int main(void) { return f0(1) + f9(2); }
)";

std::string bytes_of(const ElfImage& image, std::string_view name) {
  const auto bytes = debug_section(image, name);
  INFO((bytes.ok() ? "" : bytes.error().text));
  REQUIRE(bytes.ok());
  return std::string(as_text(bytes.value().bytes));
}

std::string why_not(const std::string& path, std::string_view name = ".debug_info") {
  const ElfImage image = open_image(path);
  const auto bytes = debug_section(image, name);
  REQUIRE_FALSE(bytes.ok());
  CHECK(bytes.error().kind == ErrorKind::kInput);
  CHECK(bytes.error().file == path);
  return bytes.error().text;
}

TEST_CASE("A section that is stored plainly is a view into the file", "[unit][elf]") {
  NEEDS("gcc");
  const TemporaryFolder folder;
  const ElfImage image = open_image(compile(folder, {"gcc", "-g"}, kSource, "a"));
  const auto info = debug_section(image, ".debug_info");
  REQUIRE(info.ok());
  CHECK(info.value().owned == nullptr);
  CHECK(info.value().bytes.data() == image.raw(*image.find(".debug_info")).data());
  const auto missing = debug_section(image, ".debug_nothing");
  REQUIRE(missing.ok());
  CHECK(missing.value().bytes.empty());
}

// As relocation works on decompressed bytes, objects show both. Also a foreign byte order and
// class.
TEST_CASE("A compressed section gives the bytes of the plain one", "[unit][elf]") {
  NEEDS("gcc");
  NEEDS("clang-14");
  NEEDS("objcopy");
  NEEDS("llvm-objcopy-14");
  const TemporaryFolder folder;
  std::vector<std::string> files = {compile(folder, {"gcc", "-g"}, kSource, "linked"),
                                    compile(folder, {"gcc", "-g", "-c"}, kSource, "object")};
  for (const char* target : {"mips-linux-gnu", "s390x-linux-gnu", "i386-linux-gnu"}) {
    files.push_back(compile(folder, {"clang-14", std::string("--target=") + target, "-g", "-c"},
                            kSource, target));
  }
  int compressed_files = 0;
  for (const std::string& file : files) {
    const ElfImage plain = open_image(file);
    for (const char* how : {"objcopy zlib", "objcopy zlib-gnu", "objcopy zstd",
                            "llvm-objcopy-14 zlib", "llvm-objcopy-14 zlib-gnu"}) {
      const std::string words = how;
      const std::size_t space = words.find(' ');
      const std::string path = folder.path("compressed");
      const auto result =
          test::run({words.substr(0, space), "--compress-debug-sections=" + words.substr(space + 1),
                     file, path});
      if (result.status != 0) {
        continue;  // this objcopy does not know the machine, or not zstd
      }
      INFO(file << " " << how);
      const ElfImage image = open_image(path);
      const ElfSection* stored = image.find(".debug_info");
      const bool is_compressed = stored == nullptr || (stored->flags & SHF_COMPRESSED) != 0;
      CHECK(is_compressed);
      ++compressed_files;
      for (const char* name : {".debug_info", ".debug_str", ".debug_abbrev", ".debug_line"}) {
        INFO(name);
        CHECK(bytes_of(image, name) == bytes_of(plain, name));
      }
    }
  }
  CHECK(compressed_files >= 14);  // all of two for the host's objcopy and of all for LLVM's
}

// A 64-bit little-endian object whose .debug_info is SHF_COMPRESSED with this header and these
// bytes.
std::string compressed_object(std::uint32_t type, std::uint64_t size, std::string_view bytes) {
  std::string contents(sizeof(Elf64_Chdr), '\0');
  auto* header = reinterpret_cast<std::byte*>(contents.data());
  store(header, type, ByteOrder::little);
  store(header + 8, size, ByteOrder::little);
  store(header + 16, std::uint64_t{1}, ByteOrder::little);
  contents += bytes;
  std::string file = test::build_object({.debug_info = contents});
  auto* flags =
      reinterpret_cast<std::byte*>(file.data()) + file.size() - 4 * sizeof(Elf64_Shdr) + 8;
  store(flags, std::uint64_t{SHF_COMPRESSED}, ByteOrder::little);
  return file;
}

std::string zstd(const std::string& text) {
  std::string result(ZSTD_compressBound(text.size()), '\0');
  result.resize(ZSTD_compress(result.data(), result.size(), text.data(), text.size(), 3));
  return result;
}

// As streaming compressors write them: the frame does not say how long its contents are.
std::string zstd_of_unknown_size(const std::string& text) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  std::string result(ZSTD_compressBound(text.size()), '\0');
  result.resize(ZSTD_compress2(context, result.data(), result.size(), text.data(), text.size()));
  ZSTD_freeCCtx(context);
  return result;
}

constexpr std::uint32_t kZlib = 1;
constexpr std::uint32_t kZstd = 2;

TEST_CASE("Zstandard sections may have several frames, of known or unknown size", "[unit][elf]") {
  const TemporaryFolder folder;
  const std::string text(5000, 'x');
  const auto decompressed = [&](std::uint64_t size, const std::string& bytes) {
    return bytes_of(open_image(folder.write("a.o", compressed_object(kZstd, size, bytes))),
                    ".debug_info");
  };
  CHECK(decompressed(5000, zstd(text)) == text);
  CHECK(decompressed(5000, zstd_of_unknown_size(text)) == text);
  CHECK(decompressed(10000, zstd(text) + zstd(text)) == text + text);
  CHECK(decompressed(10000, zstd(text) + zstd_of_unknown_size(text)) == text + text);
}

TEST_CASE("A compressed section that lies is an error, before memory is asked for", "[unit][elf]") {
  const TemporaryFolder folder;
  const std::string text(5000, 'x');
  const auto why = [&](std::uint32_t type, std::uint64_t size, const std::string& bytes) {
    return why_not(folder.write("a.o", compressed_object(type, size, bytes)));
  };
  const std::string advice = "; the file is damaged, rebuild it";
  CHECK(why(7, 100, "abc") == "section .debug_info: an unknown compression" + advice);
  const std::string size = "section .debug_info: an impossible decompressed size" + advice;
  CHECK(why(kZlib, std::uint64_t{1} << 62, "abc") == size);
  CHECK(why(kZlib, 100000, "abc") == size);  // 3 bytes of deflate are at most 3,096
  CHECK(why(kZstd, std::uint64_t{1} << 62, "abc") == size);
  const std::string broken = "section .debug_info: cannot be decompressed" + advice;
  CHECK(why(kZlib, 100, "abc") == broken);
  CHECK(why(kZstd, 100, "abc") == broken);
  CHECK(why(kZstd, 4999, zstd(text)) == broken);
  CHECK(why(kZstd, 5001, zstd(text)) == broken);
  CHECK(why(kZstd, 1000000, zstd(text)) == broken);
  CHECK(why(kZstd, 4999, zstd_of_unknown_size(text)) == broken);
  CHECK(why(kZstd, 5001, zstd_of_unknown_size(text)) == broken);
  const std::string cut = zstd(text);
  CHECK(why(kZstd, 5000, cut.substr(0, cut.size() - 1)) == broken);
  CHECK(why(kZstd, 5000, cut + "x") == broken);
}

TEST_CASE("A compressed section that is cut off or changed is an error", "[unit][elf]") {
  NEEDS("gcc");
  NEEDS("objcopy");
  const TemporaryFolder folder;
  const std::string plain = compile(folder, {"gcc", "-g"}, kSource, "a");
  const std::string path = folder.path("compressed");
  REQUIRE(test::run({"objcopy", "--compress-debug-sections=zlib", plain, path}).status == 0);
  const std::string file = test::read_text(path);
  const std::uint64_t offset = open_image(path).find(".debug_info")->offset;
  const auto changed = [&](std::uint64_t at, int delta) {
    std::string copy = file;
    copy[offset + at] = static_cast<char>(copy[offset + at] + delta);
    return why_not(folder.write("changed", copy));
  };
  CHECK(changed(8, 1).find("cannot be decompressed") != std::string::npos);   // one byte more
  CHECK(changed(8, -1).find("cannot be decompressed") != std::string::npos);  // one byte less
  CHECK(changed(24 + 100, 1).find("cannot be decompressed") != std::string::npos);
}

TEST_CASE("A GNU compressed section without its header is an error", "[unit][elf]") {
  NEEDS("gcc");
  NEEDS("objcopy");
  const TemporaryFolder folder;
  const std::string plain = compile(folder, {"gcc", "-g"}, kSource, "a");
  const std::string path = folder.path("compressed");
  REQUIRE(test::run({"objcopy", "--compress-debug-sections=zlib-gnu", plain, path}).status == 0);
  std::string file = test::read_text(path);
  file[open_image(path).find(".zdebug_info")->offset] = 'Y';
  CHECK(why_not(folder.write("changed", file)) ==
        "section .zdebug_info: no GNU compression header; the file is damaged, rebuild it");
}

}  // namespace
}  // namespace btfloom
