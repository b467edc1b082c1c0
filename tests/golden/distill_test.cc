// Distilled bases, and modules that are joined to another kernel's BTF by them. Expected values:
// docs/encoding-choices.md, "Split BTF", and Documentation/bpf/btf.rst, ".BTF.base section".
#include "btf/distill.h"

#include <fstream>

#include <catch2/catch.hpp>

#include "tests/support/encode_file.h"
#include "tests/support/needs.h"

namespace btfloom::test {

namespace {

const std::string kKernel = R"(
  typedef unsigned int u32;
  struct unneeded { short s; } unneeded;
  struct held { long a, b; } held;
  struct pointed { struct held h; u32 x; } *pointed;
  enum color { RED, BLUE = 3 } color;
  enum wide { WIDE = 0x100000000 } wide;
  typedef struct { int q; } nameless;
  nameless n;
  union either { u32 a; float b; };
  int use(union either *e, double d) { return e->a + (int)d; }
)";

const std::string kModule = R"(
  typedef unsigned int u32;
  struct held { long a, b; };
  struct pointed { struct held h; u32 x; };
  enum color { RED, BLUE = 3 };
  enum wide { WIDE = 0x100000000 };
  typedef struct { int q; } nameless;
  struct own { struct held h[2]; struct pointed *p; enum color c; enum wide w; nameless n; } own;
  int get(struct own *o, u32 i) { return o->n.q + (int)i; }
)";

void write(const std::string& path, const std::vector<std::byte>& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  REQUIRE(file.good());
}

// A module encoded on its kernel, with the distilled base that it carries.
struct Built {
  Program program;
  Encoded kernel;
  Encoded module;
  DistilledBtf distilled;

  Built() {
    kernel = encode_kernel(kKernel);
    module = program.encode_split({program.compile("module.c", kModule)}, kernel.path);
    REQUIRE(module.ok);
    const Result<BtfImage> base = BtfImage::parse(kernel.btf, nullptr);
    REQUIRE(base.ok());
    const Result<BtfImage> split = BtfImage::parse(module.btf, &base.value());
    REQUIRE(split.ok());
    Result<DistilledBtf> made = distill(split.value());
    REQUIRE(made.ok());
    distilled = std::move(made.value());
  }

  Encoded encode_kernel(const std::string& source, const std::string& more = {}) {
    std::vector<std::string> objects = {program.compile("kernel.c", source)};
    if (!more.empty()) {
      objects.push_back(program.compile("more.c", more));
    }
    Encoded made = program.encode(objects);
    REQUIRE(made.ok);
    return made;
  }

  // What bpftool reads from the pair of files.
  Encoded read(const std::vector<std::byte>& base, const std::vector<std::byte>& split) {
    const std::string base_path = program.folder().path("read.base");
    const std::string split_path = program.folder().path("read.split");
    write(base_path, base);
    write(split_path, split);
    Encoded dumped;
    const CommandResult own = run({"bpftool", "btf", "dump", "file", split_path, "-B", base_path});
    REQUIRE(own.status == 0);
    dumped.dump = run({"bpftool", "btf", "dump", "file", base_path}).out + own.out;
    return dumped;
  }

  Result<std::vector<std::byte>> join(const Encoded& other) {
    const Result<BtfImage> base = BtfImage::parse(distilled.base, nullptr);
    REQUIRE(base.ok());
    const Result<BtfImage> split = BtfImage::parse(distilled.split, &base.value());
    REQUIRE(split.ok());
    const Result<BtfImage> target = BtfImage::parse(other.btf, nullptr);
    REQUIRE(target.ok());
    return relocate(split.value(), target.value());
  }
};

// The number at the start of the line that has `text` in it.
std::string number_of(const Encoded& encoded, const std::string& text) {
  for (const std::string& line : lines_of(encoded.dump)) {
    if (line.starts_with('[') && line.find(text) != std::string::npos) {
      return line.substr(1, line.find(']') - 1);
    }
  }
  return "";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

const std::string kOwn =
    "STRUCT 'own' size=64 { 'h' ARRAY[2] STRUCT 'held' @0; 'p' PTR STRUCT 'pointed' @256; 'c' ENUM "
    "'color' @320; 'w' ENUM64 'wide' @384; 'n' TYPEDEF 'nameless' @448 }";

}  // namespace

TEST_CASE("A distilled base names what the module needs, and no more", "[golden]") {
  NEEDS("gcc");
  NEEDS("bpftool");
  Built built;
  const Encoded e = built.read(built.distilled.base, built.distilled.split);
  const std::string base_path = built.program.folder().path("read.base");
  std::multiset<std::string> heads;
  for (const std::string& line : lines_of(run({"bpftool", "btf", "dump", "file", base_path}).out)) {
    heads.insert(line.substr(line.find("] ") + 2));
  }
  // Members of named structs are not followed: no 'long', no 'float', no 'short'. An enumeration of
  // 64 bits is an ENUM here, for it has no values.
  CHECK(heads == std::multiset<std::string>{
                     "INT 'unsigned int' size=4 bits_offset=0 nr_bits=32 encoding=(none)",
                     "INT 'int' size=4 bits_offset=0 nr_bits=32 encoding=SIGNED",
                     "STRUCT 'held' size=16 vlen=0",
                     "STRUCT 'pointed' size=24 vlen=0",
                     "ENUM 'color' encoding=UNSIGNED size=4 vlen=0",
                     "ENUM 'wide' encoding=UNSIGNED size=8 vlen=0",
                 });
  // What has no name to be found by, or is a typedef, moved into the module.
  CHECK(type_text(e, "STRUCT 'own'") == replaced(kOwn, "ENUM64", "ENUM"));
  CHECK(type_text(e, "FUNC 'get'") ==
        "FUNC 'get' ('o' PTR STRUCT 'own'; 'i' TYPEDEF 'u32') -> INT 'int'");
  CHECK(type_text(e, "TYPEDEF 'nameless'") == "TYPEDEF 'nameless' STRUCT { 'q' INT 'int' @0 }");
  CHECK(type_text(e, "TYPEDEF 'u32'") == "TYPEDEF 'u32' INT 'unsigned int'");
}

