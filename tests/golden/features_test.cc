// Every feature of --btf_features by what it changes. var and global_var: functions_test.cc; decl
// tags of annotations and type_tag: types_test.cc; distilled_base: distill_test.cc. Expected
// values: docs/encoding-choices.md and the kernel's Documentation/bpf/btf.rst.
#include <cstring>

#include <catch2/catch.hpp>

#include "tests/support/encode_file.h"
#include "tests/support/needs.h"

namespace btfloom::test {

namespace {

// The little-endian word at that offset of an output.
std::uint32_t word(const Encoded& encoded, std::size_t offset) {
  std::uint32_t value = 0;
  REQUIRE(offset + sizeof value <= encoded.btf.size());
  std::memcpy(&value, encoded.btf.data() + offset, sizeof value);
  return value;
}

// include/linux/btf_ids.h: a set of kfuncs (flag bit 0), one pair of id and flags per name.
std::string kfunc_set(const std::string& set, const std::string& name, unsigned flags) {
  return ".pushsection .BTF_ids,\"a\"\n.type __BTF_ID__set8__" + set +
         ", @object\n__BTF_ID__set8__" + set + ":\n.long 1, 1\n__BTF_ID__func__" + name +
         "__7:\n.long 0, " + std::to_string(flags) + "\n.size __BTF_ID__set8__" + set +
         ", .-__BTF_ID__set8__" + set + "\n.popsection\n";
}

// The text as C string literals, a line each.
std::string quoted_lines(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c == '\n' ? "\\n\"\n\"" : c == '"' ? "\\\"" : std::string(1, c);
  }
  return quoted + "\"";
}

}  // namespace

TEST_CASE("layout describes every kind behind a longer header", "[golden]") {
  NEEDS("gcc");
  Program program;
  Features features;
  const std::string object = program.compile("l.c", "struct s { int a; } s;");
  const Encoded plain = program.encode({object}, features);
  features.layout = true;
  const Encoded e = program.encode({object}, features);
  REQUIRE(plain.ok);
  REQUIRE(e.ok);
  CHECK(word(plain, 4) == 24);  // hdr_len
  CHECK(word(e, 4) == 32);
  CHECK(word(e, 12) == word(plain, 12));  // type_len
  CHECK(word(e, 24) == word(e, 12));      // layout_off: behind the types
  // Bytes behind the three words and bytes per part, of kinds 0 to 19 (btf.rst 2.2).
  const std::vector<std::pair<int, int>> expected = {
      {0, 0}, {4, 0}, {0, 0}, {12, 0}, {0, 12}, {0, 12}, {0, 8}, {0, 0}, {0, 0}, {0, 0},
      {0, 0}, {0, 0}, {0, 0}, {0, 8},  {4, 0},  {0, 12}, {0, 0}, {4, 0}, {0, 0}, {0, 12}};
  REQUIRE(word(e, 28) == 4 * expected.size());  // layout_len
  const std::size_t layout = 32 + word(e, 24);
  for (std::size_t kind = 0; kind < expected.size(); ++kind) {
    INFO(kind);
    CHECK(std::to_integer<int>(e.btf[layout + 4 * kind]) == expected[kind].first);
    CHECK(std::to_integer<int>(e.btf[layout + 4 * kind + 1]) == expected[kind].second);
    CHECK(std::to_integer<int>(e.btf[layout + 4 * kind + 2]) == 0);  // flags
    CHECK(std::to_integer<int>(e.btf[layout + 4 * kind + 3]) == 0);
  }
  CHECK(word(e, 16) >= word(e, 24) + word(e, 28));  // str_off
}

TEST_CASE("float and enum64 name kinds that older kernels lack", "[golden]") {
  NEEDS("gcc");
  NEEDS("bpftool");
  Program program;
  const std::string object =
      program.compile("k.c", "struct s { float f; double d; enum { BIG = 0x100000000 } e; } s;");
  Features features;
  CHECK(count(program.encode({object}, features), "FLOAT") == 2);
  CHECK(count(program.encode({object}, features), "ENUM64") == 1);
  features.floats = false;
  features.enum64 = false;
  const Encoded old = program.encode({object}, features);
  REQUIRE(old.ok);
  CHECK(count(old, "FLOAT") == 0);
  CHECK(count(old, "ENUM64") == 0);
  CHECK(count(old, "ENUM") == 1);
}

TEST_CASE("consistent_func leaves out what is declared in two ways", "[golden]") {
  NEEDS("gcc");
  NEEDS("bpftool");
  Program program;
  const std::string library = program.link(
      "c.so", {program.compile("a.c",
                               "__attribute__((noinline)) static int f(int a) { return a + "
                               "1; } int a(int x) { return f(x) + f(x + 1); }",
                               {"-fPIC"}),
               // Inlined everywhere, so the symbol f is that of a.c alone.
               program.compile("b.c",
                               "__attribute__((always_inline)) static inline long f(char *a, "
                               "int b) { return a[b]; } long b(char *x) { return f(x, 2); }",
                               {"-fPIC"})});
  Features features;
  CHECK(count(program.encode({library}, features), "FUNC 'f'") == 0);
  features.consistent_func = false;
  CHECK(count(program.encode({library}, features), "FUNC 'f'") == 1);
}

