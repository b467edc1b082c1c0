// Two readers of DWARF, DIE by DIE: libdw and our cursor must agree on every DIE, every attribute
// that we use, and every location of a parameter or variable.
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <sstream>

#include <catch2/catch.hpp>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include "dwarf/constants.h"
#include "dwarf/cursor.h"
#include "dwarf/location.h"
#include "dwarf/sections.h"
#include "tests/support/encode_file.h"
#include "tests/support/needs.h"

namespace btfloom::test {

namespace {

struct DwflCloser {
  void operator()(Dwfl* dwfl) const { dwfl_end(dwfl); }
};

// Opens any ELF file through libdwfl, which relocates objects as we do.
class OtherReader {
 public:
  explicit OtherReader(const std::string& path) {
    static char* no_debuginfo_path = nullptr;
    static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
                                             .find_debuginfo = dwfl_standard_find_debuginfo,
                                             .section_address = dwfl_offline_section_address,
                                             .debuginfo_path = &no_debuginfo_path};
    dwfl_.reset(dwfl_begin(&callbacks));
    dwfl_report_begin(dwfl_.get());
    Dwfl_Module* module = dwfl_report_offline(dwfl_.get(), "", path.c_str(), -1);
    dwfl_report_end(dwfl_.get(), nullptr, nullptr);
    Dwarf_Addr bias = 0;
    dwarf_ = module != nullptr ? dwfl_module_getdwarf(module, &bias) : nullptr;
  }
  [[nodiscard]] Dwarf* dwarf() const { return dwarf_; }

