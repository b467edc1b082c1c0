// Functions, variables and kfuncs: which get a FUNC or a VAR. Expected answers follow from
// docs/encoding-choices.md, "Functions".
#include <catch2/catch.hpp>

#include "tests/support/encode_file.h"
#include "tests/support/needs.h"

namespace btfloom::test {

namespace {

using Flags = std::vector<std::string>;

Encoded encode_linked(Program& program, const std::vector<std::string>& sources, Flags flags = {},
                      const Features& features = {}) {
  flags.push_back("-fPIC");
  std::vector<std::string> objects;
  for (const std::string& source : sources) {
    objects.push_back(program.compile("u" + std::to_string(objects.size()) + ".c", source, flags));
  }
  Encoded encoded = program.encode({program.link("linked.so", objects)}, features);
  REQUIRE(encoded.ok);
  return encoded;
}

}  // namespace

TEST_CASE("A function has the prototype of its source, and static linkage", "[golden]") {
  NEEDS("gcc");
  NEEDS("clang-14");
  NEEDS("bpftool");
  Program program(GENERATE("gcc", "clang-14"));
  const Encoded e = encode_linked(program, {R"(
    struct s { int a; };
    int plain(struct s *s, const char *name) { return s->a + name[0]; }
    void variadic(int n, ...) { (void)n; }
    void nothing(void) {}
    static int hidden(int x) { return x; }
    int (*use)(int) = hidden;
  )"});
  CHECK(type_text(e, "FUNC 'plain'") ==
        "FUNC 'plain' ('s' PTR STRUCT 's'; 'name' PTR CONST INT 'char') -> INT 'int'");
  CHECK(type_text(e, "FUNC 'variadic'") == "FUNC 'variadic' ('n' INT 'int'; void) -> void");
  CHECK(type_text(e, "FUNC 'nothing'") == "FUNC 'nothing' () -> void");
  CHECK(count(e, "FUNC 'hidden'") == 1);
  for (const std::string& line : lines_of(e.dump)) {
    if (line.find("] FUNC '") != std::string::npos) {
      CHECK(line.ends_with("linkage=static"));
    }
  }
}

TEST_CASE("Functions come last, by name, each behind its prototype", "[golden]") {
  NEEDS("gcc");
  NEEDS("bpftool");
  Program program;
  const Encoded e = encode_linked(program, {"int zeta(int a) { return a; } int alpha(long b) { "
                                            "return (int)b; } int Mid(int a) { return a; }"});
  // By strcmp: capitals before small letters; zeta shares Mid's prototype (same names of
  // parameters).
  const std::size_t mid = e.dump.find("FUNC 'Mid'");
  const std::size_t alpha = e.dump.find("FUNC 'alpha'");
  const std::size_t zeta = e.dump.find("FUNC 'zeta'");
  CHECK(mid < alpha);
  CHECK(alpha < zeta);
  CHECK(zeta != std::string::npos);
  CHECK(count(e, "FUNC_PROTO") == 2);
}

TEST_CASE("Static functions of one name: one address or none", "[golden]") {
  NEEDS("gcc");
  NEEDS("clang-14");
  NEEDS("bpftool");
  Program program(GENERATE("gcc", "clang-14"));
  const std::string use = " void *pX(void) { return (void *)twice; }";
  const auto unit = [&](const char* n, const std::string& definition) {
    std::string text = definition + use;
    return text.replace(text.find("pX"), 2, n);
  };
  SECTION("two addresses: nobody can tell which, so none") {
    const Encoded e =
        encode_linked(program, {unit("p1", "static int twice(int a) { return a; }"),
                                unit("p2", "static int twice(int a) { return a + 1; }"),
                                "int zzz(void) { return 0; }"});
    CHECK(count(e, "FUNC 'twice'") == 0);
    CHECK(count(e, "FUNC 'p1'") == 1);
  }
  SECTION("the alphabetically last stem of a file is never found ambiguous") {
    std::string one = unit("p1", "static int twice(int a) { return a; }");
    std::string two = unit("p2", "static int twice(int a) { return a + 1; }");
    for (std::string* text : {&one, &two}) {
      for (std::size_t at; (at = text->find("twice")) != std::string::npos;) {
        text->replace(at, 5, "zzzz");
      }
    }
    CHECK(count(encode_linked(program, {one, two}), "FUNC 'zzzz'") == 1);
  }
}

TEST_CASE("Candidates that contradict each other give no function", "[golden]") {
  NEEDS("gcc");
  NEEDS("bpftool");
  Program program;
  // One symbol, at one address; the second unit declares another prototype inline and emits
  // nothing.
  const std::vector<std::string> sources = {
      "int odd(int a) { return a; } int zz(void) { return 0; }",
      "static inline __attribute__((always_inline)) int odd(char *a) { return a[0]; } int use(char "
      "*p) { return odd(p); }"};
  CHECK(count(encode_linked(program, sources, {"-O1"}), "FUNC 'odd'") == 0);
  Features features;
  features.consistent_func = false;
  CHECK(count(encode_linked(program, sources, {"-O1"}, features), "FUNC 'odd'") == 1);
  // Named types count by name, const not at all.
  const std::vector<std::string> alike = {
      "struct s { int a; }; int even(struct s *a) { return a->a; } int zz(void) { return 0; }",
      "struct s { long b; }; static inline __attribute__((always_inline)) int even(const struct s "
      "*a) { return (int)a->b; } "
      "int use(struct s *p) { return even(p); }"};
  CHECK(count(encode_linked(program, alike, {"-O1"}), "FUNC 'even'") == 1);
}

TEST_CASE("A function whose parameters were optimized away has no usable prototype", "[golden]") {
  NEEDS("gcc");
  NEEDS("bpftool");
  Program program;
  const std::string source = R"(
    int first(int a) { return a; }
    static __attribute__((noinline)) int constant(int a, int b) { __asm__ volatile(""); return a * b; }
    int caller(int a) { return constant(a, 7) + constant(a + 1, 7); }
    int zz(void) { return 0; }
  )";
  SECTION("linked, the symbol constant.constprop.0 is at its address") {
    const Encoded e = encode_linked(program, {source}, {"-O2"});
    const CommandResult symbols = run({"nm", program.folder().path("linked.so")});
    REQUIRE(symbols.out.find("constant.constprop.0") != std::string::npos);
    CHECK(count(e, "FUNC 'constant'") == 0);
    CHECK(count(e, "FUNC 'caller'") == 1);
  }
  SECTION("in an object, addresses match nothing, so it stays") {
    const Encoded e =
        program.encode({program.compile("o.c", source, {"-O2", "-fno-toplevel-reorder"})});
    CHECK(count(e, "FUNC 'constant'") == 1);
  }
}

TEST_CASE("A packed struct among stack parameters is nowhere a tracer would look", "[golden]") {
  NEEDS("gcc");
  NEEDS("clang-14");
  NEEDS("bpftool");
  Program program(GENERATE("gcc", "clang-14"));
  const Encoded e = encode_linked(program, {R"(
    struct packed { char c; long l; char d; long m; } __attribute__((packed));
    struct aligned { long c; long l; long m; };
    typedef struct packed packed_t;
    long direct(int a, int b, int c, int d, int e, int f, struct packed p) { return a + b + c + d + e + f + p.l; }
    long typedefd(int a, int b, int c, int d, int e, int f, packed_t p) { return a + b + c + d + e + f + p.l; }
    long ordinary(int a, int b, int c, int d, int e, int f, struct aligned p) { return a + b + c + d + e + f + p.l; }
    long early(struct packed p, int a, int b, int c, int d, int e, int f) { return a + b + c + d + e + f + p.l; }
  )"},
                                  {"-O1"});
  CHECK(count(e, "FUNC 'direct'") == 0);
  CHECK(count(e, "FUNC 'typedefd'") == 1);
  CHECK(count(e, "FUNC 'ordinary'") == 1);
  CHECK(count(e, "FUNC 'early'") == 1);
}

TEST_CASE("A function of an assembler unit is void (void)", "[golden]") {
  NEEDS("gcc");
  NEEDS("bpftool");
  Program program;
  const std::string object = program.compile("a.s", R"(
    .text
    .globl from_assembler
    .type from_assembler, @function
from_assembler:
    ret
    .size from_assembler, .-from_assembler
)",
                                             {"-gdwarf-5"});
  const Encoded e = program.encode({program.link("a.so", {object})});
  REQUIRE(e.ok);
  // gas describes functions since 2.40, the version of Debian 12.
  CHECK(type_text(e, "FUNC 'from_assembler'") == "FUNC 'from_assembler' () -> void");
}

