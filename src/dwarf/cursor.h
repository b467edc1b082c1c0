// Cursor: runs over the DIEs of one unit, in file order. The hottest file of the project.
//
//   Cursor cursor(unit, table);
//   Die die;
//   while (cursor.next(die)) {            // false: end of the unit, or error()
//     if (die.is_null()) { ...end of a chain of siblings... }
//   }
//
// How it is fast (style rule 15):
// - Every DIE costs one bounds check: the program of its abbreviation knows how many bytes it takes
// at most,
//   so inside that window loads are unchecked. Only strings and blocks, whose length is data, check
//   again.
// - Near the end of the section, where the window does not fit, the same steps run through the
// checked
//   Reader. One DIE in millions goes there.
// - A DIE may leave its unit (but never the section) before that is noticed: once, behind it.
// - Nothing is cleared: `present` comes from the abbreviation and says which values hold.
//
// Not thread-safe: a cursor, its Die and its AbbrevTable belong to one worker.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "dwarf/abbrev.h"
#include "dwarf/unit.h"
#include "support/leb128.h"

namespace btfloom {

struct Die {
  std::uint64_t offset = 0;  // in .debug_info
  std::uint32_t present = 0;
  std::uint16_t tag = 0;  // 0: a null entry
  bool has_children = false;
  std::array<Value, kAttributeCount> values;

  [[nodiscard]] bool is_null() const { return tag == 0; }
  [[nodiscard]] bool has(Attribute attribute) const {
    return (present & attribute_bit(attribute)) != 0;
  }
  // Precondition: has(attribute).
  [[nodiscard]] const Value& operator[](Attribute attribute) const {
    return values[static_cast<unsigned>(attribute)];
  }
  // The number of a constant attribute, or `otherwise` if it is absent or not a constant.
  [[nodiscard]] std::uint64_t constant(Attribute attribute, std::uint64_t otherwise = 0) const {
    return has(attribute) && (*this)[attribute].form_class == FormClass::kConstant
               ? (*this)[attribute].number
               : otherwise;
  }
  [[nodiscard]] bool flag(Attribute attribute) const { return constant(attribute) != 0; }
  // DW_AT_name, "" if there is none.
  [[nodiscard]] const char* name() const {
    return has(Attribute::kName) && (*this)[Attribute::kName].form_class == FormClass::kString
               ? (*this)[Attribute::kName].text()
               : "";
  }
};

class Cursor {
 public:
  // Starts at the unit DIE. Precondition: table.prepare(unit) succeeded; both outlive the cursor.
  Cursor(const Unit& unit, const AbbrevTable& table);

  // Reads the DIE at the cursor. False at the end of the unit and on error.
  bool next(Die& die) {
    if (at_ >= end_) {
      return false;
    }
    die.offset = offset();
    if (static_cast<std::size_t>(section_end_ - at_) < kMaxLebBytes) [[unlikely]] {
      return next_checked(die);
    }
    const std::uint64_t code = read_uleb_unchecked(at_);
    if (code == 0) {
      die.tag = 0;
      die.present = 0;
      die.has_children = false;
      return true;
    }
    const Abbrev& abbrev = table_.find(code);
    if (abbrev.tag == 0 || static_cast<std::size_t>(section_end_ - at_) < abbrev.largest_size)
        [[unlikely]] {
      at_ = info_.data() + die.offset;
      return next_checked(die);
    }
    die.tag = abbrev.tag;
    die.present = abbrev.present;
    die.has_children = abbrev.has_children;
    return run(abbrev, die);
  }

  // Offset in .debug_info of the next DIE.
  [[nodiscard]] std::uint64_t offset() const {
    return static_cast<std::uint64_t>(at_ - info_.data());
  }

  // Moves to an offset inside the unit. False, and nothing moves, if it is not behind the cursor.
  bool jump_forward(std::uint64_t offset_in_info) {
    if (offset_in_info < offset() ||
        offset_in_info > static_cast<std::uint64_t>(end_ - info_.data())) {
      return false;
    }
    at_ = info_.data() + offset_in_info;
    return true;
  }

  // Why next() stopped early, or nullptr.
  [[nodiscard]] const char* error() const { return error_; }
  [[nodiscard]] std::uint64_t error_offset() const { return error_offset_; }

 private:
  bool run(const Abbrev& abbrev, Die& die);
  bool next_checked(Die& die);
  bool fail(const Die& die, const char* why);
  bool skip_string();
  bool skip_bytes(std::uint64_t count);
  bool read_slow(const Step& step, Value& value);

  const Unit& unit_;
  const AbbrevTable& table_;
  Bytes info_;
  const std::byte* at_;
  const std::byte* end_;          // of the unit
  const std::byte* section_end_;  // of .debug_info
  Bytes str_;
  Bytes line_str_;
  ByteOrder order_;
  const char* error_ = nullptr;
  std::uint64_t error_offset_ = 0;
};

}  // namespace btfloom
