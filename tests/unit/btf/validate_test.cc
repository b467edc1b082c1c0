// Every rule of validate() by the smallest BTF that breaks it. That the kernel refuses the same is
// shown in tests/oracle/kernel_accepts_test.cc.
#include "btf/validate.h"

#include <catch2/catch.hpp>

#include "tests/support/btf_builder.h"

namespace btfloom::test {

namespace {

std::vector<std::string> violations_of(const BtfBuilder& builder) {
  const std::vector<std::byte> bytes = builder.bytes();
  const Result<BtfImage> image = BtfImage::parse(bytes, nullptr);
  REQUIRE(image.ok());
  std::vector<std::string> texts;
  for (const Violation& violation : validate(image.value())) {
    texts.push_back(std::to_string(violation.type) + " " + violation.text);
  }
  return texts;
}

using Words = std::vector<std::uint32_t>;
using Texts = std::vector<std::string>;

// An int, number 1, and the record.
Texts of_record(BtfKind kind, const std::string& name, const BtfRest& rest) {
  BtfBuilder b;
  b.add_int();
  b.add(kind, name, rest);
  return violations_of(b);
}

}  // namespace

TEST_CASE("a sound BTF has no violations", "[btf]") {
  BtfBuilder b;
  const auto i = b.add_int();
  const auto s = b.next();
  b.add_struct("s", 16, {{"next", s + 1, 0}, {"", i, 64}});
  b.add(BtfKind::kPtr, "", {.size_or_type = s});
  const auto prototype = b.add_prototype(0, {{"a", s + 1}, {"", 0}});
  b.add(BtfKind::kFunc, "f", {.size_or_type = prototype});
  CHECK(violations_of(b).empty());
}

TEST_CASE("a BTF without a type is refused", "[btf]") {
  CHECK(violations_of(BtfBuilder()) == Texts{"0 there is no type"});
}

TEST_CASE("an integer fits its bytes and is one thing", "[btf]") {
  const auto of_int = [](std::uint32_t size, std::uint32_t word) {
    BtfBuilder b;
    b.add(BtfKind::kInt, "i", {.size_or_type = size, .words = {word}});
    return violations_of(b);
  };
  CHECK(of_int(4, 32).empty());
  CHECK(of_int(4, 4U << 24 | 1).empty());
  CHECK(of_int(4, 33) == Texts{"1 INT 'i': has more bits than bytes to hold them"});
  CHECK(of_int(32, 129) == Texts{"1 INT 'i': has more than 128 bits"});
  CHECK(of_int(4, 3U << 24 | 32) == Texts{"1 INT 'i': is more than one of signed, char and bool"});
  CHECK(of_int(4, 8U << 24 | 32) == Texts{"1 INT 'i': has an unknown encoding"});
  CHECK(of_int(4, 1U << 28 | 32) ==
        Texts{"1 INT 'i': sets bits of its encoding that mean nothing"});
}

TEST_CASE("names are identifiers where the kernel asks for them", "[btf]") {
  const std::string bad = "is no identifier: letters, digits, '_' and '.' only, at most 511 bytes";
  CHECK(of_record(BtfKind::kTypedef, "a b", {.size_or_type = 1}) ==
        Texts{"2 TYPEDEF 'a b': " + bad});
  CHECK(of_record(BtfKind::kTypedef, "1a", {.size_or_type = 1}) == Texts{"2 TYPEDEF '1a': " + bad});
  CHECK(of_record(BtfKind::kTypedef, "a.1", {.size_or_type = 1}).empty());
  CHECK(of_record(BtfKind::kTypedef, std::string(511, 'x'), {.size_or_type = 1}).empty());
  CHECK(of_record(BtfKind::kTypedef, std::string(512, 'x'), {.size_or_type = 1}).size() == 1);
  CHECK(of_record(BtfKind::kTypedef, "", {.size_or_type = 1}) ==
        Texts{"2 TYPEDEF: has no name, which its kind must have"});
  CHECK(of_record(BtfKind::kStruct, "Vec<int>", {}) == Texts{"2 STRUCT 'Vec<int>': " + bad});
  CHECK(of_record(BtfKind::kPtr, "p", {.size_or_type = 1}) ==
        Texts{"2 PTR 'p': has a name, which its kind must not have"});
  CHECK(of_record(BtfKind::kTypeTag, "any text at all", {.size_or_type = 1}).empty());
  CHECK(of_record(BtfKind::kTypeTag, "", {.size_or_type = 1}) == Texts{"2 TYPE_TAG: has no value"});
  BtfBuilder b;
  b.add_words(1000, btf_info(BtfKind::kStruct, 0, false), 0);
  CHECK(violations_of(b) == Texts{"1 STRUCT: has its name outside of the strings"});
}

TEST_CASE("kind_flag, counts and spare bits mean nothing for most kinds", "[btf]") {
  CHECK(of_record(BtfKind::kPtr, "", {.size_or_type = 1, .kind_flag = true}) ==
        Texts{"2 PTR: has kind_flag set, which means nothing for its kind"});
  CHECK(of_record(BtfKind::kPtr, "", {.size_or_type = 1, .count = 3}) ==
        Texts{"2 PTR: has a count of parts, which its kind has not"});
  BtfBuilder b;
  b.add_words(0, btf_info(BtfKind::kPtr, 0, false) | 1U << 20, 0);
  CHECK(violations_of(b) == Texts{"1 PTR: sets bits of its info word that mean nothing"});
}

TEST_CASE("references lead to what exists", "[btf]") {
  CHECK(of_record(BtfKind::kPtr, "", {.size_or_type = 3}) ==
        Texts{"2 PTR: refers to a type that does not exist"});
  CHECK(of_record(BtfKind::kArray, "", {.words = {0, 1, 4}}) ==
        Texts{"2 ARRAY: refers to void, which its kind must not do"});
  CHECK(of_record(BtfKind::kVar, "v", {.size_or_type = 9, .words = {0}}) ==
        Texts{"2 VAR 'v': refers to a type that does not exist"});
}

TEST_CASE("members lie in their struct, in order, at places that they can have", "[btf]") {
  const auto of_members = [](std::uint32_t size, const std::vector<BtfBuilder::Field>& fields,
                             bool kind_flag = false, BtfKind kind = BtfKind::kStruct) {
    BtfBuilder b;
    b.add_int();                                            // 1
    b.add(BtfKind::kFwd, "f");                              // 2
    b.add(BtfKind::kFloat, "double", {.size_or_type = 8});  // 3
    b.add_int("long unsigned int", 8);                      // 4: the size of a pointer
    b.add_struct("s", size, fields, kind, kind_flag);
    return violations_of(b);
  };
  const std::string a = "5 STRUCT 's': member 'a' ";
  CHECK(of_members(8, {{"a", 1, 0}, {"b", 1, 32}}).empty());
  CHECK(of_members(8, {{"b", 1, 32}, {"a", 1, 0}}) ==
        Texts{a + "is before the one in front of it"});
  CHECK(of_members(4, {{"a", 1, 40}}) == Texts{a + "begins behind the end of the struct"});
  CHECK(of_members(4, {{"a", 1, 8}}) == Texts{a + "ends behind the struct"});
  CHECK(of_members(4, {{"a", 0, 0}}) == Texts{a + "is void"});
  CHECK(of_members(4, {{"a", 7, 0}}) == Texts{a + "has a type that does not exist"});
  CHECK(of_members(4, {{"a", 2, 0}}) == Texts{a + "has a type without a size"});
  CHECK(of_members(4, {{"a-b", 1, 0}}) ==
        Texts{"5 STRUCT 's': member 'a-b' has a name that is no identifier"});
  CHECK(of_members(16, {{"a", 3, 32}}) == Texts{a + "is a float that is not aligned"});
  CHECK(of_members(16, {{"a", 3, 1}}) == Texts{a + "is not at a whole byte"});
  CHECK(of_members(8, {{"a", 1, 33U << 24}}, true) == Texts{a + "has more bits than its type"});
  CHECK(of_members(8, {{"a", 1, 1}}, true) == Texts{a + "is no bitfield and not at a whole byte"});
  CHECK(of_members(8, {{"a", 3, 3U << 24}}, true) ==
        Texts{a + "is a bitfield of a type that has none"});
  CHECK(of_members(8, {{"", 1, 0}, {"", 1, 64}}).size() == 1);
  CHECK(of_members(8, {{"a", 1, 32}}, false, BtfKind::kUnion) ==
        Texts{"5 UNION 's': member 'a' of a union is not at bit 0"});
}

TEST_CASE("structs and arrays do not hold themselves, pointers may", "[btf]") {
  BtfBuilder b;
  const auto i = b.add_int();
  b.add_struct("s", 4, {{"a", i + 2, 0}});
  b.add(BtfKind::kArray, "", {.words = {i + 1, i, 1}});
  CHECK(violations_of(b) == Texts{"2 STRUCT 's': holds itself"});

  BtfBuilder pointers;
  pointers.add(BtfKind::kPtr, "", {.size_or_type = 2});
  pointers.add(BtfKind::kPtr, "", {.size_or_type = 1});
  CHECK(violations_of(pointers) == Texts{"1 PTR: leads back to itself through pointers only"});

  BtfBuilder modifiers;
  modifiers.add(BtfKind::kConst, "", {.size_or_type = 1});
  CHECK(
      violations_of(modifiers) ==
      Texts{
          "1 CONST: is more than 32 typedefs, qualifiers and tags in a row, or goes in a circle"});
}

TEST_CASE("type tags stand in front of typedefs and qualifiers", "[btf]") {
  BtfBuilder b;
  const auto i = b.add_int();
  const auto tag = b.add(BtfKind::kTypeTag, "user", {.size_or_type = i});
  b.add(BtfKind::kConst, "", {.size_or_type = tag});
  CHECK(violations_of(b) == Texts{"3 CONST: has a type tag behind a typedef or qualifier"});
}

TEST_CASE("nothing points to a variable or a function", "[btf]") {
  BtfBuilder b;
  const auto i = b.add_int();
  const auto variable = b.add(BtfKind::kVar, "v", {.size_or_type = i, .words = {1}});
  b.add(BtfKind::kPtr, "", {.size_or_type = variable});
  const auto prototype = b.add_prototype(0, {});
  const auto f = b.add(BtfKind::kFunc, "f", {.size_or_type = prototype});
  b.add(BtfKind::kPtr, "", {.size_or_type = f});
  b.add(BtfKind::kPtr, "", {.size_or_type = prototype});
  CHECK(violations_of(b) == Texts{"3 PTR: refers to a variable, section or declaration tag",
                                  "6 PTR: refers to a function instead of its prototype"});
}

TEST_CASE("a pointer is as large as `long`, or as said", "[btf]") {
  BtfBuilder b;
  const auto pointer = b.add(BtfKind::kPtr, "");
  b.add_struct("s", 4, {{"p", pointer, 0}});
  std::vector<std::byte> bytes = b.bytes();
  Result<BtfImage> image = BtfImage::parse(bytes, nullptr);
  REQUIRE(image.ok());
  CHECK(validate(image.value()).empty());
  CHECK(validate(image.value(), {.pointer_size = 8}).size() == 1);
  b.add_int("long int", 8);
  CHECK(violations_of(b) == Texts{"2 STRUCT 's': member 'p' ends behind the struct"});
}

TEST_CASE("arrays have sized elements and an integer for an index", "[btf]") {
  BtfBuilder b;
  const auto i = b.add_int();
  const auto fwd = b.add(BtfKind::kFwd, "f");
  b.add(BtfKind::kArray, "", {.words = {fwd, i, 4}});
  b.add(BtfKind::kArray, "", {.words = {i, fwd, 4}});
  const auto large = b.add(BtfKind::kArray, "", {.words = {i, i, 1U << 29}});
  b.add(BtfKind::kArray, "", {.words = {large, i, 4}});
  CHECK(violations_of(b) == Texts{"3 ARRAY: has elements without a size",
                                  "4 ARRAY: has an index that is no plain integer",
                                  "6 ARRAY: is larger than 4 GiB"});
}

TEST_CASE("enumerations have a size of 1, 2, 4 or 8 and named values", "[btf]") {
  CHECK(of_record(BtfKind::kEnum, "e", {.size_or_type = 3}) ==
        Texts{"2 ENUM 'e': has a size that is not 1, 2, 4 or 8"});
  CHECK(of_record(BtfKind::kEnum64, "e", {.size_or_type = 16}) ==
        Texts{"2 ENUM64 'e': has a size that is not 1, 2, 4 or 8"});
  CHECK(of_record(BtfKind::kEnum, "e", {.size_or_type = 4, .count = 1, .words = {0, 7}}) ==
        Texts{"2 ENUM 'e': enumerator 0 has a name that is no identifier"});
}

TEST_CASE("functions have a prototype with names, a linkage and no flag", "[btf]") {
  const auto of_function = [](const std::vector<BtfBuilder::Field>& parameters,
                              std::uint32_t linkage) {
    BtfBuilder b;
    b.add_int();
    b.add(BtfKind::kFwd, "g");
    b.add_prototype(1, parameters);
    b.add(BtfKind::kFunc, "f", {.size_or_type = 3, .count = linkage});
    return violations_of(b);
  };
  CHECK(of_function({{"a", 1}, {"", 0}}, 1).empty());
  CHECK(of_function({}, 2) == Texts{"4 FUNC 'f': has a linkage that is neither static nor global"});
  CHECK(of_function({{"", 1}}, 0) == Texts{"4 FUNC 'f': has a parameter without a name"});
  CHECK(of_function({{"a", 2}}, 0) ==
        Texts{"3 FUNC_PROTO: parameter 'a' has a type without a size"});
  CHECK(of_function({{"", 0}, {"a", 1}}, 0) ==
        Texts{"3 FUNC_PROTO: parameter 0 is void, which only the last one may be (variable "
              "arguments)"});
  CHECK(of_function({{"a", 0}}, 0) ==
        Texts{"3 FUNC_PROTO: parameter 'a' stands for variable arguments and has a name"});
  CHECK(of_record(BtfKind::kFunc, "f", {.size_or_type = 1}) ==
        Texts{"2 FUNC 'f': has no prototype but something else"});
  CHECK(of_record(BtfKind::kFuncProto, "p", {.size_or_type = 1}) ==
        Texts{"2 FUNC_PROTO 'p': has a name, which its kind must not have"});
}

TEST_CASE("variables lie in their section, in order, with room for their type", "[btf]") {
  const auto of_section = [](std::uint32_t size, const std::string& name, const Words& words) {
    BtfBuilder b;
    const auto i = b.add_int();
    b.add(BtfKind::kVar, "v", {.size_or_type = i, .words = {0}});
    b.add(BtfKind::kVar, "w", {.size_or_type = i, .words = {1}});
    b.add(BtfKind::kDatasec, name,
          {.size_or_type = size,
           .count = static_cast<std::uint32_t>(words.size() / 3),
           .words = words});
    return violations_of(b);
  };
  const std::string s = "4 DATASEC '.data': ";
  CHECK(of_section(8, ".data", {2, 0, 4, 3, 4, 4}).empty());
  CHECK(of_section(0, ".data", {}) == Texts{s + "has a size of 0"});
  CHECK(of_section(8, "\x01", {}) ==
        Texts{"4 DATASEC '\x01': has a name with unprintable bytes, or none"});
  CHECK(of_section(8, ".data", {2, 4, 4, 3, 0, 4}) ==
        Texts{s + "variable 1 overlaps the one in front of it"});
  CHECK(of_section(8, ".data", {2, 6, 4}) == Texts{s + "variable 0 ends behind the section"});
  CHECK(of_section(8, ".data", {2, 0, 0}) == Texts{s + "variable 0 has a size of 0"});
  CHECK(of_section(8, ".data", {2, 0, 2}) ==
        Texts{s + "variable 'v' has less room than its type takes"});
  CHECK(of_section(8, ".data", {1, 0, 4}) == Texts{s + "variable 0 is no variable"});
  CHECK(of_record(BtfKind::kVar, "v", {.size_or_type = 1, .words = {2}}) ==
        Texts{"2 VAR 'v': has a linkage that is neither static nor global"});
}

TEST_CASE("declaration tags name a part that is there", "[btf]") {
  const auto of_tag = [](std::uint32_t target, std::uint32_t component) {
    BtfBuilder b;
    const auto i = b.add_int();
    b.add_struct("s", 8, {{"a", i, 0}, {"b", i, 32}});
    b.add_prototype(0, {{"x", i}});
    b.add(BtfKind::kFunc, "f", {.size_or_type = 3});
    b.add(BtfKind::kTypedef, "t", {.size_or_type = i});
    b.add(BtfKind::kDeclTag, "tag", {.size_or_type = target, .words = {component}});
    return violations_of(b);
  };
  const std::string tag = "6 DECL_TAG 'tag': ";
  CHECK(of_tag(2, UINT32_MAX).empty());
  CHECK(of_tag(2, 1).empty());
  CHECK(of_tag(4, 0).empty());
  CHECK(of_tag(2, 2) == Texts{tag + "is of member or parameter 2, of 2"});
  CHECK(of_tag(4, 1) == Texts{tag + "is of member or parameter 1, of 1"});
  CHECK(of_tag(5, 0) == Texts{tag + "is of member or parameter 0, of 0"});
  CHECK(of_tag(1, UINT32_MAX) == Texts{tag + "is of something that has no declaration"});
  CHECK(of_tag(2, UINT32_MAX - 1) == Texts{tag + "has a negative component_idx that is not -1"});
}

TEST_CASE("forward declarations and floats", "[btf]") {
  CHECK(of_record(BtfKind::kFwd, "", {}) == Texts{"2 FWD: has no name, which its kind must have"});
  CHECK(of_record(BtfKind::kFwd, "f", {.size_or_type = 1}) ==
        Texts{"2 FWD 'f': refers to a type, which its kind does not"});
  CHECK(of_record(BtfKind::kFloat, "f", {.size_or_type = 12}).empty());
  CHECK(of_record(BtfKind::kFloat, "f", {.size_or_type = 3}) ==
        Texts{"2 FLOAT 'f': has a size that is not 2, 4, 8, 12 or 16"});
}

TEST_CASE("a split BTF is held to the rules by its own types, references into the base count",
          "[btf]") {
  BtfBuilder base_builder;
  base_builder.add_int();
  base_builder.add(BtfKind::kFwd, "hidden");
  const std::vector<std::byte> base_bytes = base_builder.bytes();
  const Result<BtfImage> base = BtfImage::parse(base_bytes, nullptr);
  REQUIRE(base.ok());
  BtfBuilder b(&base.value());
  b.add_struct("s", 4, {{"a", 1, 0}});
  b.add_struct("t", 4, {{"a", 2, 0}});
  const std::vector<std::byte> bytes = b.bytes();
  const Result<BtfImage> image = BtfImage::parse(bytes, &base.value());
  REQUIRE(image.ok());
  const std::vector<Violation> found = validate(image.value());
  REQUIRE(found.size() == 1);
  CHECK(found[0].type == 4);
  CHECK(found[0].text == "STRUCT 't': member 'a' has a type without a size");
}

TEST_CASE("no more violations are told than asked for", "[btf]") {
  BtfBuilder b;
  for (int i = 0; i < 10; ++i) {
    b.add(BtfKind::kTypedef, "", {.size_or_type = 99});
  }
  const std::vector<std::byte> bytes = b.bytes();
  const Result<BtfImage> image = BtfImage::parse(bytes, nullptr);
  REQUIRE(image.ok());
  CHECK(validate(image.value(), {.most = 3}).size() == 3);
}

}  // namespace btfloom::test