TEST_CASE("Without a symbol table there is no telling functions apart", "[golden]") {
  NEEDS("gcc");
  NEEDS("llvm-objcopy-14");
  Program program;
  const std::string linked =
      program.link("l.so", {program.compile("l.c", "int f(void) { return 0; }", {"-fPIC"})});
  REQUIRE(run({"llvm-objcopy-14", "--remove-section=.symtab", linked}).status == 0);
  const Encoded e = program.encode({linked});
  CHECK_FALSE(e.ok);
  CHECK(e.error.text.find("no .symtab") != std::string::npos);
}

TEST_CASE("Per-CPU variables form a DATASEC; offset 0 needs a symbol", "[golden]") {
  NEEDS("gcc");
  NEEDS("clang-14");
  NEEDS("bpftool");
  Program program(GENERATE("gcc", "clang-14"));
  const std::string percpu = "__attribute__((section(\".data..percpu\"))) ";
  const std::string source = percpu + "int first = 1; " + percpu + "long second = 2; " + percpu +
                             "static char third[3] = {1}; int elsewhere = 4; " + percpu +
                             "int __UNIQUE_ID_generated = 5; char *use(void) { return third; }";
  const std::string object = program.compile("p.c", source);
  // As in a vmlinux: the section is linked at address 0.
  const std::string script = program.folder().write("script", R"(SECTIONS {
    .data..percpu 0 : { *(.data..percpu) }
    .text 0x100000 : { *(.text*) }
    .data : { *(.data*) }
    .bss : { *(.bss*) }
  })");
  const std::string linked = program.folder().path("percpu");
  REQUIRE(run({"ld", "-T", script, "-e", "0", "-o", linked, object}).status == 0);
  const Encoded e = program.encode({linked});
  REQUIRE(e.ok);
  CHECK(type_text(e, "VAR 'first'") == "VAR 'first' INT 'int'");
  CHECK(e.dump.find("VAR 'first' type_id=") != std::string::npos);
  CHECK(count(e, "VAR 'second'") == 1);
  CHECK(count(e, "VAR 'third'") == 1);
  CHECK(count(e, "VAR 'elsewhere'") == 0);
  CHECK(count(e, "VAR '__UNIQUE_ID") == 0);
  CHECK(count(e, "DATASEC '.data..percpu'") == 1);
  for (const std::string& line : lines_of(e.dump)) {
    if (line.find("] VAR 'third'") != std::string::npos) {
      CHECK(line.ends_with("linkage=static"));
    } else if (line.find("] VAR '") != std::string::npos) {
      CHECK(line.ends_with("linkage=global"));
    }
  }
  SECTION("without its symbol the variable at offset 0 counts as a leftover") {
    REQUIRE(run({"objcopy", "--strip-symbol=first", linked}).status == 0);
    const Encoded stripped = program.encode({linked});
    REQUIRE(stripped.ok);
    CHECK(count(stripped, "VAR 'first'") == 0);
    CHECK(count(stripped, "VAR 'second'") == 1);
  }
  SECTION("with global_var every section has its variables") {
    Features features;
    features.global_var = true;
    const Encoded all = program.encode({linked}, features);
    REQUIRE(all.ok);
    CHECK(count(all, "VAR 'elsewhere'") == 1);
    CHECK(count(all, "DATASEC '.data'") == 1);
  }
  SECTION("without var there are none") {
    Features features;
    features.var = false;
    CHECK(count(program.encode({linked}, features), "VAR") == 0);
  }
}

