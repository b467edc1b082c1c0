// Abbreviation tables compiled into little programs (DWARF 5 section 7.5.3).
//
// A declaration says tag, children and a list of (attribute, form). Most attributes of a real file
// are of no use here (decl_file, decl_line, ranges, ...), and most forms have a fixed size. So a
// declaration becomes a program of few steps: a run of unwanted fixed-size values is one skip,
// whatever its length; a wanted value is read into the slot of its attribute; what the declaration
// itself says (implicit_const, flag_present) is a constant. What a tag does not need is skipped
// too: a name is wanted on a member, but not on a label. cursor.h runs the programs.
//
// A table belongs to one worker: it compiles what it needs, and keeps it while the units share a
// table.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "dwarf/form.h"
#include "dwarf/unit.h"
#include "support/result.h"

namespace btfloom {

// The attributes that are read, as positions in Die::values.
enum class Attribute : std::uint8_t {
  kSibling,
  kName,
  kType,
  kByteSize,
  kBitSize,
  kDataBitOffset,
  kBitOffset,
  kMemberLocation,
  kEncoding,
  kUpperBound,
  kCount,
  kConstValue,
  kDeclaration,
  kExternal,
  kArtificial,
  kInline,
  kLowPc,
  kAbstractOrigin,
  kSpecification,
  kLocation,
  kCallingConvention,
  kSignature,
  kAnnotation,
};
inline constexpr unsigned kAttributeCount = 23;

constexpr std::uint32_t attribute_bit(Attribute attribute) {
  return std::uint32_t{1} << static_cast<unsigned>(attribute);
}

// DW_AT_* -> Attribute; false if the attribute is never read.
bool attribute_of(std::uint16_t dw_at, Attribute& attribute);

struct Step {
  enum class Kind : std::uint8_t {
    // nothing is kept
    kSkip,  // `bytes` bytes
    kSkipLeb,
    kSkipString,
    kSkipBlock1,
    kSkipBlock2,
    kSkipBlock4,
    kSkipBlockLeb,
    // a value for `attribute`
    kConstant,  // constants()[bytes]
    kFixed1,
    kFixed2,
    kFixed4,
    kFixed8,
    kUleb,
    kSleb,
    kString,
    kStrp4,
    kLineStrp4,
    kBlockLeb,
    kSlow,  // `bytes` is the form: everything rare goes through read_form()
    kSlowSkip,
  };
  Kind kind = Kind::kSkip;
  Attribute attribute = Attribute::kSibling;
  FormClass form_class = FormClass::kNone;
  std::uint16_t bytes = 0;
};

struct Abbrev {
  std::uint16_t tag = 0;  // 0: no such code
  bool has_children = false;
  std::uint32_t present = 0;     // attribute_bit() of every wanted attribute of the declaration
  std::uint32_t first_step = 0;  // in AbbrevTable::steps()
  std::uint32_t step_count = 0;
  std::uint32_t largest_size = 0;  // bytes that a DIE takes at most, strings and blocks left out
};

class AbbrevTable {
 public:
  // Compiles the table that `unit` uses, unless it is the one compiled last. Errors (kInput): a
  // damaged table, an unknown form.
  Result<> prepare(const Unit& unit);

  // The declaration of `code`; its tag is 0 if there is none.
  [[nodiscard]] const Abbrev& find(std::uint64_t code) const {
    return code < abbrevs_.size() ? abbrevs_[code] : find_sparse(code);
  }
  [[nodiscard]] const Step* steps(const Abbrev& abbrev) const {
    return steps_.data() + abbrev.first_step;
  }
  [[nodiscard]] std::int64_t constant(std::uint16_t index) const { return constants_[index]; }

 private:
  struct Sparse {
    std::uint64_t code;
    Abbrev abbrev;
  };
  [[nodiscard]] const Abbrev& find_sparse(std::uint64_t code) const;
  Result<> compile(const Unit& unit);
  Result<> compile_attributes(Reader& reader, const FormContext& context, Abbrev& abbrev);
  Result<> compile_one(std::uint16_t name, std::uint16_t form, std::int64_t implicit_const,
                       const FormContext& context, Abbrev& abbrev);
  void add_skip(const Abbrev& abbrev, unsigned bytes);
  void add_step(Step step) { steps_.push_back(step); }

  // owned by the worker
  const DwarfSections* sections_ = nullptr;
  std::uint64_t offset_ = 0;
  std::uint32_t context_key_ = 0;  // version, offset and address size the programs were made for
  std::vector<Abbrev> abbrevs_;    // by code: GCC and Clang number codes from 1
  std::vector<Sparse> sparse_;     // codes beyond the dense ones, sorted
  std::vector<Step> steps_;
  std::vector<std::int64_t> constants_;
};

}  // namespace btfloom
