// C in, types out: arrays, bitfields, enumerations, annotations and odd types. Expected texts
// follow from the C and from docs/encoding-choices.md; sizes are those of the x86-64 psABI.
#include <catch2/catch.hpp>

#include "tests/support/encode_file.h"
#include "tests/support/needs.h"

namespace btfloom::test {

namespace {

using Flags = std::vector<std::string>;

}  // namespace

TEST_CASE("Dimensions are multiplied, and an unknown one makes an array of no elements",
          "[golden]") {
  NEEDS("gcc");
  NEEDS("clang-14");
  NEEDS("bpftool");
  const std::string compiler = GENERATE("gcc", "clang-14");
  const Encoded e = Program(compiler).encode_source(R"(
    struct arrays { int two[2][3]; char flexible[]; };
    struct zero { int none[0]; int after; };
    struct arrays *a; struct zero *z; int three[4][5][6];
    int vla(int n) { int v[n]; v[0] = 1; return v[n - 1]; }
  )",
                                                    {"-O0"});
  REQUIRE(e.ok);
  CHECK(type_text(e, "STRUCT 'arrays'") ==
        "STRUCT 'arrays' size=24 { 'two' ARRAY[6] INT 'int' @0; 'flexible' ARRAY[0] INT 'char' "
        "@192 }");
  CHECK(type_text(e, "STRUCT 'zero'") ==
        "STRUCT 'zero' size=4 { 'none' ARRAY[0] INT 'int' @0; 'after' INT 'int' @0 }");
  CHECK(e.dump.find("nr_elems=120") != std::string::npos);  // 4 * 5 * 6
}

TEST_CASE("The index type of every array is the run's first int, made up if there is none",
          "[golden]") {
  NEEDS("gcc");
  NEEDS("bpftool");
  Program program;
  SECTION("a unit without int gets one behind its types") {
    const Encoded e = program.encode_source("struct s { char a[3]; }; struct s s;");
    REQUIRE(e.ok);
    // gcc's index type (long unsigned int) is encoded as a type, but not used as index.
    CHECK(type_text(e, "INT 'int'") == "INT 'int' size=4");
    CHECK(lines_of(e.dump).back().find(
              "INT 'int' size=4 bits_offset=0 nr_bits=32 encoding=SIGNED") != std::string::npos);
  }
  SECTION("a later unit's int is the same type") {
    const Encoded e = program.encode({program.compile("a.c", "struct s { char a[3]; } s;"),
                                      program.compile("b.c", "int x; struct t { int b[2]; } t;")});
    REQUIRE(e.ok);
    CHECK(count(e, "INT 'int'") == 1);
  }
  SECTION("without arrays there is none") {
    const Encoded e = program.encode_source("struct s { char a; } s;");
    REQUIRE(e.ok);
    CHECK(count(e, "INT 'int'") == 0);
  }
}

TEST_CASE("Bitfields keep their place in every version of DWARF", "[golden]") {
  NEEDS("gcc");
  NEEDS("clang-14");
  NEEDS("bpftool");
  const std::string compiler = GENERATE("gcc", "clang-14");
  // DWARF 2 and 3 count from the most significant bit of the storage unit, later ones from the
  // start.
  const std::string version = GENERATE("-gdwarf-2", "-gdwarf-3", "-gdwarf-4", "-gdwarf-5");
  CAPTURE(compiler, version);
  const Encoded e = Program(compiler).encode_source(R"(
    struct b { unsigned a : 3; unsigned b : 7; int c; unsigned long d : 40; unsigned char e : 1; };
    struct plain { int x; short y; };
    struct b b; struct plain p;
  )",
                                                    {version, "-gno-strict-dwarf"});
  REQUIRE(e.ok);
  // psABI: a at 0, b at 3, c at byte 4, d at byte 8 (40 bits), e behind it at bit 104.
  CHECK(type_text(e, "STRUCT 'b'") ==
        "STRUCT 'b' size=16 { 'a' INT 'unsigned int' @0:3; 'b' INT 'unsigned int' @3:7; "
        "'c' INT 'int' @32; 'd' INT '" +
            std::string(compiler == "gcc" ? "long unsigned int" : "unsigned long") +
            "' @64:40; 'e' INT 'unsigned char' @104:1 }");
  CHECK(type_text(e, "STRUCT 'plain'") ==
        "STRUCT 'plain' size=8 { 'x' INT 'int' @0; 'y' INT 'short" +
            std::string(compiler == "gcc" ? " int" : "") + "' @32 }");
}