TEST_CASE("kfuncs of every input file are tagged, in both byte orders", "[golden]") {
  NEEDS("clang-14");
  NEEDS("ld.lld-14");
  NEEDS("bpftool");
  const std::string target = GENERATE("x86_64-linux-gnu", "s390x-linux-gnu", "aarch64-linux-gnu");
  Program program("clang-14");
  std::vector<std::string> objects;
  for (const std::string name : {"one", "two"}) {
    const std::string source = "int " + name + "(int a) { return a; }\nasm(\n" +
                               quoted_lines(kfunc_set(name + "_set", name, 0)) + ");\n";
    objects.push_back(program.compile(name + ".c", source, {"--target=" + target}));
  }
  const Encoded e = program.encode(objects);
  REQUIRE(e.ok);
  CHECK(count(e, "DECL_TAG 'bpf_kfunc'") == 2);
  Features features;
  features.decl_tag = false;  // they are tags
  CHECK(count(program.encode(objects, features), "DECL_TAG") == 0);
}

TEST_CASE("attributes: the pointers of an arena kfunc say so", "[golden]") {
  NEEDS("gcc");
  NEEDS("bpftool");
  Program program;
  const std::string library = program.link(
      "k.so",
      {program.compile("k.c", "void *arena(void *a, void *b, void *c) { return a; }", {"-fPIC"}),
       // Bit 13: what it returns, 14 and 15: its first and second argument.
       program.compile("ids.s", kfunc_set("kfuncs", "arena", 0xe000))});
  Features features;
  const Encoded plain = program.encode({library}, features);
  CHECK(type_text(plain, "FUNC 'arena'") ==
        "FUNC 'arena' ('a' PTR void; 'b' PTR void; 'c' PTR void) -> PTR void");
  features.attributes = true;
  const Encoded e = program.encode({library}, features);
  REQUIRE(e.ok);
  const std::string arena = "PTR TYPE_TAG 'address_space(1)' void";
  CHECK(type_text(e, "FUNC 'arena'") ==
        "FUNC 'arena' ('a' " + arena + "; 'b' " + arena + "; 'c' PTR void) -> " + arena);
  // kind_flag 1: an attribute, not a tag (btf.rst 2.2.18).
  bool found = false;
  for (std::size_t at = 24; at + 12 <= 24 + word(e, 12); at += 4) {
    found |= word(e, at + 4) == ((18U << 24) | (1U << 31));
  }
  CHECK(found);
}

TEST_CASE("true_signature: what an optimized function really takes", "[golden]") {
  NEEDS("clang-14");
  NEEDS("bpftool");
  Program program("clang-14");
  // What newer clang does by itself to static functions: mark the changed ones as nocall.
  const std::string source = program.folder().write("t.c", R"(
    struct pair { long a, b; };
    __attribute__((noinline)) static long f(int unused, struct pair p, int b) { return p.b + b; }
    __attribute__((noinline)) static long g(int unused, long x) { return x * 3; }
    long use(struct pair p, int b) { return f(1, p, b) + g(2, b) + f(3, p, b + 1) + g(3, 4 * b); }
  )");
  const std::string text = program.folder().path("t.ll");
  REQUIRE(run({"clang-14", "-g", "-O2", "-fPIC", "-S", "-emit-llvm", source, "-o", text}).status ==
          0);
  const std::vector<std::byte> made = read_file(text);
  std::string assembly(reinterpret_cast<const char*>(made.data()), made.size());
  const std::string before = "DISubroutineType(types:";
  for (std::size_t at = assembly.find(before); at != std::string::npos;
       at = assembly.find(before, at + 1)) {
    assembly.replace(at, before.size(), "DISubroutineType(cc: DW_CC_nocall, types:");
  }
  const std::string library = program.folder().path("t.so");
  const std::string changed = program.folder().write("changed.ll", assembly);
  REQUIRE(
      run({"clang-14", "-O2", "-fPIC", "-shared", "-nostdlib", changed, "-o", library}).status ==
      0);
  Features features;
  const Encoded plain = program.encode({library}, features);
  REQUIRE(plain.ok);
  CHECK(count(plain, "FUNC 'f'") == 0);  // the registers are not those of the source
  features.true_signature = true;
  const Encoded e = program.encode({library}, features);
  REQUIRE(e.ok);
  CHECK(type_text(e, "FUNC 'f'") == "FUNC 'f' ('p__b' INT 'long'; 'b' INT 'int') -> INT 'long'");
  CHECK(type_text(e, "FUNC 'g'") == "FUNC 'g' ('x' INT 'long') -> INT 'long'");
}

