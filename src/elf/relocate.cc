#include "elf/relocate.h"

#include <elf.h>

#include <optional>
#include <string>
#include <vector>

#include "elf/machines.h"

namespace btfloom {

namespace {

bool relocates(const ElfSection& candidate, const ElfSection& section) {
  return (candidate.type == SHT_REL || candidate.type == SHT_RELA) &&
         candidate.info == section.index;
}

// Why a relocation cannot be done.
enum class Problem : std::uint8_t { kUnknownType, kBadSymbol, kOutOfBounds };

struct Relocation {
  std::uint64_t offset = 0;
  std::uint64_t addend = 0;
  std::uint32_t symbol = 0;
  std::uint32_t type = 0;  // MIPS64: three types, the first in the low byte
};

class Relocator {
 public:
  Relocator(const ElfImage& image, const ElfSection& section, std::span<std::byte> bytes)
      : image_(image),
        section_(section),
        bytes_(bytes),
        order_(image.byte_order()),
        is_mips64_(image.machine() == EM_MIPS && image.is_64_bit()),
        rules_(relocation_rules(image.machine())) {}

  Result<> apply(const ElfSection& table) {
    TRY(read_symbol_values(table.link));
    const bool has_addend = table.type == SHT_RELA;
    const std::size_t word = image_.is_64_bit() ? 8 : 4;
    const std::size_t size = word * (has_addend ? 3 : 2);
    const Bytes records = image_.raw(table);
    for (std::size_t at = 0; at + size <= records.size(); at += size) {
      const Relocation relocation = read(records.data() + at, has_addend);
      if (const auto problem = apply_one(relocation, has_addend)) {
        return bad_relocation(*problem, at / size, relocation);
      }
    }
    return {};
  }

 private:
  Result<> read_symbol_values(std::uint32_t table) {
    if (!values_.empty()) {
      return {};
    }
    const auto& sections = image_.sections();
    if (table >= sections.size() || sections[table].name != ".symtab" || !image_.has_symtab()) {
      return Error{.kind = ErrorKind::kInput,
                   .text = "the relocations of " + std::string(section_.name) +
                           " refer to no symbol table; the file is damaged, rebuild it",
                   .file = image_.path()};
    }
    for (const ElfSymbol& symbol : TRY(image_.symbols())) {
      std::uint64_t value = 0;  // SHN_UNDEF, SHN_COMMON: no place yet
      if (symbol.is_in_section && symbol.section < sections.size()) {
        value = symbol.value + sections[symbol.section].address;
      } else if (!symbol.is_in_section && symbol.section == SHN_ABS) {
        value = symbol.value;
      }
      values_.push_back(value);
    }
    return {};
  }

  Relocation read(const std::byte* at, bool has_addend) const {
    Relocation relocation;
    if (!image_.is_64_bit()) {
      const auto info = load<std::uint32_t>(at + 4, order_);
      relocation.offset = load<std::uint32_t>(at, order_);
      relocation.symbol = info >> 8;
      relocation.type = info & 0xff;
      relocation.addend = has_addend
                              ? static_cast<std::uint64_t>(static_cast<std::int64_t>(
                                    static_cast<std::int32_t>(load<std::uint32_t>(at + 8, order_))))
                              : 0;
      return relocation;
    }
    relocation.offset = load<std::uint64_t>(at, order_);
    relocation.addend = has_addend ? load<std::uint64_t>(at + 16, order_) : 0;
    if (is_mips64_) {
      // A 32-bit symbol in the file's order, then a special symbol and three types, a byte each.
      relocation.symbol = load<std::uint32_t>(at + 8, order_);
      relocation.type = static_cast<std::uint32_t>(at[15]) |
                        static_cast<std::uint32_t>(at[14]) << 8 |
                        static_cast<std::uint32_t>(at[13]) << 16;
      return relocation;
    }
    const auto info = load<std::uint64_t>(at + 8, order_);
    relocation.symbol = static_cast<std::uint32_t>(info >> 32);
    relocation.type = static_cast<std::uint32_t>(info);
    return relocation;
  }

  // Nothing if it went well.
  std::optional<Problem> apply_one(const Relocation& relocation, bool has_addend) {
    if (relocation.symbol >= values_.size() && relocation.symbol != 0) {
      return Problem::kBadSymbol;
    }
    const std::uint32_t type = is_mips64_ ? relocation.type & 0xff : relocation.type;
    RelocationRule rule = type < rules_.size() ? rules_[type] : RelocationRule{};
    if (is_mips64_ && relocation.type > 0xff && !compose_mips64(relocation.type, rule)) {
      return Problem::kUnknownType;
    }
    const std::uint64_t symbol = relocation.symbol != 0 ? values_[relocation.symbol] : 0;
    switch (rule.action) {
      case RelocationAction::kUnknown:
        return Problem::kUnknownType;
      case RelocationAction::kNone:
        return std::nullopt;
      case RelocationAction::kSetUleb:
      case RelocationAction::kAddUleb:
      case RelocationAction::kSubtractUleb:
        return apply_uleb(relocation, rule.action, symbol);
      default:
        break;
    }
    if (relocation.offset > bytes_.size() || bytes_.size() - relocation.offset < rule.bytes) {
      return Problem::kOutOfBounds;
    }
    std::byte* place = bytes_.data() + relocation.offset;
    const std::uint64_t old = load_sized(place, rule.bytes);
    const std::uint64_t addend = has_addend ? relocation.addend : sign_extend(old, rule.bytes);
    std::uint64_t value = combine(rule.action, old, symbol + addend, relocation.offset);
    if (is_mips64_ && type == R_MIPS_32) {
      value = sign_extend(value, 4);  // if 64 follows
    }
    store_sized(place, rule.bytes, value);
    return std::nullopt;
  }

