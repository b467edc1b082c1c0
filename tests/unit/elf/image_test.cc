#include "elf/image.h"

#include <elf.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>
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

static_assert(!std::is_copy_constructible_v<ElfImage>);
static_assert(std::is_nothrow_move_constructible_v<ElfImage>);

constexpr const char* kSource = R"(
int initialized = 3, zeroed;
static int local_function(int x) { return x * initialized + zeroed; }
int global_function(int x) { return local_function(x); }
int main(int argc, char **argv) { (void)argv; return global_function(argc) == 42; }
)";

std::string why_not(const std::string& path) {
  const Result<ElfImage> image = ElfImage::open(path);
  REQUIRE_FALSE(image.ok());
  CHECK(image.error().kind == ErrorKind::kInput);
  CHECK(image.error().file == path);
  return image.error().text;
}

std::vector<std::vector<std::string>> words_of_lines(const std::string& text) {
  std::vector<std::vector<std::string>> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    lines.emplace_back();
    for (std::string word; words >> word;) {
      lines.back().push_back(word);
    }
  }
  return lines;
}

// "  1: 0000000000001139    22 FUNC    GLOBAL DEFAULT   14 main" of readelf, for every entry of
// .symtab.
void check_symbols_against_readelf(const std::string& path) {
  const auto listing = test::run({"readelf", "-sW", path});
  REQUIRE(listing.status == 0);
  const std::size_t start = listing.out.find("Symbol table '.symtab'");
  REQUIRE(start != std::string::npos);
  const ElfImage image = open_image(path);
  const auto symbols = image.symbols();
  REQUIRE(symbols.ok());
  std::size_t number = 0;
  for (const auto& words : words_of_lines(listing.out.substr(start))) {
    if (words.size() < 7 || words[0] != std::to_string(number) + ":") {
      continue;
    }
    INFO(listing.out << "symbol " << number);
    REQUIRE(number < symbols.value().size());
    const ElfSymbol& symbol = symbols.value()[number];
    CHECK(symbol.value == std::stoull(words[1], nullptr, 16));
    CHECK(symbol.size == std::stoull(words[2], nullptr, 0));
    CHECK((symbol.type == STT_FUNC) == (words[3] == "FUNC"));
    CHECK((symbol.type == STT_OBJECT) == (words[3] == "OBJECT"));
    CHECK((symbol.binding == STB_LOCAL) == (words[4] == "LOCAL"));
    CHECK((symbol.binding == STB_WEAK) == (words[4] == "WEAK"));
    if (words[6] == "UND") {
      CHECK(symbol.section == SHN_UNDEF);
    } else if (words[6] == "ABS") {
      CHECK(symbol.section == SHN_ABS);
    } else {
      CHECK(symbol.section == std::stoul(words[6]));
    }
    CHECK(symbol.is_in_section == (words[6] != "UND" && words[6] != "ABS"));
    if (symbol.type == STT_FUNC || symbol.type == STT_OBJECT) {
      CHECK(symbol.name == words.at(7));
    }
    ++number;
  }
  CHECK(number == symbols.value().size());
}

TEST_CASE("Symbols are those that readelf lists", "[unit][elf]") {
  NEEDS("readelf");
  NEEDS("gcc");
  NEEDS("clang-14");
  const TemporaryFolder folder;
  check_symbols_against_readelf(compile(folder, {"gcc"}, kSource, "linked"));
  check_symbols_against_readelf(compile(folder, {"gcc", "-c"}, kSource, "object"));
  for (const char* target : {"mips-linux-gnu", "powerpc64-linux-gnu", "i386-linux-gnu"}) {
    check_symbols_against_readelf(
        compile(folder, {"clang-14", std::string("--target=") + target, "-c"}, kSource, "foreign"));
  }
}

TEST_CASE("Class, byte order and machine are those of the header", "[unit][elf]") {
  NEEDS("clang-14");
  struct Expected {
    const char* target;
    bool is_64_bit;
    ByteOrder order;
    std::uint16_t machine;
  };
  const TemporaryFolder folder;
  for (const Expected& expected :
       {Expected{"x86_64-linux-gnu", true, ByteOrder::little, EM_X86_64},
        Expected{"mips-linux-gnu", false, ByteOrder::big, EM_MIPS},
        Expected{"s390x-linux-gnu", true, ByteOrder::big, EM_S390},
        Expected{"arm-linux-gnueabi", false, ByteOrder::little, EM_ARM}}) {
    INFO(expected.target);
    const ElfImage image = open_image(compile(
        folder, {"clang-14", std::string("--target=") + expected.target, "-c"}, kSource, "a.o"));
    CHECK(image.is_64_bit() == expected.is_64_bit);
    CHECK(image.address_size() == (expected.is_64_bit ? 8U : 4U));
    CHECK(image.byte_order() == expected.order);
    CHECK(image.machine() == expected.machine);
    CHECK(image.type() == ET_REL);
    CHECK(image.is_relocatable());
    CHECK(image.find(".text") != nullptr);
  }
}

TEST_CASE("A stripped file has no symbol table, which is not an empty one", "[unit][elf]") {
  NEEDS("gcc");
  const TemporaryFolder folder;
  const ElfImage image = open_image(compile(folder, {"gcc", "-s"}, kSource, "a"));
  CHECK_FALSE(image.has_symtab());
  const auto symbols = image.symbols();
  REQUIRE(symbols.ok());
  CHECK(symbols.value().empty());
  CHECK(open_image(compile(folder, {"gcc"}, kSource, "b")).has_symtab());
}

