#include "elf/relocate.h"

#include <elf.h>

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "elf/machines.h"
#include "elf/section_data.h"
#include "tests/support/command.h"
#include "tests/unit/elf/elf_builder.h"

namespace btfloom {
namespace {

using test::BuiltObject;
using test::BuiltRelocation;
using test::to_hex;
using namespace std::string_literals;

constexpr std::uint16_t kLoongarch = 258;

Result<SectionBytes> relocated(const BuiltObject& object) {
  const test::TemporaryFolder folder;
  const ElfImage image = test::open_image(folder.write("a.o", build_object(object)));
  Result<SectionBytes> bytes = debug_section(image, ".debug_info");
  CHECK((!bytes.ok() || object.relocations.empty() || bytes.value().owned != nullptr));
  return bytes;
}

std::string relocated_hex(const BuiltObject& object) {
  const auto bytes = relocated(object);
  INFO((bytes.ok() ? "" : bytes.error().text));
  REQUIRE(bytes.ok());
  return to_hex(bytes.value().bytes);
}

std::string why_not(const BuiltObject& object) {
  const auto bytes = relocated(object);
  REQUIRE_FALSE(bytes.ok());
  CHECK(bytes.error().kind == ErrorKind::kInput);
  CHECK_FALSE(bytes.error().file.empty());
  return bytes.error().text;
}

struct Case {
  const char* what;
  BuiltObject object;
  const char* expected;
};

// Symbol 1 is 0x24 in .text, so 0x10024. Expected values by the formula of the psABI: S + A, S + A
// - P, V + S + A ...
const std::vector<Case>& cases() {
  static const std::vector<test::BuiltSymbol> kText = {{0x24, 1}};
  static const std::vector<test::BuiltSymbol> kTwo = {{0x24, 1}, {0x4, 1}};
  constexpr ByteOrder kLittle = ByteOrder::little;
  constexpr ByteOrder kBig = ByteOrder::big;
  static const std::vector<Case> kCases = {
      {"x86-64: 64, addend of RELA, old contents ignored",
       {EM_X86_64, true, kLittle, true, std::string(8, '\x55'), kText, {{0, 1, R_X86_64_64, 2}}},
       "26 00 01 00 00 00 00 00"},
      {"x86-64: negative addend",
       {EM_X86_64, true, kLittle, true, std::string(4, '\0'), kText, {{0, 1, R_X86_64_32, -4}}},
       "20 00 01 00"},
      {"x86-64: relative to the place, whose section is at 0",
       {EM_X86_64, true, kLittle, true, std::string(8, '\0'), kText, {{4, 1, R_X86_64_PC32, 0}}},
       "00 00 00 00 20 00 01 00"},
      {"i386: the addend is what is there",
       {EM_386, false, kLittle, false, "\x08\0\0\0"s, kText, {{0, 1, R_386_32}}},
       "2c 00 01 00"},
      {"i386: a negative addend of two bytes",
       {EM_386, false, kLittle, false, "\xfc\xff"s, kText, {{0, 1, R_386_16}}},
       "20 00"},
      {"aarch64, big-endian",
       {EM_AARCH64, true, kBig, true, std::string(8, '\0'), kText, {{0, 1, R_AARCH64_ABS64, 1}}},
       "00 00 00 00 00 01 00 25"},
      {"s390x",
       {EM_S390, true, kBig, true, std::string(4, '\0'), kText, {{0, 1, R_390_32, 0}}},
       "00 01 00 24"},
      {"ppc: 32-bit RELA",
       {EM_PPC, false, kBig, true, std::string(4, '\0'), kText, {{0, 1, R_PPC_ADDR32, -4}}},
       "00 01 00 20"},
      {"sparc64: unaligned",
       {EM_SPARCV9, true, kBig, true, std::string(5, '\0'), kText, {{1, 1, R_SPARC_UA32, 0}}},
       "00 00 01 00 24"},
      {"m68k",
       {EM_68K, false, kBig, true, std::string(4, '\0'), kText, {{0, 1, R_68K_32, 0}}},
       "00 01 00 24"},
      {"sh: RELA",
       {EM_SH, false, kLittle, true, std::string(4, '\0'), kText, {{0, 1, R_SH_DIR32, 4}}},
       "28 00 01 00"},
      {"parisc",
       {EM_PARISC, false, kBig, true, std::string(4, '\0'), kText, {{0, 1, R_PARISC_DIR32, 0}}},
       "00 01 00 24"},
      {"riscv: a difference as ADD and SUB: 1 + 0x10024 - 0x10004",
       {EM_RISCV,
        true,
        kLittle,
        true,
        "\1\0\0\0"s,
        kTwo,
        {{0, 1, R_RISCV_ADD32, 0}, {0, 2, R_RISCV_SUB32, 0}}},
       "21 00 00 00"},
      {"riscv: SET6 and SUB6 keep the two high bits: 0x24 - 4 in the low six",
       {EM_RISCV,
        true,
        kLittle,
        true,
        "\x40"s,
        kTwo,
        {{0, 1, R_RISCV_SET6, 0}, {0, 2, R_RISCV_SUB6, 0}}},
       "60"},
      {"riscv: SET_ULEB128 and SUB_ULEB128 keep the length: 0x20 in three bytes",
       {EM_RISCV, true, kLittle, true, "\x80\x80\0\x77"s, kTwo, {{0, 1, 60, 0}, {0, 2, 61, 0}}},
       "a0 80 00 77"},
      {"loongarch: ADD and SUB of three bytes",
       {kLoongarch, true, kLittle, true, "\1\0\0\x77"s, kTwo, {{0, 1, 49, 0}, {0, 2, 54, 0}}},
       "21 00 00 77"},
      {"loongarch: ADD6 adds to what is there: 1 + 0x24 - 4",
       {kLoongarch, true, kLittle, true, "\x41"s, kTwo, {{0, 1, 105, 0}, {0, 2, 106, 0}}},
       "61"},
      {"loongarch: ADD_ULEB128 adds to what is there: 1 + 0x20 in two bytes, modulo 2^14",
       {kLoongarch, true, kLittle, true, "\x81\0"s, kTwo, {{0, 1, 107, 0}, {0, 2, 108, 0}}},
       "a1 00"},
      {"mips: REL, big-endian",
       {EM_MIPS, false, kBig, false, "\0\0\0\4"s, kText, {{0, 1, R_MIPS_32}}},
       "00 01 00 28"},
      {"mips64, little-endian: a symbol of 32 bits, then bytes",
       {EM_MIPS, true, kLittle, true, std::string(8, '\0'), kText, {{0, 1, R_MIPS_64, 1}}},
       "25 00 01 00 00 00 00 00"},
      {"mips64, big-endian: 32 then 64 widens with the sign",
       {EM_MIPS,
        true,
        kBig,
        true,
        std::string(8, '\x55'),
        kText,
        {{0, 1, R_MIPS_32 | R_MIPS_64 << 8, -0x10025}}},
       "ff ff ff ff ff ff ff ff"},
  };
  return kCases;
}

TEST_CASE("Each relocation does to the bytes what its psABI says", "[unit][elf]") {
  for (const Case& test : cases()) {
    INFO(test.what);
    CHECK(relocated_hex(test.object) == test.expected);
  }
}

TEST_CASE("A symbol counts from where its section is", "[unit][elf]") {
  // Of a debug section: its offset. Undefined, common: 0. Absolute: its value. Number 0: the addend
  // alone.
  const std::vector<test::BuiltSymbol> symbols = {
      {0x10, 2}, {0x30, SHN_UNDEF}, {0x30, SHN_COMMON}, {0x30, SHN_ABS}, {0, 1}};
  const auto value_of = [&](std::uint32_t symbol) {
    return relocated_hex({.debug_info = std::string(4, '\0'),
                          .symbols = symbols,
                          .relocations = {{0, symbol, R_X86_64_32, 1}}});
  };
  CHECK(value_of(0) == "01 00 00 00");
  CHECK(value_of(1) == "11 00 00 00");
  CHECK(value_of(2) == "01 00 00 00");
  CHECK(value_of(3) == "01 00 00 00");
  CHECK(value_of(4) == "31 00 00 00");
  CHECK(value_of(5) == "01 00 01 00");
}

TEST_CASE("A relocation that cannot be done is an error that names it", "[unit][elf]") {
  BuiltObject object{.debug_info = std::string(8, '\0'), .symbols = {{0, 1}}};
  SECTION("an offset that leaves no room for four bytes, as the second of two") {
    object.relocations = {{4, 1, R_X86_64_32}, {5, 1, R_X86_64_32}};
    CHECK(why_not(object) ==
          "relocation 1 of .debug_info (type 10 of x86-64) is behind the end of the section; "
          "the file is damaged, rebuild it");
  }
  SECTION("an offset near 2^64") {
    object.relocations = {{~std::uint64_t{0}, 1, R_X86_64_8}};
    CHECK(why_not(object).find("behind the end") != std::string::npos);
  }
  SECTION("a symbol that the table has not") {
    object.relocations = {{0, 2, R_X86_64_32}};
    CHECK(why_not(object) ==
          "relocation 0 of .debug_info (type 10 of x86-64) names symbol 2 of 2; the file is "
          "damaged, rebuild it");
  }
  SECTION("a type that only code has") {
    object.relocations = {{0, 1, R_X86_64_GOTPCREL}};
    CHECK(why_not(object) ==
          "relocation 0 of .debug_info (type 9 of x86-64) is of a type that has no place in a "
          "debug section; link the file with ld -r first");
  }
  SECTION("a type beyond every table") {
    object.relocations = {{0, 1, 0xffffffff}};
    CHECK(why_not(object).find("(type 4294967295 of x86-64)") != std::string::npos);
  }
  SECTION("a machine that nobody knows") {
    object.machine = 4242;
    object.relocations = {{0, 1, 1}};
    CHECK(why_not(object).find("(type 1 of machine 4242)") != std::string::npos);
  }
  SECTION("a ULEB128 without an end") {
    object.machine = EM_RISCV;
    object.debug_info = std::string(8, '\x80');
    object.relocations = {{0, 1, 60}};
    CHECK(why_not(object).find("behind the end") != std::string::npos);
  }
  SECTION("mips64: a second type that means nothing here") {
    object.machine = EM_MIPS;
    object.relocations = {{0, 1, R_MIPS_64 | R_MIPS_SUB << 8}};
    CHECK(why_not(object).find("no place in a debug section") != std::string::npos);
  }
}

TEST_CASE("Both forms of the rule table agree", "[unit][elf]") {
  for (const int number : {EM_X86_64, EM_AARCH64, EM_PARISC, 4242}) {
    const auto machine = static_cast<std::uint16_t>(number);
    const auto rules = relocation_rules(machine);
    for (std::uint32_t type = 0; type < rules.size() + 2; ++type) {
      const RelocationRule rule = relocation_rule(machine, type);
      const RelocationRule other = type < rules.size() ? rules[type] : RelocationRule{};
      CHECK((rule.action == other.action && rule.bytes == other.bytes));
    }
  }
}

}  // namespace
}  // namespace btfloom