TEST_CASE("Tags of gcc's annotations, on whatever carries them", "[golden]") {
  NEEDS("gcc");
  NEEDS("bpftool");
  Program program;
  // GCC 12 makes none: what GCC 16 makes of
  //   struct s { int a; } __attribute__((btf_decl_tag("whole"))); typedef struct s t
  //   __attribute__((btf_decl_tag("name"))); int __attribute__((btf_type_tag("user"))) *p;
  // DW_TAG_GNU_annotation is 0x6000, DW_AT_GNU_annotation 0x2139; a chain may go on.
  const std::string assembly = R"(
	.section .debug_abbrev,"",@progbits
	.uleb128 1, 0x11
	.byte 1
	.uleb128 0x25, 0x8, 0x13, 0xb, 0x3, 0x8
	.byte 0, 0
	.uleb128 2, 0x24
	.byte 0
	.uleb128 0xb, 0xb, 0x3e, 0xb, 0x3, 0x8
	.byte 0, 0
	.uleb128 3, 0x13
	.byte 1
	.uleb128 0x3, 0x8, 0xb, 0xb, 0x2139, 0x13
	.byte 0, 0
	.uleb128 4, 0xd
	.byte 0
	.uleb128 0x3, 0x8, 0x49, 0x13, 0x38, 0xb
	.byte 0, 0
	.uleb128 5, 0x16
	.byte 0
	.uleb128 0x3, 0x8, 0x49, 0x13, 0x2139, 0x13
	.byte 0, 0
	.uleb128 6, 0xf
	.byte 0
	.uleb128 0xb, 0xb, 0x49, 0x13, 0x2139, 0x13
	.byte 0, 0
	.uleb128 7, 0x6000
	.byte 0
	.uleb128 0x3, 0x8, 0x1c, 0x8
	.byte 0, 0
	.uleb128 8, 0x6000
	.byte 0
	.uleb128 0x3, 0x8, 0x1c, 0x8, 0x2139, 0x13
	.byte 0, 0
	.byte 0
	.section .debug_info,"",@progbits
	.Lunit: .long .Lend - .Lstart
	.Lstart: .value 4
	.long .debug_abbrev
	.byte 8
	.uleb128 1
	.string "GNU C17"
	.byte 0xc
	.string "t.c"
	.Lint: .uleb128 2
	.byte 4, 5
	.string "int"
	.Ls: .uleb128 3
	.string "s"
	.byte 4
	.long .Lwhole - .Lunit
	.uleb128 4
	.string "a"
	.long .Lint - .Lunit
	.byte 0
	.byte 0
	.Lwhole: .uleb128 7
	.string "btf_decl_tag"
	.string "whole"
	.uleb128 5
	.string "t"
	.long .Ls - .Lunit
	.long .Lname - .Lunit
	.Lname: .uleb128 8
	.string "btf_decl_tag"
	.string "name"
	.long .Lwhole - .Lunit
	.uleb128 6
	.byte 8
	.long .Lint - .Lunit
	.long .Luser - .Lunit
	.Luser: .uleb128 7
	.string "btf_type_tag"
	.string "user"
	.byte 0
	.Lend:
)";
  const Encoded e = program.encode({program.compile("t.s", assembly)});
  INFO(e.error.text);
  REQUIRE(e.ok);
  CHECK(count(e, "PTR '(anon)'") == 1);
  CHECK(type_text(e, "PTR") == "PTR TYPE_TAG 'user' INT 'int'");
  CHECK(type_set(e.dump).count("DECL_TAG 'whole' STRUCT 's'") == 1);
  CHECK(type_set(e.dump).count("DECL_TAG 'whole' TYPEDEF 't'") == 1);
  CHECK(type_set(e.dump).count("DECL_TAG 'name' TYPEDEF 't'") == 1);
}

TEST_CASE("Tags of a declaration reach the function that was compiled from it", "[golden]") {
  NEEDS("clang-14");
  NEEDS("bpftool");
  Program program("clang-14");
  // Inlined somewhere, so that name and tags are the abstract instance's.
  const std::string library = program.link("o.so", {program.compile("o.c", R"(
    __attribute__((btf_decl_tag("tagged"))) int f(int a) { return a * 3 + 1; }
    int g(int a) { return f(a) + 2; }
  )",
                                                                    {"-O2", "-fPIC"})});
  const Encoded e = program.encode({library});
  REQUIRE(e.ok);
  CHECK(type_text(e, "DECL_TAG 'tagged'") == "DECL_TAG 'tagged' FUNC 'f'");
}

}  // namespace btfloom::test
