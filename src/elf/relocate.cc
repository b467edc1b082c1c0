#include "elf/relocate.h"

#include <elf.h>

#include <array>

#include "elf/machines.h"

namespace btfloom {

namespace {

bool relocates(const ElfSection& candidate, const ElfSection& section) {
  return (candidate.type == SHT_REL || candidate.type == SHT_RELA) &&
         candidate.info == section.index;
}

struct Relocation {
  std::uint64_t offset = 0;
  std::uint64_t addend = 0;
  std::uint32_t symbol = 0;
  std::uint32_t type = 0;  // MIPS64: three types, the first in the low byte
};

class Relocator {
 public:
  Relocator(const ElfImage& image, const ElfSection& section, std::span<std::byte> bytes)
      : image_(image), section_(section), bytes_(bytes), order_(image.byte_order()) {
    for (std::uint32_t type = 0; type < rules_.size(); ++type) {
      rules_[type] = relocation_rule(image.machine(), type);
    }
    is_mips64_ = image.machine() == EM_MIPS && image.is_64_bit();
  }

  Result<> apply(const ElfSection& table) {
    TRY(read_symbol_values(table.link));
    const bool has_addend = table.type == SHT_RELA;
    const std::size_t word = image_.is_64_bit() ? 8 : 4;
    const std::size_t size = word * (has_addend ? 3 : 2);
    const Bytes records = image_.raw(table);
    for (std::size_t at = 0; at + size <= records.size(); at += size) {
      const Relocation relocation = read(records.data() + at, has_addend);
      if (!apply_one(relocation, has_addend)) {
        return bad_relocation(table, at / size, relocation);
      }
    }
    return {};
  }

 private:
  Result<> read_symbol_values(std::uint32_t table) {
    if (table == symbol_table_) {
      return {};
    }
    symbol_table_ = table;
    values_.clear();
    for (const ElfSymbol& symbol : TRY(image_.symbols())) {
      std::uint64_t value = symbol.value;
      if (symbol.section == SHN_UNDEF || symbol.section == SHN_COMMON) {
        value = 0;
      } else if (symbol.section < image_.sections().size()) {
        value += image_.sections()[symbol.section].address;
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

  bool apply_one(const Relocation& relocation, bool has_addend) {
    if (relocation.symbol >= values_.size() && relocation.symbol != 0) {
      return false;
    }
    // MIPS64: the second and third type work on the result of the first; in debug sections it is 64 with
    // nothing behind, or 32 and 64, which say the same with sign extension.
    const std::uint32_t type = is_mips64_ ? relocation.type & 0xff : relocation.type;
    RelocationRule rule = type < rules_.size() ? rules_[type] : RelocationRule{};
    if (is_mips64_ && (relocation.type >> 8 & 0xff) == R_MIPS_64) {
      rule.bytes = 8;
    }
    const std::uint64_t symbol = relocation.symbol < values_.size() ? values_[relocation.symbol] : 0;
    switch (rule.action) {
      case RelocationAction::kUnknown:
        return false;
      case RelocationAction::kNone:
        return true;
      case RelocationAction::kSetUleb:
      case RelocationAction::kSubtractUleb:
        return apply_uleb(relocation, rule, symbol);
      default:
        break;
    }
    if (relocation.offset > bytes_.size() || bytes_.size() - relocation.offset < rule.bytes) {
      return false;
    }
    std::byte* place = bytes_.data() + relocation.offset;
    const std::uint64_t old = load_sized(place, rule.bytes);
    const std::uint64_t value = symbol + (has_addend ? relocation.addend : sign_extend(old, rule.bytes));
    store_sized(place, rule.bytes, combine(rule.action, old, value, relocation.offset));
    return true;
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
      case RelocationAction::kSubtractLow6:
        return (old & 0xc0) | ((old - value) & 0x3f);
      default:
        return value;
    }
  }

  // The number keeps its length: the bytes behind it must not move.
  bool apply_uleb(const Relocation& relocation, const RelocationRule& rule, std::uint64_t symbol) {
    std::size_t at = relocation.offset;
    std::uint64_t old = 0;
    for (unsigned shift = 0; at < bytes_.size(); ++at, shift += 7) {
      old |= shift < 64 ? static_cast<std::uint64_t>(bytes_[at] & std::byte{0x7f}) << shift : 0;
      if ((bytes_[at] & std::byte{0x80}) == std::byte{0}) {
        break;
      }
    }
    if (at >= bytes_.size()) {
      return false;
    }
    std::uint64_t value = symbol + relocation.addend;
    if (rule.action == RelocationAction::kSubtractUleb) {
      value = old - value;
    }
    for (std::size_t i = relocation.offset; i <= at; ++i, value >>= 7) {
      bytes_[i] = static_cast<std::byte>(value & 0x7f) | (i < at ? std::byte{0x80} : std::byte{0});
    }
    return true;
  }

  [[nodiscard]] std::uint64_t load_sized(const std::byte* at, unsigned bytes) const {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < bytes; ++i) {
      const unsigned place = order_ == ByteOrder::little ? i : bytes - 1 - i;
      value |= static_cast<std::uint64_t>(at[i]) << (8 * place);
    }
    return value;
  }
  void store_sized(std::byte* at, unsigned bytes, std::uint64_t value) const {
    for (unsigned i = 0; i < bytes; ++i) {
      const unsigned place = order_ == ByteOrder::little ? i : bytes - 1 - i;
      at[i] = static_cast<std::byte>(value >> (8 * place));
    }
  }
  static std::uint64_t sign_extend(std::uint64_t value, unsigned bytes) {
    const unsigned shift = 64 - 8 * bytes;
    return bytes == 0 ? 0
                      : static_cast<std::uint64_t>(static_cast<std::int64_t>(value << shift) >> shift);
  }

  [[nodiscard]] Error bad_relocation(const ElfSection& table, std::size_t number,
                                     const Relocation& relocation) const {
    return Error{.kind = ErrorKind::kInput,
                 .text = "relocation " + std::to_string(number) + " in " +
                         std::string(table.name) + " (type " + std::to_string(relocation.type) +
                         ", machine " + std::to_string(image_.machine()) +
                         ") is unknown or out of bounds; the file is damaged, or link it with "
                         "ld -r first",
                 .file = image_.path()};
  }

  const ElfImage& image_;
  const ElfSection& section_;
  std::span<std::byte> bytes_;
  ByteOrder order_;
  bool is_mips64_ = false;
  std::array<RelocationRule, 2048> rules_;  // AArch64 numbers go beyond 1,000
  std::uint32_t symbol_table_ = 0;
  std::vector<std::uint64_t> values_;
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