 private:
  std::unique_ptr<Dwfl, DwflCloser> dwfl_;
  Dwarf* dwarf_ = nullptr;
};

constexpr struct {
  Attribute attribute;
  unsigned name;
} kAttributes[] = {
    {Attribute::kSibling, DW_AT_sibling},
    {Attribute::kName, DW_AT_name},
    {Attribute::kType, DW_AT_type},
    {Attribute::kByteSize, DW_AT_byte_size},
    {Attribute::kBitSize, DW_AT_bit_size},
    {Attribute::kDataBitOffset, DW_AT_data_bit_offset},
    {Attribute::kBitOffset, DW_AT_bit_offset},
    {Attribute::kMemberLocation, DW_AT_data_member_location},
    {Attribute::kEncoding, DW_AT_encoding},
    {Attribute::kUpperBound, DW_AT_upper_bound},
    {Attribute::kCount, DW_AT_count},
    {Attribute::kConstValue, DW_AT_const_value},
    {Attribute::kDeclaration, DW_AT_declaration},
    {Attribute::kExternal, DW_AT_external},
    {Attribute::kArtificial, DW_AT_artificial},
    {Attribute::kInline, DW_AT_inline},
    {Attribute::kLowPc, DW_AT_low_pc},
    {Attribute::kAbstractOrigin, DW_AT_abstract_origin},
    {Attribute::kSpecification, DW_AT_specification},
    {Attribute::kLocation, DW_AT_location},
    {Attribute::kCallingConvention, DW_AT_calling_convention},
    {Attribute::kSignature, DW_AT_signature},
    {Attribute::kAnnotation, kAtGnuAnnotation},
};
static_assert(std::size(kAttributes) == kAttributeCount);

struct Tally {
  std::uint64_t dies = 0;
  std::uint64_t attributes = 0;
  std::uint64_t locations = 0;
  bool is_relocatable = false;
  std::string problem;  // the first one
};

// "" or how the value differs from libdw's.
std::string compare_value(const Unit& unit, const Value& ours, bool is_relocatable,
                          Dwarf_Attribute& theirs) {
  Dwarf_Word number = 0;
  switch (ours.form_class) {
    case FormClass::kString: {
      const char* text = dwarf_formstring(&theirs);
      return text != nullptr && std::strcmp(text, ours.text()) == 0 ? "" : "string";
    }
    case FormClass::kReference:
    case FormClass::kGlobalReference: {
      Dwarf_Die target;
      if (dwarf_formref_die(&theirs, &target) == nullptr) {
        // DW_AT_sibling of the last child may point behind the unit's DIEs.
        return theirs.code == DW_AT_sibling ? "" : "reference that libdw cannot follow";
      }
      const std::uint64_t base = ours.form_class == FormClass::kReference ? unit.offset : 0;
      return dwarf_dieoffset(&target) == base + ours.number ? "" : "reference";
    }
    case FormClass::kConstant: {
      if (theirs.form == DW_FORM_flag || theirs.form == DW_FORM_flag_present) {
        bool flag = false;
        return dwarf_formflag(&theirs, &flag) == 0 && flag == (ours.number != 0) ? "" : "flag";
      }
      if (theirs.form == DW_FORM_sdata || theirs.form == DW_FORM_implicit_const) {
        Dwarf_Sword signed_number = 0;
        return dwarf_formsdata(&theirs, &signed_number) == 0 &&
                       static_cast<std::uint64_t>(signed_number) == ours.number
                   ? ""
                   : "signed constant";
      }
      return dwarf_formudata(&theirs, &number) == 0 && number == ours.number ? "" : "constant";
    }
    case FormClass::kAddress:
      // libdwfl and we lay out relocatable files differently; that both relocate is seen by all
      // other values.
      if (is_relocatable) {
        return "";
      }
      return dwarf_formaddr(&theirs, &number) == 0 && number == ours.number ? "" : "address";
    case FormClass::kAddressIndex:
      return dwarf_formaddr(&theirs, &number) == 0 &&
                     number == address_at_index(unit.forms, ours.number)
                 ? ""
                 : "address by index";
    case FormClass::kBlock: {
      Dwarf_Block block;
      if (is_relocatable && ours.length > 0 && ours.block()[0] == std::byte{DW_OP_addr}) {
        return dwarf_formblock(&theirs, &block) == 0 && block.length == ours.length ? "" : "length";
      }
      return dwarf_formblock(&theirs, &block) == 0 && block.length == ours.length &&
                     std::memcmp(block.data, ours.block().data(), block.length) == 0
                 ? ""
                 : "block";
    }
    case FormClass::kSectionOffset:
    case FormClass::kListIndex:
      return "";  // compared through what it leads to
    default:
      return "a class that no test input has";
  }
}

// "" or how the expressions of a location differ.
std::string compare_locations(const Unit& unit, const Value& ours, Dwarf_Attribute& theirs,
                              Tally& tally) {
  std::vector<std::vector<std::pair<unsigned, std::uint64_t>>> our_lists;
  for_each_location(unit, ours, [&](Bytes expression, unsigned entry) {
    REQUIRE(entry == our_lists.size());
    our_lists.emplace_back();
    Reader reader(expression, unit.forms.sections->order);
    Operation operation;
    while (next_operation(reader, unit.forms, operation)) {
      our_lists.back().emplace_back(operation.code, operation.number);
    }
  });
  std::size_t entry = 0;
  std::ptrdiff_t offset = 0;
  Dwarf_Addr base = 0;
  Dwarf_Addr start = 0;
  Dwarf_Addr end = 0;
  Dwarf_Op* operations = nullptr;
  std::size_t count = 0;
  while ((offset = dwarf_getlocations(&theirs, offset, &base, &start, &end, &operations, &count)) >
         0) {
    if (entry >= our_lists.size() || our_lists[entry].size() != count) {
      return "number of operations";
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (our_lists[entry][i].first != operations[i].atom) {
        return "operation";
      }
      const unsigned atom = operations[i].atom;
      const bool has_plain_operand =
          atom == DW_OP_addr || atom == DW_OP_fbreg || atom == DW_OP_piece ||
          atom == DW_OP_constu || atom == DW_OP_plus_uconst ||
          (atom >= DW_OP_breg0 && atom <= DW_OP_breg31) || atom == DW_OP_regx;
      if (atom == DW_OP_addr && tally.is_relocatable) {
        continue;
      }
      if (has_plain_operand && our_lists[entry][i].second != operations[i].number) {
        return "operand";
      }
    }
    ++entry;
    ++tally.locations;
  }
  if (offset < 0) {
    return "";  // DW_OP_GNU_uninit and the like, which libdw does not know
  }
  // An expression without operations (optimized out) is an entry to us and none to libdw.
  const bool is_empty = our_lists.size() == 1 && our_lists[0].empty() && entry == 0;
  return entry == our_lists.size() || is_empty ? "" : "number of entries";
}

void compare_die(const Unit& unit, const Die& die, Dwarf* dwarf, Tally& tally) {
  Dwarf_Die other;
  const auto fail = [&](const std::string& what) {
    std::ostringstream text;
    text << "DIE 0x" << std::hex << die.offset << " tag 0x" << die.tag << ": " << what;
    tally.problem = tally.problem.empty() ? text.str() : tally.problem;
  };
  if (dwarf_offdie(dwarf, die.offset, &other) == nullptr || dwarf_tag(&other) != die.tag) {
    return fail("tag");
  }
  if ((dwarf_haschildren(&other) != 0) != die.has_children) {
    return fail("children");
  }
  ++tally.dies;
  for (const auto& row : kAttributes) {
    Dwarf_Attribute attribute;
    const bool exists = dwarf_attr(&other, row.name, &attribute) != nullptr;
    if (!die.has(row.attribute)) {
      continue;  // not wanted on this tag; that is checked by what is missing below
    }
    if (!exists) {
      return fail("an attribute that libdw does not see");
    }
    ++tally.attributes;
    const Value& value = die[row.attribute];
    std::string problem = compare_value(unit, value, tally.is_relocatable, attribute);
    if (problem.empty() && row.attribute == Attribute::kLocation) {
      problem = compare_locations(unit, value, attribute, tally);
    }
    if (!problem.empty()) {
      return fail("DW_AT 0x" + std::to_string(row.name) + ": " + problem);
    }
  }
}

// What load/ needs of a tag and libdw sees, but the cursor skipped.
void check_nothing_missed(const Die& die, Dwarf* dwarf, Tally& tally) {
  static constexpr struct {
    unsigned tag;
    unsigned name;
    Attribute attribute;
  } kNeeded[] = {
      {DW_TAG_member, DW_AT_type, Attribute::kType},
      {DW_TAG_member, DW_AT_name, Attribute::kName},
      {DW_TAG_member, DW_AT_data_member_location, Attribute::kMemberLocation},
      {DW_TAG_member, DW_AT_bit_size, Attribute::kBitSize},
      {DW_TAG_structure_type, DW_AT_byte_size, Attribute::kByteSize},
      {DW_TAG_structure_type, DW_AT_declaration, Attribute::kDeclaration},
      {DW_TAG_enumerator, DW_AT_const_value, Attribute::kConstValue},
      {DW_TAG_subrange_type, DW_AT_upper_bound, Attribute::kUpperBound},
      {DW_TAG_subrange_type, DW_AT_count, Attribute::kCount},
      {DW_TAG_formal_parameter, DW_AT_location, Attribute::kLocation},
      {DW_TAG_formal_parameter, DW_AT_abstract_origin, Attribute::kAbstractOrigin},
      {DW_TAG_subprogram, DW_AT_low_pc, Attribute::kLowPc},
      {DW_TAG_subprogram, DW_AT_type, Attribute::kType},
      {DW_TAG_base_type, DW_AT_encoding, Attribute::kEncoding},
      {DW_TAG_variable, DW_AT_location, Attribute::kLocation},
      {DW_TAG_variable, DW_AT_specification, Attribute::kSpecification},
  };
  Dwarf_Die other;
  for (const auto& row : kNeeded) {
    if (row.tag == die.tag && !die.has(row.attribute) &&
        dwarf_offdie(dwarf, die.offset, &other) != nullptr &&
        dwarf_hasattr(&other, row.name) != 0 && tally.problem.empty()) {
      tally.problem =
          "missed DW_AT " + std::to_string(row.name) + " of DIE " + std::to_string(die.offset);
    }
  }
}

Tally compare_file(const std::string& path) {
  Tally tally;
  const Result<ElfImage> image = ElfImage::open(path);
  REQUIRE(image.ok());
  const Result<DwarfSections> sections = read_dwarf_sections(image.value());
  REQUIRE(sections.ok());
  const Result<std::vector<Unit>> units = list_units(sections.value());
  REQUIRE(units.ok());
  tally.is_relocatable = image.value().is_relocatable();
  const OtherReader other(path);
  REQUIRE(other.dwarf() != nullptr);
  AbbrevTable abbrevs;
  std::uint64_t other_units = 0;
  Dwarf_CU* cu = nullptr;
  while (dwarf_get_units(other.dwarf(), cu, &cu, nullptr, nullptr, nullptr, nullptr) == 0) {
    ++other_units;
  }
  CHECK(units.value().size() == other_units);
  for (const Unit& unit : units.value()) {
    REQUIRE(unit.broken.empty());
    REQUIRE(abbrevs.prepare(unit).ok());
    Cursor cursor(unit, abbrevs);
    Die die;
    while (cursor.next(die)) {
      if (!die.is_null()) {
        compare_die(unit, die, other.dwarf(), tally);
        check_nothing_missed(die, other.dwarf(), tally);
      }
    }
    CHECK(cursor.error() == nullptr);
    CHECK(cursor.offset() == unit.end);
  }
  CHECK(tally.problem == "");
  return tally;
}

const char* const kSource = R"(
  #include <stdio.h>
  #include <stdlib.h>
  #include <string.h>
  struct list { struct list *next; unsigned a : 3, b : 9; char name[8]; enum { ON = -2, OFF } s; union { int i; float f; } u; };
  static struct list head;
  static int walk(struct list *l, int n) { int sum = 0; while (l && n--) { sum += l->a + (int)strlen(l->name); l = l->next; } return sum; }
  static inline long inlined(long x, const char *format, ...) { return x * 3 + format[0]; }
  int main(int argc, char **argv) { int vla[argc]; memset(vla, 0, sizeof vla); printf("%d %ld\n", walk(&head, argc), inlined(argc, argv[0])); return vla[0]; }
)";

}  // namespace

