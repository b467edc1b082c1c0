// For tests: a relocatable file with one debug section, made by hand, for machines that no compiler
// here knows and for relocations that no compiler emits. And what every test of this folder needs:
// compile, open, compare.
#pragma once

#include <elf.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include "elf/image.h"
#include "support/bytes.h"
#include "tests/support/command.h"

namespace btfloom::test {

struct BuiltRelocation {
  std::uint64_t offset = 0;
  std::uint32_t symbol = 0;
  std::uint32_t type = 0;
  std::int64_t addend = 0;  // RELA only
};

// A symbol: st_value and st_shndx. Section 1 is .text, which begins at 0x10000 (image.h); 2 is
// .debug_info.
struct BuiltSymbol {
  std::uint64_t value = 0;
  std::uint16_t section = 1;
};

struct BuiltObject {
  std::uint16_t machine = EM_X86_64;
  bool is_64_bit = true;
  ByteOrder order = ByteOrder::little;
  bool has_addends = true;  // RELA, else REL
  std::string debug_info = {};
  std::vector<BuiltSymbol> symbols = {};  // behind the null symbol: the first is number 1
  std::vector<BuiltRelocation> relocations = {};
};

// The bytes of the file: null, .text (16 bytes), .debug_info, .rel[a].debug_info, .symtab,
// .shstrtab.
std::string build_object(const BuiltObject& object);

// Compiles `source` with `command` ("gcc", "-c", ...) plus -o and the names, into the folder.
// Returns the output's path.
std::string compile(const TemporaryFolder& folder, std::vector<std::string> command,
                    std::string_view source, std::string_view output);

// Opens what must open.
ElfImage open_image(const std::string& path);

std::string read_text(const std::string& path);

// "de ad be ef"
std::string to_hex(Bytes bytes);

}  // namespace btfloom::test
