// The cursor and its programs on hand-made sections: what compilers rarely write, and what only
// damage does. That it agrees with libdw on real files is the business of
// tests/oracle/dwarf_walk_test.cc.
#include "dwarf/cursor.h"

#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "dwarf/constants.h"

namespace btfloom::test {

namespace {

using Data = std::vector<std::uint8_t>;

void add_uleb(Data& data, std::uint64_t value) {
  do {
    const auto byte = static_cast<std::uint8_t>(value & 0x7f);
    value >>= 7;
    data.push_back(value != 0 ? byte | 0x80 : byte);
  } while (value != 0);
}

struct Spec {
  std::uint64_t name;
  std::uint64_t form;
  std::int8_t implicit_const = 0;
};

// A DWARF 5 unit over an abbreviation table, both in buffers of exactly their size, so that
// AddressSanitizer sees every byte too far.
class HandMade {
 public:
  void declare(std::uint64_t code, std::uint64_t tag, bool has_children,
               const std::vector<Spec>& specs) {
    add_uleb(abbrev_, code);
    add_uleb(abbrev_, tag);
    abbrev_.push_back(has_children ? 1 : 0);
    for (const Spec& spec : specs) {
      add_uleb(abbrev_, spec.name);
      add_uleb(abbrev_, spec.form);
      if (spec.form == DW_FORM_implicit_const) {
        abbrev_.push_back(static_cast<std::uint8_t>(spec.implicit_const & 0x7f));
      }
    }
    abbrev_.push_back(0);
    abbrev_.push_back(0);
  }
  Data dies;  // behind the header

  // Everything as a reader sees it; `size` bytes of DIEs are there.
  const Unit& build(std::size_t size) {
    abbrev_.push_back(0);
    abbrev_copy_ = std::make_unique<std::uint8_t[]>(abbrev_.size());
    std::copy(abbrev_.begin(), abbrev_.end(), abbrev_copy_.get());
    info_copy_ = std::make_unique<std::uint8_t[]>(kHeader + size);
    std::copy_n(dies.begin(), size, info_copy_.get() + kHeader);
    sections_.info = {reinterpret_cast<const std::byte*>(info_copy_.get()), kHeader + size};
    sections_.abbrev = {reinterpret_cast<const std::byte*>(abbrev_copy_.get()), abbrev_.size()};
    sections_.order = ByteOrder::little;
    unit_.forms.sections = &sections_;
    unit_.first_die = kHeader;
    unit_.end = kHeader + size;
    return unit_;
  }