TEST_CASE("Enumerations: size, sign and 64 bits", "[golden]") {
  NEEDS("gcc");
  NEEDS("clang-14");
  NEEDS("bpftool");
  const std::string compiler = GENERATE("gcc", "clang-14");
  CAPTURE(compiler);
  const std::string source = R"(
    enum plain { A, B = 5 } plain;
    enum negative { M = -1, N = 2 } negative;
    enum big { L = 0x100000000ull } big;
    enum low { K = -0x100000000ll } low;
    enum __attribute__((packed)) small { S = 200 } small;
  )";
  const Encoded e = Program(compiler).encode_source(source);
  REQUIRE(e.ok);
  CHECK(type_text(e, "ENUM 'plain'") == "ENUM 'plain' size=4 { 'A' = 0; 'B' = 5 }");
  CHECK(type_text(e, "ENUM 'negative'") == "ENUM 'negative' size=4 { 'M' = -1; 'N' = 2 }");
  CHECK(e.dump.find("ENUM 'negative' encoding=SIGNED") != std::string::npos);
  CHECK(e.dump.find("ENUM 'plain' encoding=UNSIGNED") != std::string::npos);
  CHECK(type_text(e, "ENUM64 'big'") == "ENUM64 'big' size=8 { 'L' = 4294967296ULL }");
  CHECK(type_text(e, "ENUM64 'low'") == "ENUM64 'low' size=8 { 'K' = -4294967296LL }");
  CHECK(type_text(e, "ENUM 'small'") == "ENUM 'small' size=1 { 'S' = 200 }");

  Features without;
  without.enum64 = false;
  const Encoded old = Program(compiler).encode_source(source, {}, without);
  REQUIRE(old.ok);
  // Values cut to 32 bits, size kept: what readers without ENUM64 can take.
  CHECK(type_text(old, "ENUM 'big'") == "ENUM 'big' size=8 { 'L' = 0 }");
}

TEST_CASE("Base types keep their names; CHAR does not exist", "[golden]") {
  NEEDS("gcc");
  NEEDS("clang-14");
  NEEDS("bpftool");
  const std::string compiler = GENERATE("gcc", "clang-14");
  const Encoded e = Program(compiler).encode_source(
      "char c; unsigned long l; _Bool b; float f; long double d; __int128 w; unsigned char u;");
  REQUIRE(e.ok);
  CHECK(e.dump.find("INT 'char' size=1 bits_offset=0 nr_bits=8 encoding=SIGNED") !=
        std::string::npos);
  CHECK(e.dump.find("INT '_Bool' size=1 bits_offset=0 nr_bits=8 encoding=BOOL") !=
        std::string::npos);
  CHECK(e.dump.find("INT 'unsigned char' size=1 bits_offset=0 nr_bits=8 encoding=(none)") !=
        std::string::npos);
  CHECK(e.dump.find("INT '__int128' size=16 bits_offset=0 nr_bits=128 encoding=SIGNED") !=
        std::string::npos);
  CHECK(count(e, compiler == "gcc" ? "INT 'long unsigned int'" : "INT 'unsigned long'") == 1);
  CHECK(type_text(e, "FLOAT 'float'") == "FLOAT 'float' size=4");
  CHECK(type_text(e, "FLOAT 'long double'") == "FLOAT 'long double' size=16");
  Features without;
  without.floats = false;
  CHECK(count(Program(compiler).encode_source("float f;", {}, without), "INT 'float'") == 1);
}

