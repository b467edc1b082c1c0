// Split BTF: what a module holds on top of its base. Expected answers follow from
// docs/encoding-choices.md, "Split BTF".
#include <catch2/catch.hpp>

#include "tests/support/encode_file.h"
#include "tests/support/needs.h"

namespace btfloom::test {

namespace {

// The lines of the module's own types: behind those of the base.
std::vector<std::string> own_types(const Encoded& base, const Encoded& split) {
  std::vector<std::string> own;
  for (const std::string& line : lines_of(split.dump.substr(base.dump.size()))) {
    if (line.starts_with('[')) {
      own.push_back(line.substr(line.find("] ") + 2));
    }
  }
  return own;
}

struct Pair {
  Encoded base;
  Encoded split;
};

// Encodes `kernel` as a base and `module` (some units) on it.
Pair encode_pair(Program& program, const std::string& kernel,
                 const std::vector<std::string>& module, const Features& features = {}) {
  Pair pair;
  pair.base = program.encode({program.compile("kernel.c", kernel)}, features);
  REQUIRE(pair.base.ok);
  std::vector<std::string> objects;
  for (const std::string& unit : module) {
    objects.push_back(program.compile("m" + std::to_string(objects.size()) + ".c", unit));
  }
  pair.split = program.encode_split(objects, pair.base.path, features);
  INFO(pair.split.error.text);
  REQUIRE(pair.split.ok);
  return pair;
}

}  // namespace

TEST_CASE("What the base has is not written again, typedefs and functions included", "[golden]") {
  NEEDS("gcc");
  NEEDS("clang-14");
  NEEDS("bpftool");
  Program program(GENERATE("gcc", "clang-14"));
  const std::string shared = R"(
    typedef unsigned int u32;
    struct list { struct list *next; };
    struct item { struct list list; u32 flags : 3, rest : 29; u32 table[4]; const char *name; };
    union either { u32 a; long b; };
    enum state { OFF, ON = 5 };
    typedef int (*callback)(struct item *item, enum state state, union either e);
    int get(struct item *i, callback f, union either e) { return f(i, ON, e); }
  )";
  SECTION("the same source twice: an empty split BTF, which the kernel takes") {
    const Pair pair = encode_pair(program, shared, {shared});
    CHECK(own_types(pair.base, pair.split).empty());
    CHECK(pair.split.result.types_written == 0);
    CHECK(pair.split.btf.size() == 24);  // a header: no types, no strings
  }
  SECTION("only the new types, on the numbers and strings of the base") {
    const Pair pair = encode_pair(
        program, shared,
        {shared + "struct own { struct item *item; u32 more; }; struct own *o; int twice(struct "
                  "own *own) { return own->more; }"});
    CHECK(own_types(pair.base, pair.split).size() == 4);  // own, PTR, FUNC_PROTO, FUNC
    CHECK(type_text(pair.split, "STRUCT 'own'") ==
          "STRUCT 'own' size=16 { 'item' PTR STRUCT 'item' @0; 'more' TYPEDEF 'u32' @64 }");
    CHECK(type_text(pair.split, "FUNC 'twice'") ==
          "FUNC 'twice' ('own' PTR STRUCT 'own') -> INT 'int'");
    const std::string bytes(reinterpret_cast<const char*>(pair.split.btf.data()),
                            pair.split.btf.size());
    CHECK(bytes.find("twice") != std::string::npos);
    CHECK(bytes.find("flags") == std::string::npos);
  }
}

TEST_CASE("A type that differs from the base's of the same name is written", "[golden]") {
  NEEDS("gcc");
  NEEDS("bpftool");
  Program program;
  const Pair pair = encode_pair(
      program, "struct s { int a; }; struct user { struct s *s; }; struct s s; struct user u;",
      {"struct s { long a; }; struct user { struct s *s; }; struct s s; struct user u;",
       "struct s { int a; }; struct user { struct s *s; }; struct s s; struct user u;"});
  // The user of another s is another user, though both look alike as far as names go; the second
  // unit agrees with the base.
  const std::vector<std::string> own = own_types(pair.base, pair.split);
  REQUIRE(own.size() == 4);
  CHECK(own[0] == "STRUCT 's' size=8 vlen=1");
  CHECK(own[1].starts_with("INT 'long int'"));
  CHECK(own[2] == "STRUCT 'user' size=8 vlen=1");
  CHECK(own[3].starts_with("PTR"));
}

TEST_CASE("A definition in the base is what a module's declaration stands for", "[golden]") {
  NEEDS("gcc");
  NEEDS("bpftool");
  Program program;
  const Pair pair =
      encode_pair(program, "struct s { int a; }; struct s *s; struct t { struct s *s; } t;",
                  {"struct s; struct s *s; struct t { struct s *s; } t;"});
  CHECK(own_types(pair.base, pair.split).empty());
}

TEST_CASE("What the base only declares a module may define", "[golden]") {
  NEEDS("gcc");
  NEEDS("bpftool");
  Program program;
  const std::string kernel =
      "struct table; struct outer { struct entry { struct table *table; int key; } entry; int n; } "
      "o;";
  SECTION("the definition, a pointer to it, and the first struct that shows it") {
    const Pair pair =
        encode_pair(program, kernel, {"struct table { int size; };" + kernel, kernel});
    const std::vector<std::string> own = own_types(pair.base, pair.split);
    REQUIRE(own.size() == 3);
    CHECK(own[0] == "STRUCT 'table' size=4 vlen=1");
    CHECK(own[1] == "STRUCT 'entry' size=16 vlen=2");
    CHECK(own[2].starts_with("PTR"));
  }
  SECTION("a module that declares it too adds nothing") {
    CHECK(own_types(encode_pair(program, kernel, {kernel}).base,
                    encode_pair(program, kernel, {kernel}).split)
              .empty());
  }
}

