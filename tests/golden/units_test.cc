// Several units: what is folded, what stays apart, and what forward declarations stand for.
// Expected answers follow from the rules of btf__dedup (libbpf) and docs/encoding-choices.md.
#include <catch2/catch.hpp>

#include "tests/support/encode_file.h"
#include "tests/support/needs.h"

namespace btfloom::test {

namespace {

Encoded encode_units(Program& program, const std::vector<std::string>& sources,
                     unsigned slots = 1) {
  std::vector<std::string> objects;
  for (const std::string& source : sources) {
    objects.push_back(program.compile("u" + std::to_string(objects.size()) + ".c", source));
  }
  Encoded encoded = program.encode(objects, {}, slots);
  REQUIRE(encoded.ok);
  return encoded;
}

}  // namespace

TEST_CASE("A declared struct stands for its only definition", "[golden]") {
  NEEDS("gcc");
  NEEDS("clang-14");
  NEEDS("bpftool");
  Program program(GENERATE("gcc", "clang-14"));
  const Encoded e =
      encode_units(program, {"struct s; struct s *p;", "struct s { int a; }; struct s *q;"});
  CHECK(count(e, "FWD") == 0);
  CHECK(count(e, "STRUCT 's'") == 1);
  CHECK(count(e, "PTR") == 1);
}

TEST_CASE("A declared struct without a definition stays declared", "[golden]") {
  NEEDS("gcc");
  NEEDS("bpftool");
  Program program;
  const Encoded e = encode_units(
      program, {"struct s; struct s *p;", "struct s; union u; struct s *p2; union u *q;"});
  CHECK(count(e, "FWD 's' fwd_kind=struct") == 1);
  CHECK(count(e, "FWD 'u' fwd_kind=union") == 1);
}

TEST_CASE("With two definitions a declaration stands for neither, and pointers stay apart",
          "[golden]") {
  NEEDS("gcc");
  NEEDS("clang-14");
  NEEDS("bpftool");
  Program program(GENERATE("gcc", "clang-14"));
  const Encoded e =
      encode_units(program, {"struct s; struct s *p;", "struct s { int a; }; struct s *p;",
                             "struct s { long b; }; struct s *p;"});
  CHECK(count(e, "FWD 's'") == 1);
  CHECK(count(e, "STRUCT 's'") == 2);
  CHECK(count(e, "PTR") == 3);
}

TEST_CASE("A struct built on the declaration and on a definition decides which one is meant",
          "[golden]") {
  NEEDS("gcc");
  NEEDS("clang-14");
  NEEDS("bpftool");
  Program program(GENERATE("gcc", "clang-14"));
  const Encoded e =
      encode_units(program, {"struct s; struct t { struct s *s; }; struct t t;",
                             "struct s { int a; }; struct t { struct s *s; }; struct t t;",
                             "struct s { long b; }; struct s *p;"});
  CHECK(count(e, "FWD") == 0);
  CHECK(count(e, "STRUCT 't'") == 1);
  CHECK(count(e, "STRUCT 's'") == 2);
  CHECK(count(e, "PTR") == 2);
}

TEST_CASE("A struct and a union of one name leave a declaration alone", "[golden]") {
  NEEDS("gcc");
  NEEDS("bpftool");
  Program program;
  const Encoded e =
      encode_units(program, {"struct s; struct s *p;", "struct s { int a; }; struct s *p;",
                             "union s { int a; }; union s *p;"});
  CHECK(count(e, "FWD 's' fwd_kind=struct") == 1);
  CHECK(count(e, "STRUCT 's'") == 1);
  CHECK(count(e, "UNION 's'") == 1);
}

TEST_CASE("A declared enum stands for the last full one of its name", "[golden]") {
  NEEDS("gcc");
  NEEDS("bpftool");
  Program program;
  SECTION("defined in another unit") {
    const Encoded e = encode_units(program, {"enum e; enum e *p;", "enum e { A = 3 }; enum e *p;"});
    CHECK(count(e, "ENUM 'e'") == 1);
    CHECK(type_text(e, "ENUM 'e'") == "ENUM 'e' size=4 { 'A' = 3 }");
  }
  SECTION("defined nowhere") {
    const Encoded e = encode_units(program, {"enum e; enum e *p;"});
    CHECK(count(e, "ENUM 'e'") == 1);
  }
}

TEST_CASE("Types that reach different definitions of a name stay apart", "[golden]") {
  NEEDS("gcc");
  NEEDS("clang-14");
  NEEDS("bpftool");
  Program program(GENERATE("gcc", "clang-14"));
  const std::string user =
      "struct via { struct s *s; struct via *self; }; typedef struct via via_t; struct other { int "
      "o; }; "
      "via_t v; struct other o;";
  const Encoded e =
      encode_units(program, {"struct s { int a; };" + user, "struct s { long b; };" + user,
                             "struct s { int a; };" + user, "struct s { long b; };" + user});
  CHECK(count(e, "STRUCT 's'") == 2);
  CHECK(count(e, "STRUCT 'via'") == 2);
  CHECK(count(e, "TYPEDEF 'via_t'") == 2);
  CHECK(count(e, "STRUCT 'other'") == 1);
  CHECK(count(e, "INT 'int'") == 1);
}

TEST_CASE("Structs that differ only in the element type of an array stay apart, in either order",
          "[golden]") {
  NEEDS("gcc");
  NEEDS("bpftool");
  Program program;
  const std::string one = "struct s { int x[4]; int y[4]; } s;";
  const std::string two = "struct s { int x[4]; unsigned y[4]; } s;";
  CHECK(count(encode_units(program, {one, two}), "STRUCT 's'") == 2);
  CHECK(count(encode_units(program, {two, one}), "STRUCT 's'") == 2);
}

TEST_CASE(
    "Types stand in the order of their first occurrence, and the number of jobs changes no byte",
    "[golden]") {
  NEEDS("gcc");
  NEEDS("bpftool");
  Program program;
  std::vector<std::string> sources;
  for (int i = 0; i < 24; ++i) {
    const std::string n = std::to_string(i);
    sources.push_back("struct shared { struct shared *next; struct c" + std::to_string(i % 5) +
                      " *c; }; struct c" + std::to_string(i % 5) + " { int v" +
                      std::to_string(i % 2) + "; }; struct only" + n +
                      " { struct shared s; struct c0 *f; }; struct only" + n + " v" + n + ";");
  }
  const Encoded serial = encode_units(program, sources);
  std::size_t last = 0;
  for (int i = 0; i < 24; ++i) {
    const std::size_t at = serial.dump.find("STRUCT 'only" + std::to_string(i) + "'");
    REQUIRE(at != std::string::npos);
    CHECK(at > last);
    last = at;
  }
  for (const unsigned slots : {2U, 3U, 8U, 64U}) {
    CHECK(encode_units(program, sources, slots).btf == serial.btf);
  }
}

TEST_CASE("Inputs that cannot be encoded are errors that name the file", "[golden]") {
  NEEDS("gcc");
  Program program;
  const std::string good = program.compile("good.c", "struct s { int a; } s;");
  const std::string text = program.folder().write("text", "not an ELF file");
  for (const std::string& bad : {program.folder().path("missing"), text}) {
    const Encoded e = program.encode({good, bad});
    CHECK_FALSE(e.ok);
    CHECK(e.error.file == bad);
    CHECK_FALSE(e.result.written);
    CHECK(e.btf.empty());
  }
  SECTION("units that cite each other are not read yet, and that is said") {
    const std::string flto = program.compile(
        "l1.c",
        "struct l { int a; }; struct l g; int f(struct l *); int f(struct l *l) { return l->a; }",
        {"-flto", "-ffat-lto-objects"});
    const std::string other = program.compile("l2.c",
                                              "struct l { int a; }; int f(struct l *); extern "
                                              "struct l g; int main(void) { return f(&g); }",
                                              {"-flto"});
    const std::string linked = program.folder().path("lto");
    const CommandResult result = run({"gcc", "-flto", "-g", "-o", linked, flto, other});
    if (result.status != 0) {
      return;  // a linker without the plugin
    }
    const Encoded e = program.encode({linked});
    // gcc may or may not make the units cite each other; if it does, it must be an error, not a
    // wrong answer.
    CHECK((e.ok || e.says("-flto")));
  }
}

}  // namespace btfloom::test