TEST_CASE("libdw and the cursor agree on programs of both compilers, all versions, both formats",
          "[oracle]") {
  NEEDS("gcc");
  NEEDS("clang-14");
  const std::string compiler = GENERATE("gcc", "clang-14");
  const std::vector<std::string> flags =
      GENERATE(std::vector<std::string>{"-gdwarf-5"}, std::vector<std::string>{"-gdwarf-4"},
               std::vector<std::string>{"-gdwarf-3"}, std::vector<std::string>{"-gdwarf-2"},
               std::vector<std::string>{"-gdwarf-5", "-gdwarf64"});
  for (const std::string level : {"-O0", "-O2"}) {
    CAPTURE(compiler, flags, level);
    Program program(compiler);
    std::vector<std::string> all = flags;
    all.push_back(level);
    all.push_back("-fPIC");
    const std::string object = program.compile("p.c", kSource, all);
    const Tally in_object = compare_file(object);
    const Tally linked = compare_file(program.link("p.so", {object}));
    CHECK(in_object.dies > 40);
    CHECK(linked.dies == in_object.dies);
    CHECK(linked.attributes > 100);
    CHECK(linked.locations > 5);
  }
}

TEST_CASE("libdw and the cursor agree on C++", "[oracle]") {
  NEEDS("g++");
  const std::string version = GENERATE("-gdwarf-5", "-gdwarf-4");
  Program program("g++");
  const std::string object = program.compile("p.cc", R"(
    #include <map>
    #include <string>
    namespace deep { template <typename T> struct box { T value; static int count; virtual ~box() {} }; }
    template <typename T> int deep::box<T>::count = 0;
    int main() { std::map<std::string, int> m; m["a"] = 1; deep::box<int> b; b.value = m["a"]; return b.value + deep::box<int>::count; }
  )",
                                             {version, "-O1"});
  CHECK(compare_file(object).dies > 5000);
}

TEST_CASE("libdw and the cursor agree on a kernel module", "[oracle][corpus]") {
  NEEDS("zstd");
  const char* corpus = std::getenv("BTFLOOM_CORPUS");
  const std::string folder = corpus != nullptr ? corpus : "../shared/corpus";
  TemporaryFolder scratch;
  for (const std::string name : {"kvm.ko", "tun.ko"}) {
    const std::string packed = folder + "/" + name + ".zst";
    if (!std::filesystem::exists(packed)) {
      std::puts("SKIPPED: needs the corpus folder in BTFLOOM_CORPUS");
      SUCCEED();
      return;
    }
    REQUIRE(run({"zstd", "-dqf", packed, "-o", scratch.path(name)}).status == 0);
    const Tally tally = compare_file(scratch.path(name));
    CHECK(tally.dies > 10000);
    CHECK(tally.locations > 1000);
  }
}

}  // namespace btfloom::test