TEST_CASE("Pointers, qualifiers, functions and nameless types", "[golden]") {
  NEEDS("gcc");
  NEEDS("clang-14");
  NEEDS("bpftool");
  const std::string compiler = GENERATE("gcc", "clang-14");
  const Encoded e = Program(compiler).encode_source(R"(
    struct outer {
      union { int i; struct { char lo, hi; } halves; };
      const volatile int *const *p;
      void (*call)(struct outer *self, int, ...);
      void *nothing;
    };
    typedef struct { struct outer *o; } holder;
    holder h;
  )");
  REQUIRE(e.ok);
  CHECK(type_text(e, "STRUCT 'outer'") ==
        "STRUCT 'outer' size=32 { UNION { 'i' INT 'int' @0; 'halves' STRUCT { 'lo' INT 'char' @0; "
        "'hi' INT 'char' @8 } @0 } @0; " +
            // The compilers write const and volatile in different orders.
            std::string(compiler == "gcc" ? "'p' PTR CONST PTR VOLATILE CONST INT 'int' @64"
                                          : "'p' PTR CONST PTR CONST VOLATILE INT 'int' @64") +
            "; 'call' PTR (PTR STRUCT 'outer'; INT 'int'; void) -> void @128; 'nothing' PTR void "
            "@192 }");
  CHECK(type_text(e, "TYPEDEF 'holder'") ==
        "TYPEDEF 'holder' STRUCT { 'o' PTR STRUCT 'outer' @0 }");
}

TEST_CASE("Types inside functions are encoded too", "[golden]") {
  NEEDS("gcc");
  NEEDS("clang-14");
  NEEDS("bpftool");
  const std::string compiler = GENERATE("gcc", "clang-14");
  const Encoded e = Program(compiler).encode_source(
      "int f(int n) { struct local { int deep; } l = {n}; { enum inner { IN = 7 } i = IN; n = i; } "
      "return l.deep + n; }",
      {"-O0"});
  REQUIRE(e.ok);
  CHECK(type_text(e, "STRUCT 'local'") == "STRUCT 'local' size=4 { 'deep' INT 'int' @0 }");
  CHECK(type_text(e, "ENUM 'inner'") == "ENUM 'inner' size=4 { 'IN' = 7 }");
}

TEST_CASE("Clang's annotations become tags", "[golden]") {
  NEEDS("clang-14");
  NEEDS("bpftool");
  const std::string source = R"(
    #define tag(x) __attribute__((btf_decl_tag(x)))
    #define type_tag(x) __attribute__((btf_type_tag(x)))
    struct s { int plain; int tagged tag("member"); int type_tag("one") type_tag("two") *p; } tag("whole");
    typedef int number tag("type");
    struct s s; number n;
    int f(int a, int b tag("parameter")) tag("function");
    int f(int a, int b) { return a + b; }
  )";
  Program program("clang-14");
  const Encoded e =
      program.encode({program.link("t.so", {program.compile("t.c", source, {"-fPIC"})})});
  REQUIRE(e.ok);
  // The pointer leads to the last tag, that one to the first, and that to int.
  CHECK(type_text(e, "STRUCT 's'") ==
        "STRUCT 's' size=16 { 'plain' INT 'int' @0; 'tagged' INT 'int' @32; "
        "'p' PTR TYPE_TAG 'two' TYPE_TAG 'one' INT 'int' @64 }");
  const auto has = [&](const std::string& text) { return e.dump.find(text) != std::string::npos; };
  CHECK(has("DECL_TAG 'whole'"));
  CHECK(type_text(e, "DECL_TAG 'whole'") == "DECL_TAG 'whole' STRUCT 's'");
  CHECK(type_text(e, "DECL_TAG 'type'") == "DECL_TAG 'type' TYPEDEF 'number'");
  CHECK(type_text(e, "DECL_TAG 'function'") == "DECL_TAG 'function' FUNC 'f'");
  for (const std::string& line : lines_of(e.dump)) {
    if (line.find("DECL_TAG") == std::string::npos) {
      continue;
    }
    const bool is_part =
        line.find("'member'") != std::string::npos || line.find("'parameter'") != std::string::npos;
    INFO(line);
    CHECK(line.ends_with(is_part ? "component_idx=1" : "component_idx=-1"));
  }
  Features none;
  none.decl_tag = false;
  none.type_tag = false;
  const Encoded bare = program.encode({program.folder().path("t.so")}, none);
  CHECK(count(bare, "DECL_TAG") == 0);
  CHECK(count(bare, "TYPE_TAG") == 0);
  CHECK(type_text(bare, "STRUCT 's'").find("'p' PTR INT 'int' @64") != std::string::npos);
}