  // The second and third type of a MIPS64 relocation work on the result of the one before. What
  // makes sense in debug sections is 64 after 32 or 64 (the value widened), with nothing behind.
  static bool compose_mips64(std::uint32_t types, RelocationRule& rule) {
    const bool is_widened = (types >> 8 & 0xff) == R_MIPS_64 && types >> 16 == R_MIPS_NONE &&
                            ((types & 0xff) == R_MIPS_32 || (types & 0xff) == R_MIPS_64);
    rule.bytes = is_widened ? std::uint8_t{8} : rule.bytes;
    return is_widened;
  }

  [[nodiscard]] std::uint64_t combine(RelocationAction action, std::uint64_t old,
                                      std::uint64_t value, std::uint64_t offset) const {
    switch (action) {
      case RelocationAction::kRelative:
        return value - (section_.address + offset);
      case RelocationAction::kAdd:
        return old + value;
      case RelocationAction::kSubtract:
        return old - value;
      case RelocationAction::kSetLow6:
        return (old & 0xc0) | (value & 0x3f);
      case RelocationAction::kAddLow6:
        return (old & 0xc0) | ((old + value) & 0x3f);
      case RelocationAction::kSubtractLow6:
        return (old & 0xc0) | ((old - value) & 0x3f);
      default:
        return value;
    }
  }

  // The number keeps its length: the bytes behind it must not move.
  std::optional<Problem> apply_uleb(const Relocation& relocation, RelocationAction action,
                                    std::uint64_t symbol) {
    std::size_t at = relocation.offset;
    std::uint64_t old = 0;
    for (unsigned shift = 0; at < bytes_.size(); ++at, shift += 7) {
      old |= shift < 64 ? static_cast<std::uint64_t>(bytes_[at] & std::byte{0x7f}) << shift : 0;
      if ((bytes_[at] & std::byte{0x80}) == std::byte{0}) {
        break;
      }
    }
    if (at >= bytes_.size()) {
      return Problem::kOutOfBounds;
    }
    std::uint64_t value = symbol + relocation.addend;
    if (action == RelocationAction::kAddUleb) {
      value = old + value;
    } else if (action == RelocationAction::kSubtractUleb) {
      value = old - value;
    }
    for (std::size_t i = relocation.offset; i <= at; ++i, value >>= 7) {
      bytes_[i] = static_cast<std::byte>(value & 0x7f) | (i < at ? std::byte{0x80} : std::byte{0});
    }
    return std::nullopt;
  }

  // Nearly all are of 4 or 8 bytes; the loops are for the rest (LoongArch has some of 3).
  [[nodiscard]] std::uint64_t load_sized(const std::byte* at, unsigned bytes) const {
    if (bytes == 4) {
      return load<std::uint32_t>(at, order_);
    }
    if (bytes == 8) {
      return load<std::uint64_t>(at, order_);
    }
    std::uint64_t value = 0;
    for (unsigned i = 0; i < bytes; ++i) {
      const unsigned place = order_ == ByteOrder::little ? i : bytes - 1 - i;
      value |= static_cast<std::uint64_t>(at[i]) << (8 * place);
    }
    return value;
  }
  void store_sized(std::byte* at, unsigned bytes, std::uint64_t value) const {
    if (bytes == 4) {
      store(at, static_cast<std::uint32_t>(value), order_);
      return;
    }
    if (bytes == 8) {
      store(at, value, order_);
      return;
    }
    for (unsigned i = 0; i < bytes; ++i) {
      const unsigned place = order_ == ByteOrder::little ? i : bytes - 1 - i;
      at[i] = static_cast<std::byte>(value >> (8 * place));
    }
  }
  // Precondition: bytes > 0.
  static std::uint64_t sign_extend(std::uint64_t value, unsigned bytes) {
    const unsigned shift = 64 - 8 * bytes;
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value << shift) >> shift);
  }

  [[nodiscard]] Error bad_relocation(Problem problem, std::size_t number,
                                     const Relocation& relocation) const {
    std::string text = "relocation " + std::to_string(number) + " of " +
                       std::string(section_.name) + " (type " + std::to_string(relocation.type) +
                       " of " + machine_name(image_.machine()) + ") ";
    switch (problem) {
      case Problem::kUnknownType:
        text += "is of a type that has no place in a debug section; link the file with ld -r first";
        break;
      case Problem::kBadSymbol:
        text += "names symbol " + std::to_string(relocation.symbol) + " of " +
                std::to_string(values_.size()) + "; the file is damaged, rebuild it";
        break;
      case Problem::kOutOfBounds:
        text += "is behind the end of the section; the file is damaged, rebuild it";
        break;
    }
    return Error{.kind = ErrorKind::kInput, .text = std::move(text), .file = image_.path()};
  }

  const ElfImage& image_;
  const ElfSection& section_;
  std::span<std::byte> bytes_;
  ByteOrder order_;
  bool is_mips64_;
  std::vector<RelocationRule> rules_;  // by type
  std::vector<std::uint64_t> values_;  // of the symbols, in symbol table order
};

}  // namespace

bool has_relocations(const ElfImage& image, const ElfSection& section) {
  for (const ElfSection& candidate : image.sections()) {
    if (relocates(candidate, section)) {
      return true;
    }
  }
  return false;
}

Result<> relocate(const ElfImage& image, const ElfSection& section, std::span<std::byte> bytes) {
  Relocator relocator(image, section, bytes);
  for (const ElfSection& candidate : image.sections()) {
    if (relocates(candidate, section)) {
      TRY(relocator.apply(candidate));
    }
  }
  return {};
}

}  // namespace btfloom
