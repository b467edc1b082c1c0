// Folding against libbpf: the unfolded types of all units, written one after another with libbpf's
// own functions and deduplicated by btf__dedup(), must be the set of types that we make.
#include <memory>

#include <bpf/btf.h>
#include <catch2/catch.hpp>

#include "btf/write.h"
#include "dedup/fold.h"
#include "dedup/merge.h"
#include "load/load_unit.h"
#include "tests/support/encode_file.h"
#include "tests/support/needs.h"

namespace btfloom::test {

namespace {

struct BtfFree {
  void operator()(btf* b) const { btf__free(b); }
};
using BtfHandle = std::unique_ptr<btf, BtfFree>;

std::vector<Fragment> load_all(const std::vector<std::unique_ptr<ElfImage>>& images,
                               std::vector<std::unique_ptr<DwarfSections>>& sections) {
  std::vector<Fragment> fragments;
  const LoadScratch scratch;
  for (const auto& image : images) {
    sections.push_back(
        std::make_unique<DwarfSections>(std::move(read_dwarf_sections(*image).value())));
    const Result<std::vector<Unit>> units = list_units(*sections.back());
    REQUIRE(units.ok());
    for (const Unit& unit : units.value()) {
      Fragment fragment;
      REQUIRE(load_unit(unit, LoadContext{}, scratch, fragment).ok());
      fragments.push_back(std::move(fragment));
    }
  }
  return fragments;
}

// Adds one type as libbpf's users would; `id` turns references into numbers.
template <typename Id>
int add_type(btf* b, const Fragment& fragment, const Type& type, int index_id, Id&& id) {
  const char* name = *type.name != '\0' ? type.name : nullptr;
  int result = 0;
  switch (type.kind) {
    case Kind::kInt:
      return btf__add_int(b, name, type.size, type.flags);
    case Kind::kFloat:
      return btf__add_float(b, name, type.size);
    case Kind::kPointer:
      return btf__add_ptr(b, id(type.target));
    case Kind::kConst:
      return btf__add_const(b, id(type.target));
    case Kind::kVolatile:
      return btf__add_volatile(b, id(type.target));
    case Kind::kRestrict:
      return btf__add_restrict(b, id(type.target));
    case Kind::kTypedef:
      return btf__add_typedef(b, name, id(type.target));
    case Kind::kTypeTag:
      return btf__add_type_tag(b, name, id(type.target));
    case Kind::kArray:
      return btf__add_array(b, index_id, id(type.target), type.size);
    case Kind::kForward:
      return btf__add_fwd(b, name, type.flags == kOfUnion ? BTF_FWD_UNION : BTF_FWD_STRUCT);
    case Kind::kStruct:
    case Kind::kUnion:
      result = type.kind == Kind::kStruct ? btf__add_struct(b, name, type.size)
                                          : btf__add_union(b, name, type.size);
      for (std::uint32_t i = 0; i < type.count; ++i) {
        const Member& member = fragment.members[type.first + i];
        REQUIRE(btf__add_field(b, member.name, id(member.type), member.bit_offset,
                               member.bitfield_size) == 0);
      }
      return result;
    case Kind::kEnum:
      result = btf__add_enum(b, name, type.size);
      for (std::uint32_t i = 0; i < type.count; ++i) {
        const Enumerator& e = fragment.enumerators[type.first + i];
        REQUIRE(btf__add_enum_value(b, e.name, e.value) == 0);
      }
      return result;
    case Kind::kEnum64:
      result = btf__add_enum64(b, name, type.size, type.flags == kSignedValues);
      for (std::uint32_t i = 0; i < type.count; ++i) {
        const Enumerator& e = fragment.enumerators[type.first + i];
        REQUIRE(btf__add_enum64_value(b, e.name, static_cast<std::uint64_t>(e.value)) == 0);
      }
      return result;
    case Kind::kFunctionProto:
      result = btf__add_func_proto(b, id(type.target));
      for (std::uint32_t i = 0; i < type.count; ++i) {
        const Parameter& parameter = fragment.parameters[type.first + i];
        REQUIRE(btf__add_func_param(b, parameter.name, id(parameter.type)) == 0);
      }
      return result;
      return btf__add_struct(b, nullptr, type.size);
    case Kind::kAlias:
      break;
  }
  return -1;
}

std::string dump_of(const TemporaryFolder& folder, const void* bytes, std::size_t size) {
  const std::string path = folder.write("dump.btf", {static_cast<const char*>(bytes), size});
  return run({"bpftool", "btf", "dump", "file", path}).out;
}

std::string deduplicate_with_libbpf(const TemporaryFolder& folder,
                                    const std::vector<Fragment>& fragments) {
  const BtfHandle b(btf__new_empty());
  // One index type for every array: the first int of all, as our encoder has it.
  int index_id = 0;
  int base = 0;
  for (const Fragment& fragment : fragments) {
    if (index_id == 0 && fragment.int_type != kVoid) {
      index_id = base + static_cast<int>(fragment.int_type) + 1;
    }
    base += static_cast<int>(fragment.types.size());
  }
  base = 0;
  for (const Fragment& fragment : fragments) {
    const auto id = [&](TypeRef type) {
      return type == kVoid ? 0 : base + static_cast<int>(type) + 1;
    };
    for (std::size_t i = 0; i < fragment.types.size(); ++i) {
      const int got = add_type(b.get(), fragment, fragment.types[i], index_id, id);
      REQUIRE(got == base + static_cast<int>(i) + 1);
    }
    base += static_cast<int>(fragment.types.size());
  }
  REQUIRE(btf__dedup(b.get(), nullptr) == 0);
  std::uint32_t size = 0;
  const void* bytes = btf__raw_data(b.get(), &size);
  return dump_of(folder, bytes, size);
}

std::string deduplicate_with_ours(const TemporaryFolder& folder,
                                  const std::vector<Fragment>& fragments) {
  Table table;
  Merger merger(table);
  ShapeScratch scratch;
  for (const Fragment& fragment : fragments) {
    Folded folded;
    folded.fragment = fragment;
    fold(table, scratch, folded);
    merger.add(folded);
  }
  const Graph graph = merger.finish();
  const VariableSections sections;
  const Kfuncs kfuncs;
  const std::vector<ChosenFunction> none;
  const Result<WrittenBtf> written =
      write_btf({.graph = graph, .functions = none, .sections = sections, .kfuncs = kfuncs});
  REQUIRE(written.ok());
  return dump_of(folder, written.value().bytes.data(), written.value().bytes.size());
}

void compare(Program& program, const std::vector<std::string>& sources,
             const std::vector<std::string>& flags = {}) {
  std::vector<std::unique_ptr<ElfImage>> images;
  for (const std::string& source : sources) {
    const std::string object =
        program.compile("u" + std::to_string(images.size()) + ".c", source, flags);
    images.push_back(std::make_unique<ElfImage>(std::move(ElfImage::open(object).value())));
  }
  std::vector<std::unique_ptr<DwarfSections>> sections;
  const std::vector<Fragment> fragments = load_all(images, sections);
  const auto theirs = type_set(deduplicate_with_libbpf(program.folder(), fragments));
  const auto ours = type_set(deduplicate_with_ours(program.folder(), fragments));
  CHECK(!ours.empty());
  CHECK(ours == theirs);
}

const char* const kHeader = R"(
  typedef unsigned int u32; typedef u32 flags_t;
  struct list_head { struct list_head *next, *prev; };
  enum color { RED, GREEN = 7, BLUE = -1 };
  struct device; struct driver;
  typedef int (*probe_t)(struct device *, const struct driver *);
  struct driver { const char *name; probe_t probe; struct list_head list; flags_t flags : 5, more : 11; };
  union both { long l; struct { short a, b; } parts; volatile char bytes[sizeof(long)]; };
)";

}  // namespace

