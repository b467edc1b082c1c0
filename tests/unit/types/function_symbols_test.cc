#include "types/function_symbols.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace btfloom::test {

namespace {

bool is_ambiguous(const FunctionSymbols& symbols, std::string_view stem) {
  return symbols[symbols.find(0, stem)].is_ambiguous;
}

}  // namespace

TEST_CASE("Variants share the stem of a function; parts of it are no functions", "[unit][types]") {
  FunctionSymbols symbols;
  symbols.add_file();
  symbols.add("foo", 0x100);
  symbols.add("foo.constprop.0", 0x100);
  symbols.add("foo.cold", 0x900);
  symbols.add("bar.part.0", 0x200);
  symbols.add("bar.isra.0.cold", 0x300);
  symbols.add("zz", 1);
  symbols.finish_file();
  REQUIRE(symbols.size() == 2);
  const FunctionSymbol& foo = symbols[symbols.find(0, "foo")];
  CHECK(symbols.member(foo.first_member).name == "foo");
  CHECK(symbols.member(foo.last_member).name == "foo.constprop.0");
  CHECK(symbols.find(0, "bar") == FunctionSymbols::kNotFound);
  CHECK(symbols.find(0, "foo.constprop.0") == FunctionSymbols::kNotFound);
}

TEST_CASE("A stem with two addresses is ambiguous; 0 before an address says nothing",
          "[unit][types]") {
  FunctionSymbols symbols;
  symbols.add_file();
  symbols.add("same", 0x10);
  symbols.add("same.isra.0", 0x10);
  symbols.add("two", 0x10);
  symbols.add("two", 0x20);
  symbols.add("import", 0);
  symbols.add("import", 0x30);
  symbols.add("back", 0x30);  // an address, then 0: different after all
  symbols.add("back", 0);
  symbols.add("zlast", 0x10);  // the last stem by name is never marked, as in the peer
  symbols.add("zlast", 0x20);
  symbols.finish_file();
  CHECK_FALSE(is_ambiguous(symbols, "same"));
  CHECK(is_ambiguous(symbols, "two"));
  CHECK_FALSE(is_ambiguous(symbols, "import"));
  CHECK(is_ambiguous(symbols, "back"));
  CHECK_FALSE(is_ambiguous(symbols, "zlast"));
}

TEST_CASE("Files have tables of their own, and thousands of stems are found again",
          "[unit][types]") {
  FunctionSymbols symbols;
  for (int file = 0; file < 2; ++file) {
    symbols.add_file();
    for (int i = 0; i < 5000; ++i) {
      static std::vector<std::string> names(5000);
      names[i] = "f" + std::to_string(i);
      symbols.add(names[i], static_cast<std::uint64_t>(file * 10000 + i + 1));
    }
    symbols.finish_file();
  }
  REQUIRE(symbols.size() == 10000);
  for (int i = 0; i < 5000; ++i) {
    const std::uint32_t in_second = symbols.find(1, "f" + std::to_string(i));
    REQUIRE(symbols.member(symbols[in_second].first_member).value ==
            static_cast<std::uint64_t>(10000 + i + 1));
  }
  CHECK(symbols.find(0, "f5000") == FunctionSymbols::kNotFound);
}

}  // namespace btfloom::test