TEST_CASE("An odd type costs itself, with a warning that names it", "[golden]") {
  NEEDS("gcc");
  NEEDS("clang-14");
  NEEDS("bpftool");
  const std::string compiler = GENERATE("gcc", "clang-14");
  Program program(compiler);
  SECTION("_Atomic is the plain type") {
    const Encoded e = program.encode_source("struct s { _Atomic int a; int b; } s;");
    REQUIRE(e.ok);
    CHECK(type_text(e, "STRUCT 's'") ==
          "STRUCT 's' size=8 { 'a' INT 'int' @0; 'b' INT 'int' @32 }");
    CHECK(e.says("BTF has no _Atomic"));
    CHECK(e.result.degraded == 1);
  }
  SECTION("a complex number is bytes of its size") {
    const Encoded e = program.encode_source("struct s { _Complex double c; int b; } s;");
    REQUIRE(e.ok);
    CHECK(type_text(e, "STRUCT 's'") == "STRUCT 's' size=24 { 'c' STRUCT @0; 'b' INT 'int' @128 }");
    CHECK(e.dump.find("STRUCT '(anon)' size=16 vlen=0") != std::string::npos);
    CHECK(e.says("BTF has no complex numbers"));
  }
  SECTION("without floats it is an integer") {
    Features features;
    features.floats = false;
    const Encoded e = program.encode_source("_Complex double c;", {}, features);
    REQUIRE(e.ok);
    CHECK(e.result.degraded == 0);
    CHECK(e.dump.find("size=16 bits_offset=0 nr_bits=128 encoding=(none)") != std::string::npos);
  }
}

TEST_CASE("C++: references are pointers, static members are no fields, bases leave a hole",
          "[golden]") {
  NEEDS("g++");
  NEEDS("bpftool");
  const std::string version = GENERATE("-gdwarf-4", "-gdwarf-5");
  Program program("g++");
  const std::string object = program.compile("c.cc", R"(
    struct base { int b; };
    struct derived : base { static int shared; int own; int &ref; int derived::*member; };
    namespace space { struct inside { derived *d; }; }
    int x; int derived::shared; derived d{{1}, 2, x, nullptr}; space::inside i;
  )",
                                             {version});
  const Encoded e = program.encode({object});
  REQUIRE(e.ok);
  CHECK(type_text(e, "STRUCT 'derived'") ==
        "STRUCT 'derived' size=24 { 'own' INT 'int' @32; 'ref' PTR INT 'int' @64; "
        "'member' STRUCT @128 }");
  CHECK(type_text(e, "STRUCT 'inside'") ==
        "STRUCT 'inside' size=8 { 'd' PTR STRUCT 'derived' @0 }");
  CHECK(e.says("BTF has no references"));
  CHECK(e.says("BTF has no pointers to members"));
}