TEST_CASE("libbpf's deduplication and ours make the same set of types", "[oracle][dedup]") {
  NEEDS("gcc");
  NEEDS("clang-14");
  NEEDS("bpftool");
  Program program(GENERATE("gcc", "clang-14"));
  const std::string header = kHeader;
  SECTION("units that share a header") {
    compare(program,
            {header + "struct driver d; enum color c; union both b;",
             header + "struct driver e; probe_t p; union both *b;",
             header + "struct holder { struct driver *d; union both b[3]; } h; enum color c;"});
  }
  SECTION("declared here, defined there") {
    compare(program, {header + "struct driver d;",
                      header + "struct device { struct driver *driver; struct list_head list; }; "
                               "struct device dev; struct driver d;",
                      header + "struct device *pointer; struct driver *d;"});
  }
  SECTION("declared everywhere, defined nowhere") {
    compare(program,
            {header + "struct device *one;", header + "struct device *two; struct driver d;"});
  }
  SECTION("one name, two definitions, and types that reach them") {
    const std::string user =
        "struct via { struct s *s; struct via *next; }; typedef struct via via_t; via_t v; struct "
        "s x;";
    compare(program,
            {header + "struct s { int a; };" + user, header + "struct s { long b; };" + user,
             header + "struct s { int a; };" + user, header + "struct s { long b; };" + user});
  }
  SECTION("one name, two definitions, and a declaration that a pair binds") {
    compare(program, {"struct s; struct t { struct s *s; }; struct t t;",
                      "struct s { int a; }; struct t { struct s *s; }; struct t t;",
                      "struct s { long b; }; struct s *p;"});
  }
  SECTION("one name, two definitions, and a declaration that stays") {
    compare(program, {"struct s; struct s *p;", "struct s { int a; }; struct s *p;",
                      "struct s { long b; }; struct s *p;"});
  }
  SECTION("functions, arrays of functions, self-references through nameless types") {
    compare(program, {"struct n { union { struct n *a; struct { struct n *(*f)(struct n *, ...); } "
                      "x; }; } n; int (*table[4])(void);",
                      "struct n { union { struct n *a; struct { struct n *(*f)(struct n *, ...); } "
                      "x; }; } m; int (*other[4])(void);"});
  }
  SECTION("system headers") {
    compare(program,
            {"#include <stdio.h>\n#include <sys/socket.h>\nFILE *f; struct msghdr m;",
             "#include <sys/socket.h>\n#include <signal.h>\nstruct msghdr *m; struct sigaction s;",
             "#include <stdio.h>\n#include <signal.h>\nint (*p)(FILE *); siginfo_t i;"});
  }
}

}  // namespace btfloom::test
