// Forms: how an attribute value is stored (DWARF 5 section 7.5.6, table 7.6), for DWARF 2 to 5, 32-
// and 64-bit DWARF, and the GNU forms of split and supplementary files.
//
// FormLayout says how many bytes a value takes; Value is a decoded one. Thread-safe (pure
// functions).
#pragma once

#include <cstdint>

#include "dwarf/sections.h"
#include "support/bytes.h"
#include "support/reader.h"

namespace btfloom {

// What a value means, whatever its storage.
enum class FormClass : std::uint8_t {
  kNone,
  kConstant,         // number; dataN zero-extended, sdata and implicit_const sign-extended
  kString,           // number: address of a NUL-terminated text, never null
  kReference,        // number: offset from the unit header
  kGlobalReference,  // number: offset in .debug_info
  kSignature,        // number: type signature
  kAddress,          // number: address
  kAddressIndex,     // number: index into .debug_addr
  kBlock,            // number: address of the bytes, `length` of them: block or exprloc
  kSectionOffset,    // number: offset in a section the attribute implies
  kListIndex,        // number: index into a DWARF 5 list table
  kForeign,          // something in a supplementary file; not followed
};

struct Value {
  std::uint64_t number = 0;
  std::uint32_t length = 0;
  FormClass form_class = FormClass::kNone;

  [[nodiscard]] const char* text() const { return reinterpret_cast<const char*>(number); }
  [[nodiscard]] Bytes block() const { return {reinterpret_cast<const std::byte*>(number), length}; }
};

// What a unit must say before its values can be read.
struct FormContext {
  const DwarfSections* sections = nullptr;
  std::uint8_t version = 5;
  std::uint8_t offset_size = 4;  // 4: 32-bit DWARF, 8: 64-bit DWARF
  std::uint8_t address_size = 8;
  std::uint64_t str_offsets_base = 0;
  std::uint64_t addr_base = 0;
  std::uint64_t loclists_base = 0;
};

// Bytes that a value of `form` takes, or -1 if that depends on the value, or -2 if the form is
// unknown.
inline constexpr int kVariableSize = -1;
inline constexpr int kUnknownForm = -2;
int form_size(std::uint16_t form, const FormContext& context);

FormClass form_class(std::uint16_t form);

// The text behind a string offset; nullptr if it lies outside the section.
inline const char* text_at(Bytes section, std::uint64_t offset) {
  return offset < section.size() ? reinterpret_cast<const char*>(section.data() + offset) : nullptr;
}

// The same for .debug_line_str, which holds names of units and folders: a file that was stripped of
// its line tables has lost it, and those names with it, but nothing else.
inline const char* line_text_at(Bytes section, std::uint64_t offset) {
  return section.empty() ? "" : text_at(section, offset);
}

// Entry `index` of the unit's part of .debug_str_offsets (DWARF 5 section 7.26) or nullptr.
const char* text_at_index(const FormContext& context, std::uint64_t index);

// Entry `index` of the unit's part of .debug_addr (DWARF 5 section 7.27), 0 if there is none.
std::uint64_t address_at_index(const FormContext& context, std::uint64_t index);

// Reads one value of any form, the slow and checked way: unit DIEs, indirect forms, tails of units.
// On a bad value the reader turns not-ok.
Value read_form(Reader& reader, std::uint16_t form, std::int64_t implicit_const,
                const FormContext& context);

}  // namespace btfloom