TEST_CASE("Loaded sections of an object get addresses that do not overlap", "[unit][elf]") {
  NEEDS("gcc");
  const TemporaryFolder folder;
  const ElfImage image = open_image(compile(
      folder, {"gcc", "-g", "-c", "-ffunction-sections", "-fdata-sections"}, kSource, "a.o"));
  std::uint64_t end = 0x10000;
  int loaded = 0;
  for (const ElfSection& section : image.sections()) {
    INFO(section.name);
    if ((section.flags & SHF_ALLOC) == 0) {
      CHECK(section.address == 0);
      continue;
    }
    CHECK(section.address >= end);
    CHECK(section.address % std::max<std::uint64_t>(section.alignment, 1) == 0);
    end = section.address + section.size;
    ++loaded;
  }
  CHECK(loaded > 5);
}

TEST_CASE("Addresses of a linked file are its own", "[unit][elf]") {
  NEEDS("gcc");
  const TemporaryFolder folder;
  const ElfImage image =
      open_image(compile(folder, {"gcc", "-no-pie", "-Wl,-Ttext=0x500000"}, kSource, "a"));
  REQUIRE(image.find(".text") != nullptr);
  CHECK(image.find(".text")->address == 0x500000);
  CHECK(image.find(".bss") != nullptr);
  CHECK(image.raw(*image.find(".bss")).empty());
  CHECK(image.find(".no_such_section") == nullptr);
}

TEST_CASE("More than 65,279 sections are read, and symbols of the last ones have their section",
          "[unit][elf]") {
  NEEDS("as");
  constexpr int kSections = 65600;
  const TemporaryFolder folder;
  std::string source = "# assembler\n";
  for (int i = 0; i < kSections; ++i) {
    const std::string n = std::to_string(i);
    source += ".section .s" + n + ",\"a\"\nsymbol" + n + ": .byte 1\n";
  }
  source += "absolute = 77\n.globl absolute\n";
  const ElfImage image = open_image(compile(folder, {"as"}, source, "many.o"));
  CHECK(image.sections().size() > kSections);
  const auto symbols = image.symbols();
  REQUIRE(symbols.ok());
  int found = 0;
  for (const ElfSymbol& symbol : symbols.value()) {
    if (symbol.name == "absolute") {
      CHECK((symbol.section == SHN_ABS && !symbol.is_in_section && symbol.value == 77));
    }
    if (symbol.name.starts_with("symbol")) {
      found += symbol.is_in_section && symbol.section < image.sections().size() &&
               image.sections()[symbol.section].name.substr(2) == symbol.name.substr(6);
    }
  }
  CHECK(found == kSections);  // among them the sections whose numbers are SHN_ABS and SHN_COMMON
}

TEST_CASE("What is no ELF file is refused with the reason", "[unit][elf]") {
  const TemporaryFolder folder;
  const std::string text = "not an ELF file; name an object, a library, an executable or a vmlinux";
  CHECK(why_not(folder.write("text", "#!/bin/sh\n")) == text);
  CHECK(why_not(folder.write("short",
                             "\x7f"
                             "EL")) == text);
  CHECK(why_not(folder.write("archive", "!<arch>\n")) == text);
  CHECK(why_not(folder.write("empty", "")) == "the input is empty; rebuild it");
}

TEST_CASE("A file cut off anywhere is called truncated", "[unit][elf]") {
  NEEDS("gcc");
  NEEDS("clang-14");
  const TemporaryFolder folder;
  const std::string linked = test::read_text(compile(folder, {"gcc", "-g"}, kSource, "a"));
  const std::string object = test::read_text(
      compile(folder, {"clang-14", "--target=mips-linux-gnu", "-g", "-c"}, kSource, "a.o"));
  for (const std::string& file : {linked, object}) {
    const std::size_t step = std::max<std::size_t>(file.size() / 300, 1);
    for (std::size_t size = 4; size < file.size(); size += step) {
      INFO(size << " of " << file.size());
      CHECK(why_not(folder.write("cut", file.substr(0, size))).find("truncated") !=
            std::string::npos);
    }
    CHECK(why_not(folder.write("cut", file.substr(0, file.size() - 1))).find("truncated") !=
          std::string::npos);
  }
}

TEST_CASE("A section that ends behind the end of the file is named", "[unit][elf]") {
  std::string file = test::build_object({.debug_info = "12345678"});
  // sh_size of section 2, .debug_info, in a table of 6 at the end of the file.
  file[file.size() - 4 * sizeof(Elf64_Shdr) + 32 + 5] = 1;
  const TemporaryFolder folder;
  CHECK(why_not(folder.write("a.o", file)) ==
        "the file is truncated: section 2 .debug_info ends behind the end of the file; rebuild it");
}

TEST_CASE("No byte of the headers, whatever its value, makes reading unsafe", "[unit][elf]") {
  const std::string file = test::build_object({.debug_info = "12345678",
                                               .symbols = {{0, 1}, {1, SHN_XINDEX}},
                                               .relocations = {{0, 1, R_X86_64_64, 0}}});
  const TemporaryFolder folder;
  int opened = 0;
  for (std::size_t at = 4; at < file.size(); ++at) {
    for (const char value : {'\0', '\1', '\x7f', '\x80', '\xff'}) {
      std::string damaged = file;
      damaged[at] = value;
      const Result<ElfImage> image = ElfImage::open(folder.write("a.o", damaged));
      if (!image.ok()) {
        continue;
      }
      ++opened;
      const auto symbols = image.value().symbols();
      std::size_t bytes = 0;
      for (const ElfSection& section : image.value().sections()) {
        bytes += image.value().raw(section).size() + section.name.size();
      }
      CHECK((!symbols.ok() || symbols.value().size() < 100));
      CHECK(bytes < 100 * file.size());
    }
  }
  CHECK(opened > 0);
}

}  // namespace
}  // namespace btfloom