 private:
  static constexpr std::size_t kHeader = 12;  // DWARF 5 section 7.5.1.1, 32-bit
  Data abbrev_;
  std::unique_ptr<std::uint8_t[]> abbrev_copy_;
  std::unique_ptr<std::uint8_t[]> info_copy_;
  DwarfSections sections_;
  Unit unit_;
};

}  // namespace

TEST_CASE("A run of unwanted attributes is skipped, however long it is", "[unit][dwarf]") {
  const std::size_t count = GENERATE(1U, 219U, 220U, 4096U, 10000U);
  HandMade file;
  // data16 is 16 bytes: 4,096 of them are more than a step of 16 bits can skip.
  std::vector<Spec> specs(count, Spec{DW_AT_decl_file, DW_FORM_data16});
  specs.push_back({DW_AT_byte_size, DW_FORM_data1});
  file.declare(1, DW_TAG_base_type, false, specs);
  add_uleb(file.dies, 1);
  file.dies.resize(file.dies.size() + count * 16, 0xaa);
  file.dies.push_back(7);
  AbbrevTable table;
  const Unit& unit = file.build(file.dies.size());
  REQUIRE(table.prepare(unit).ok());
  Cursor cursor(unit, table);
  Die die;
  REQUIRE(cursor.next(die));
  CHECK(die.constant(Attribute::kByteSize) == 7);
  CHECK_FALSE(cursor.next(die));
  CHECK(cursor.error() == nullptr);
}

TEST_CASE("What the declaration itself says is a value, zero included", "[unit][dwarf]") {
  HandMade file;
  file.declare(1, DW_TAG_subrange_type, false, {{DW_AT_upper_bound, DW_FORM_implicit_const, 0}});
  file.declare(2, DW_TAG_enumerator, false, {{DW_AT_const_value, DW_FORM_implicit_const, -3}});
  file.declare(3, DW_TAG_structure_type, false, {{DW_AT_declaration, DW_FORM_flag_present}});
  file.declare(4, DW_TAG_structure_type, false, {{DW_AT_declaration, DW_FORM_flag}});
  file.dies = {1, 2, 3, 4, 0, 4, 1};
  AbbrevTable table;
  const Unit& unit = file.build(file.dies.size());
  REQUIRE(table.prepare(unit).ok());
  Cursor cursor(unit, table);
  Die die;
  REQUIRE(cursor.next(die));
  CHECK(die.has(Attribute::kUpperBound));
  CHECK(die.constant(Attribute::kUpperBound, 99) == 0);
  REQUIRE(cursor.next(die));
  CHECK(static_cast<std::int64_t>(die.constant(Attribute::kConstValue)) == -3);
  REQUIRE(cursor.next(die));
  CHECK(die.flag(Attribute::kDeclaration));
  REQUIRE(cursor.next(die));
  CHECK(die.has(Attribute::kDeclaration));
  CHECK_FALSE(die.flag(Attribute::kDeclaration));  // DW_FORM_flag with value 0
  REQUIRE(cursor.next(die));
  CHECK(die.flag(Attribute::kDeclaration));
}

TEST_CASE("Codes need not be dense, sorted, or small", "[unit][dwarf]") {
  HandMade file;
  file.declare(900, DW_TAG_base_type, false, {{DW_AT_byte_size, DW_FORM_data1}});
  file.declare(1, DW_TAG_base_type, false, {{DW_AT_byte_size, DW_FORM_udata}});
  file.declare(0xffffffff, DW_TAG_base_type, false, {{DW_AT_byte_size, DW_FORM_data2}});
  for (const std::uint64_t code : {900ULL, 1ULL, 0xffffffffULL}) {
    add_uleb(file.dies, code);
    file.dies.push_back(5);
    if (code == 0xffffffff) {
      file.dies.push_back(0);
    }
  }
  AbbrevTable table;
  const Unit& unit = file.build(file.dies.size());
  REQUIRE(table.prepare(unit).ok());
  Cursor cursor(unit, table);
  Die die;
  for (int i = 0; i < 3; ++i) {
    REQUIRE(cursor.next(die));
    CHECK(die.constant(Attribute::kByteSize) == 5);
  }
}

TEST_CASE("A form may be chosen in the DIE", "[unit][dwarf]") {
  HandMade file;
  file.declare(1, DW_TAG_structure_type, false,
               {{DW_AT_decl_line, DW_FORM_indirect},
                {DW_AT_byte_size, DW_FORM_indirect},
                {DW_AT_name, DW_FORM_string}});
  file.dies = {1, DW_FORM_data4, 1, 2, 3, 4, DW_FORM_udata, 0x81, 0x01, 'x', 0};
  AbbrevTable table;
  const Unit& unit = file.build(file.dies.size());
  REQUIRE(table.prepare(unit).ok());
  Cursor cursor(unit, table);
  Die die;
  REQUIRE(cursor.next(die));
  CHECK(die.constant(Attribute::kByteSize) == 129);  // 0x01 * 128 + 0x01
  CHECK(std::string(die.name()) == "x");
}

TEST_CASE("A unit cut off anywhere ends in an error or earlier, never in a read behind it",
          "[unit][dwarf]") {
  HandMade file;
  file.declare(1, DW_TAG_structure_type, true,
               {{DW_AT_name, DW_FORM_string},
                {DW_AT_byte_size, DW_FORM_data2},
                {DW_AT_decl_line, DW_FORM_udata}});
  file.declare(2, DW_TAG_member, false,
               {{DW_AT_name, DW_FORM_string},
                {DW_AT_data_member_location, DW_FORM_exprloc},
                {DW_AT_type, DW_FORM_ref4},
                {DW_AT_decl_file, DW_FORM_block1},
                {DW_AT_const_value, DW_FORM_sdata}});
  const Data structure = {1, 'a', 'b', 0, 8, 0, 0x80, 0x01};
  const Data member = {2, 'm', 0, 3, DW_OP_plus_uconst, 0x80, 1, 12, 0, 0, 0, 2, 9, 9, 0x7f};
  for (const Data* part : {&structure, &member, &member}) {
    file.dies.insert(file.dies.end(), part->begin(), part->end());
  }
  file.dies.push_back(0);
  const std::size_t whole = file.dies.size();
  for (std::size_t size = 0; size <= whole; ++size) {
    HandMade copy = HandMade();
    copy.declare(1, DW_TAG_structure_type, true,
                 {{DW_AT_name, DW_FORM_string},
                  {DW_AT_byte_size, DW_FORM_data2},
                  {DW_AT_decl_line, DW_FORM_udata}});
    copy.declare(2, DW_TAG_member, false,
                 {{DW_AT_name, DW_FORM_string},
                  {DW_AT_data_member_location, DW_FORM_exprloc},
                  {DW_AT_type, DW_FORM_ref4},
                  {DW_AT_decl_file, DW_FORM_block1},
                  {DW_AT_const_value, DW_FORM_sdata}});
    copy.dies = file.dies;
    AbbrevTable table;
    const Unit& unit = copy.build(size);
    REQUIRE(table.prepare(unit).ok());
    Cursor cursor(unit, table);
    Die die;
    int dies = 0;
    while (cursor.next(die)) {
      ++dies;
    }
    const bool ends_between_dies = size == 0 || size == structure.size() ||
                                   size == structure.size() + member.size() || size >= whole - 1;
    INFO("cut at " << size);
    CHECK((cursor.error() == nullptr) == ends_between_dies);
    CHECK(dies <= 4);
  }
}

TEST_CASE("Damaged tables are errors", "[unit][dwarf]") {
  SECTION("a form that no version of DWARF knows") {
    HandMade file;
    file.declare(1, DW_TAG_base_type, false, {{DW_AT_name, 0x7777}});
    AbbrevTable table;
    const Result<> prepared = table.prepare(file.build(0));
    REQUIRE_FALSE(prepared.ok());
    CHECK(prepared.error().text.find("unknown DW_FORM") != std::string::npos);
  }
  SECTION("a table behind the end of its section") {
    HandMade file;
    Unit unit = file.build(0);
    unit.abbrev_offset = 1000;
    AbbrevTable table;
    CHECK_FALSE(table.prepare(unit).ok());
  }
  SECTION("a DIE whose code is not declared") {
    HandMade file;
    file.declare(1, DW_TAG_base_type, false, {});
    file.dies = {1, 9};
    AbbrevTable table;
    const Unit& unit = file.build(2);
    REQUIRE(table.prepare(unit).ok());
    Cursor cursor(unit, table);
    Die die;
    CHECK(cursor.next(die));
    CHECK_FALSE(cursor.next(die));
    CHECK(cursor.error() != nullptr);
    CHECK(cursor.error_offset() == 13);  // 12 bytes of header, one DIE of one byte
  }
}

}  // namespace btfloom::test
