#include "btf/strings.h"

#include <string>

#include <catch2/catch.hpp>

namespace btfloom::test {

TEST_CASE("Every string stands once, behind the empty one, in order of first use", "[unit][btf]") {
  StringSection strings;
  CHECK(strings.add("") == 0);
  CHECK(strings.add("int") == 1);
  CHECK(strings.add("a") == 5);  // "int" and its NUL take 1 to 4
  CHECK(strings.add("int") == 1);
  CHECK(strings.add("in") == 7);
  CHECK(std::string(as_text(strings.bytes())) == std::string("\0int\0a\0in\0", 10));
}

TEST_CASE("Thousands of strings keep their offsets while the table grows", "[unit][btf]") {
  StringSection strings;
  std::vector<std::uint32_t> offsets;
  for (int i = 0; i < 20000; ++i) {
    offsets.push_back(strings.add("name" + std::to_string(i)));
  }
  for (int i = 0; i < 20000; ++i) {
    REQUIRE(strings.add("name" + std::to_string(i)) == offsets[static_cast<std::size_t>(i)]);
    REQUIRE(std::string(reinterpret_cast<const char*>(strings.bytes().data()) +
                        offsets[static_cast<std::size_t>(i)]) == "name" + std::to_string(i));
  }
}

}  // namespace btfloom::test