TEST_CASE("Every version and format of DWARF gives the same types", "[golden]") {
  NEEDS("gcc");
  NEEDS("clang-14");
  NEEDS("bpftool");
  const std::string compiler = GENERATE("gcc", "clang-14");
  const std::string source = R"(
    struct list { struct list *next; int values[4]; enum { ON, OFF } state; } head;
    int sum(struct list *l, int n) { return n ? l->values[0] + sum(l->next, n - 1) : 0; }
  )";
  std::string first;
  for (const Flags& flags : {Flags{"-gdwarf-5"}, Flags{"-gdwarf-4"}, Flags{"-gdwarf-3"},
                             Flags{"-gdwarf-2"}, Flags{"-gdwarf-5", "-gdwarf64"}}) {
    Program program(compiler);
    const Encoded e = program.encode({program.link("l.so", {program.compile("l.c", source, [&] {
                                                     Flags all = flags;
                                                     all.push_back("-fPIC");
                                                     return all;
                                                   }())})});
    INFO(compiler << " " << flags.back());
    REQUIRE(e.ok);
    CHECK(type_text(e, "STRUCT 'list'") ==
          "STRUCT 'list' size=32 { 'next' PTR STRUCT 'list' @0; 'values' ARRAY[4] INT 'int' @64; "
          "'state' ENUM { 'ON' = 0; 'OFF' = 1 } @192 }");
    CHECK(type_text(e, "FUNC 'sum'") ==
          "FUNC 'sum' ('l' PTR STRUCT 'list'; 'n' INT 'int') -> INT 'int'");
    if (flags.front() ==
        "-gdwarf-5") {  // older versions lack some types, such as that of an enumeration
      first = first.empty() ? e.dump : first;
      CHECK(e.dump == first);
    }
  }
}

TEST_CASE("32-bit and big-endian files come out in their own byte order", "[golden]") {
  NEEDS("clang-14");
  NEEDS("bpftool");
  struct Target {
    const char* name;
    unsigned address;
    bool is_big;
  };
  const Target target =
      GENERATE(Target{"i386-linux-gnu", 4, false}, Target{"x86_64-linux-gnu", 8, false},
               Target{"aarch64-linux-gnu", 8, false}, Target{"armv7-linux-gnueabi", 4, false},
               Target{"riscv64-linux-gnu", 8, false}, Target{"powerpc64-linux-gnu", 8, true},
               Target{"powerpc64le-linux-gnu", 8, false}, Target{"s390x-linux-gnu", 8, true},
               Target{"mips-linux-gnu", 4, true}, Target{"mips64el-linux-gnuabi64", 8, false},
               Target{"mips64-linux-gnuabi64", 8, true});
  Program program("clang-14");
  const Encoded e = program.encode({program.compile(
      "t.c",
      "struct node { struct node *next; unsigned a : 3; unsigned b : 29; }; struct node n; "
      "enum sign { MINUS = -3 } s;",
      {std::string("--target=") + target.name, "-fno-addrsig"})});
  INFO(target.name << " " << e.error.text);
  REQUIRE(e.ok);
  const std::vector<std::byte> magic = target.is_big
                                           ? std::vector{std::byte{0xeb}, std::byte{0x9f}}
                                           : std::vector{std::byte{0x9f}, std::byte{0xeb}};
  CHECK(std::vector(e.btf.begin(), e.btf.begin() + 2) == magic);
  const std::string size = std::to_string(target.address == 8 ? 16 : 8);
  const unsigned start = target.address * 8;
  CHECK(type_text(e, "STRUCT 'node'") ==
        "STRUCT 'node' size=" + size + " { 'next' PTR STRUCT 'node' @0; 'a' INT 'unsigned int' @" +
            std::to_string(start) + ":3; 'b' INT 'unsigned int' @" + std::to_string(start + 3) +
            ":29 }");
  CHECK(type_text(e, "ENUM 'sign'") == "ENUM 'sign' size=4 { 'MINUS' = -3 }");
}

}  // namespace btfloom::test