TEST_CASE("A module joins a kernel whose types were inserted and reordered", "[golden]") {
  NEEDS("gcc");
  NEEDS("bpftool");
  Built built;
  // Another kernel: new types first, the old ones the other way round, `pointed` has grown (the
  // module only points to it), `color` has a value more.
  const Encoded other = built.encode_kernel(R"(
    struct first { char c[3]; double d; } first;
    enum wide { WIDE = 0x100000000, WIDER } wide;
    enum color { RED, BLUE = 3, GREEN } color;
    struct pointed { int before; struct held *h; long more[7]; } *pointed;
    struct held { long b, a; } held;
    struct second { struct held h; unsigned int u; } second;
    int main(void) { return 0; }
  )");
  const Result<std::vector<std::byte>> joined = built.join(other);
  REQUIRE(joined.ok());
  const Encoded e = built.read(other.btf, joined.value());
  CHECK(type_text(e, "STRUCT 'own'") == kOwn);
  CHECK(type_text(e, "FUNC 'get'") ==
        "FUNC 'get' ('o' PTR STRUCT 'own'; 'i' TYPEDEF 'u32') -> INT 'int'");
  // The types behind the names are those of the other kernel.
  CHECK(type_text(e, "STRUCT 'pointed'").starts_with("STRUCT 'pointed' size=72 { 'before'"));
  CHECK(count(e, "STRUCT 'held'") == 1);
  CHECK(count(e, "STRUCT 'pointed'") == 1);
  CHECK(count(e, "INT 'int'") == 1);
  for (const char* name : {"'held'", "'pointed'", "'color'", "'wide'", "'int'"}) {
    CHECK(number_of(e, name) == number_of(other, name));
  }
}

TEST_CASE("A declaration in the distilled base finds a definition", "[golden]") {
  NEEDS("gcc");
  NEEDS("bpftool");
  Built built;
  const std::string declared = "struct opaque; struct opaque *o; union shut; union shut *s;";
  const Encoded first = built.encode_kernel(declared);
  const Encoded module = built.program.encode_split(
      {built.program.compile("o.c",
                             "struct opaque; union shut; struct mine { struct opaque *o; "
                             "union shut *s; } mine;")},
      first.path);
  REQUIRE(module.ok);
  const Result<BtfImage> base = BtfImage::parse(first.btf, nullptr);
  const Result<BtfImage> split = BtfImage::parse(module.btf, &base.value());
  REQUIRE(split.ok());
  Result<DistilledBtf> made = distill(split.value());
  REQUIRE(made.ok());
  built.distilled = std::move(made.value());
  const Encoded other =
      built.encode_kernel("struct opaque { int a; } *o; union shut; union shut *s;");
  const Result<std::vector<std::byte>> joined = built.join(other);
  REQUIRE(joined.ok());
  CHECK(type_text(built.read(other.btf, joined.value()), "STRUCT 'mine'") ==
        "STRUCT 'mine' size=16 { 'o' PTR STRUCT 'opaque' @0; 's' PTR FWD 'shut' fwd_kind=union "
        "@64 }");
}

TEST_CASE("A kernel that the module does not fit is an error that names the type", "[golden]") {
  NEEDS("gcc");
  NEEDS("bpftool");
  Built built;
  const std::string none;
  const auto [kernel, more, kind,
              name] = GENERATE_COPY(table<std::string, std::string, std::string, std::string>({
      // Held by value: of another size, of another kind, or not there.
      {replaced(kKernel, "long a, b", "long a, b, c"), none, "STRUCT", "held"},
      {replaced(kKernel, "struct held { long a, b; }",
                "struct hold { long a, b; } hold; struct held { int a; }"),
       none, "STRUCT", "held"},
      {replaced(
           replaced(replaced(kKernel, "struct held", "union held"), "struct held", "union held"),
           "long a, b;", "long a[2];"),
       none, "STRUCT", "held"},
      // Pointed to: not there, or there twice with other sizes than the module knew.
      {replaced(kKernel, "struct pointed", "struct pointing"), none, "STRUCT", "pointed"},
      {replaced(kKernel, "u32 x;", "u32 x[9];"), "struct pointed { int other; } *p;", "STRUCT",
       "pointed"},
      {replaced(kKernel, "enum color { RED, BLUE = 3 } color",
                "enum color { RED, BLUE = 0x300000000 } color"),
       none, "ENUM", "color"},
      {replaced(kKernel, "enum wide { WIDE = 0x100000000 } wide", "int wide"), none, "ENUM",
       "wide"},
  }));
  const Result<std::vector<std::byte>> joined = built.join(built.encode_kernel(kernel, more));
  REQUIRE_FALSE(joined.ok());
  CHECK(joined.error().kind == ErrorKind::kInput);
  CHECK(joined.error().text.starts_with(kind + " '" + name + "' is"));
  CHECK(joined.error().text.ends_with("build the module for this kernel"));
}

}  // namespace btfloom::test
