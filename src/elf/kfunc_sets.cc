#include "elf/kfunc_sets.h"

#include <optional>

namespace btfloom {

namespace {

constexpr std::string_view kSetPrefix = "__BTF_ID__set8__";
constexpr std::string_view kFunctionPrefix = "__BTF_ID__func__";
constexpr std::uint32_t kSetOfKfuncs = 1;  // BTF_SET8_KFUNCS

struct Range {
  std::uint64_t begin;
  std::uint64_t end;
};

// NAME of __BTF_ID__func__NAME__SUFFIX; the suffix is a number that makes the symbol unique.
std::string_view function_of(std::string_view symbol) {
  symbol.remove_prefix(kFunctionPrefix.size());
  const std::size_t cut = symbol.rfind("__");
  return cut == std::string_view::npos ? std::string_view() : symbol.substr(0, cut);
}

class IdSection {
 public:
  IdSection(const ElfImage& image, const ElfSection& section)
      : bytes_(image.raw(section)),
        // Symbol values are addresses in linked files, offsets in relocatable ones.
        start_(image.is_relocatable() ? 0 : section.address),
        order_(image.byte_order()) {}

  // The second word of the pair at the symbol.
  [[nodiscard]] std::optional<std::uint32_t> second_word(const ElfSymbol& symbol) const {
    const std::uint64_t at = symbol.value - start_;
    if (symbol.value < start_ || bytes_.size() < 8 || at > bytes_.size() - 8) {
      return std::nullopt;
    }
    return load<std::uint32_t>(bytes_.data() + at + 4, order_);
  }

 private:
  Bytes bytes_;
  std::uint64_t start_;
  ByteOrder order_;
};

}  // namespace

std::vector<Kfunc> read_kfuncs(const ElfImage& image, const std::vector<ElfSymbol>& symbols) {
  const ElfSection* section = image.find(".BTF_ids");
  if (section == nullptr) {
    return {};
  }
  const IdSection ids(image, *section);
  std::vector<Range> sets;
  for (const ElfSymbol& symbol : symbols) {
    if (symbol.section != section->index || !symbol.name.starts_with(kSetPrefix)) {
      continue;
    }
    const auto flags = ids.second_word(symbol);
    if (flags && (*flags & kSetOfKfuncs) != 0) {
      sets.push_back({symbol.value, symbol.value + symbol.size});
    }
  }
  std::vector<Kfunc> kfuncs;
  for (const ElfSymbol& symbol : symbols) {
    if (symbol.section != section->index || !symbol.name.starts_with(kFunctionPrefix)) {
      continue;
    }
    const auto flags = ids.second_word(symbol);
    const std::string_view name = function_of(symbol.name);
    for (const Range& set : sets) {
      if (flags && !name.empty() && symbol.value >= set.begin && symbol.value < set.end) {
        kfuncs.push_back({name, *flags});
        break;
      }
    }
  }
  return kfuncs;
}

}  // namespace btfloom