TEST_CASE("kfuncs are tagged as the kernel's sets say", "[golden]") {
  NEEDS("gcc");
  NEEDS("bpftool");
  Program program;
  // include/linux/btf_ids.h: a set is a count, flags (bit 0: kfuncs), then pairs of id and flags.
  const std::string ids = R"(
    .pushsection .BTF_ids,"a"
    .macro set name flags
    .type __BTF_ID__set8__\name, @object
__BTF_ID__set8__\name:
    .long 2, \flags
    .endm
    .macro id name number flags
__BTF_ID__func__\name\()__\number:
    .long 0, \flags
    .endm
    set kfuncs 1
    id traced 1 0
    id fast 2 0xf000
    .size __BTF_ID__set8__kfuncs, .-__BTF_ID__set8__kfuncs
    set others 0
    id ordinary 3 0
    .size __BTF_ID__set8__others, .-__BTF_ID__set8__others
    .popsection
  )";
  std::vector<std::string> objects = {
      program.compile("k.c",
                      "int traced(int a) { return a; } int fast(void) { return 1; } int "
                      "ordinary(void) { return 2; }",
                      {"-fPIC"}),
      program.compile("ids.s", ids)};
  const std::string linked = program.link("k.so", objects);
  const Encoded e = program.encode({linked});
  REQUIRE(e.ok);
  CHECK(count(e, "DECL_TAG 'bpf_kfunc'") == 2);
  CHECK(type_text(e, "DECL_TAG 'bpf_fastcall'") == "DECL_TAG 'bpf_fastcall' FUNC 'fast'");
  Features features;
  features.decl_tag_kfuncs = false;
  CHECK(count(program.encode({linked}, features), "DECL_TAG") == 0);
}

}  // namespace btfloom::test