TEST_CASE("Array index and made-up int are those of the base", "[golden]") {
  NEEDS("gcc");
  NEEDS("bpftool");
  Program program;
  // No unit of the module has an int of its own.
  const Pair pair = encode_pair(program, "int a[2]; char c;", {"char more[7];"});
  const std::vector<std::string> own = own_types(pair.base, pair.split);
  REQUIRE(own.size() == 1);
  CHECK(own[0].starts_with("ARRAY"));
  CHECK(type_text(pair.split, "INT 'int'") != "");
  CHECK(count(pair.split, "INT 'int'") == 1);
}

TEST_CASE("Declaration tags that the base has are not repeated", "[golden]") {
  NEEDS("clang-14");
  NEEDS("bpftool");
  Program program("clang-14");
  const std::string tagged =
      "struct __attribute__((btf_decl_tag(\"one\"))) s { int a; } s; "
      "__attribute__((btf_decl_tag(\"two\"))) int f(int x) { return x; }";
  const Pair pair = encode_pair(
      program, tagged, {tagged + " struct __attribute__((btf_decl_tag(\"one\"))) t { int a; } t;"});
  const std::vector<std::string> own = own_types(pair.base, pair.split);
  REQUIRE(own.size() == 2);
  CHECK(own[0] == "STRUCT 't' size=4 vlen=1");
  CHECK(own[1].starts_with("DECL_TAG 'one'"));
}

TEST_CASE("Both byte orders and widths can be split", "[golden]") {
  NEEDS("clang-14");
  Program program("clang-14");
  const std::string target =
      GENERATE("s390x-linux-gnu", "mips-linux-gnu", "armv7-linux-gnueabi", "riscv64-linux-gnu");
  const std::vector<std::string> flags = {"--target=" + target};
  const std::string shared = "struct s { int a; short b[3]; } s; enum e { A = -1 } e;";
  const Encoded base = program.encode({program.compile("kernel.c", shared, flags)});
  REQUIRE(base.ok);
  const Encoded split = program.encode_split(
      {program.compile("module.c", shared + " struct t { struct s s; } t;", flags)}, base.path);
  REQUIRE(split.ok);
  CHECK(split.result.types_written == 1);
  SECTION("but not mixed") {
    const Encoded other = program.encode_split(
        {program.compile("other.c", shared, {"--target=x86_64-linux-gnu"})}, base.path);
    const bool same_order = target != "s390x-linux-gnu" && target != "mips-linux-gnu";
    CHECK(other.ok == same_order);  // a raw base says nothing but its byte order
    if (!same_order) {
      CHECK(other.error.text.find("another machine") != std::string::npos);
    }
  }
}

TEST_CASE("Bases that cannot be used are errors that name them", "[golden]") {
  NEEDS("gcc");
  Program program;
  const std::string object = program.compile("module.c", "int i;");
  const auto text_for = [&](const std::string& base) {
    const Encoded e = program.encode_split({object}, base);
    CHECK_FALSE(e.ok);
    CHECK(e.error.file == base);
    return e.error.text;
  };
  CHECK(text_for(program.folder().path("missing")).find("No such file") != std::string::npos);
  CHECK(text_for(object).find("no section .BTF") != std::string::npos);
  CHECK(text_for(program.folder().write("text", "hello")).find("neither BTF nor an ELF file") !=
        std::string::npos);
  const Encoded base = program.encode({program.compile("kernel.c", "struct s { int a; } s;")});
  const auto cut = [&](std::size_t size) {
    return program.folder().write("cut", {reinterpret_cast<const char*>(base.btf.data()), size});
  };
  CHECK(text_for(cut(base.btf.size() - 1)).find("points behind its end") != std::string::npos);
  CHECK(text_for(cut(12)).find("too short") != std::string::npos);
  const Encoded split =
      program.encode_split({program.compile("m.c", "struct t { int b; } t;")}, base.path);
  REQUIRE(split.ok);
  CHECK(text_for(split.path).find("is it a split BTF?") != std::string::npos);
}

TEST_CASE("A base in an ELF file of another machine is refused", "[golden]") {
  NEEDS("clang-14");
  Program program("clang-14");
  const std::string kernel =
      program.compile("kernel.c", "struct s { int a; } s;", {"--target=riscv64-linux-gnu"});
  EncodeOptions options;
  options.inputs = {kernel};
  options.output_kind = OutputKind::kInPlace;
  Diagnostics diagnostics;
  EncodeResult result;
  const auto slots = fixed_slots(1);
  REQUIRE(encode(options, *slots, diagnostics, result).ok());
  const Encoded e = program.encode_split({program.compile("module.c", "int i;")}, kernel);
  REQUIRE_FALSE(e.ok);
  CHECK(e.error.file == kernel);
  CHECK(e.error.text.find("another machine") != std::string::npos);
}

}  // namespace btfloom::test
