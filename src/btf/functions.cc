#include "btf/functions.h"

#include <algorithm>
#include <optional>
#include <span>

namespace btfloom {

namespace {

// Types nest less deep; more is a loop of qualifiers.
constexpr unsigned kMaxDepth = 64;

// The class that two types must share to be compared at all: a declared struct is a struct.
Kind comparable_kind(const Type& type) {
  if (type.kind == Kind::kForward) {
    return type.flags == kOfUnion ? Kind::kUnion : Kind::kStruct;
  }
  return type.kind;
}

bool same_name(const char* a, const char* b) {
  return std::string_view(a) == b;
}

class PrototypeComparison {
 public:
  explicit PrototypeComparison(const Graph& graph) : graph_(graph) {}

  [[nodiscard]] bool match(const Function& a, const Function& b) const {
    if (a.parameter_count != b.parameter_count || !match(a.return_type, b.return_type, 0)) {
      return false;
    }
    for (std::uint32_t i = 0; i < a.parameter_count; ++i) {
      if (!match(graph_.parameters[a.first_parameter + i].type,
                 graph_.parameters[b.first_parameter + i].type, 0)) {
        return false;
      }
    }
    return true;
  }

 private:
  // As a caller would see it: named types by name, const not at all.
  [[nodiscard]] bool match(TypeRef a, TypeRef b, unsigned depth) const {
    for (; depth < kMaxDepth; ++depth) {
      if (a == b) {
        return true;
      }
      if (a == kVoid || b == kVoid) {
        return false;
      }
      const Type& left = graph_.types[a];
      const Type& right = graph_.types[b];
      if (comparable_kind(left) == comparable_kind(right)) {
        return match_same_kind(left, right, depth);
      }
      if (left.kind == Kind::kConst) {
        a = left.target;
      } else if (right.kind == Kind::kConst) {
        b = right.target;
      } else {
        return false;
      }
    }
    return false;
  }

  [[nodiscard]] bool match_same_kind(const Type& a, const Type& b, unsigned depth) const {
    switch (a.kind) {
      case Kind::kInt:
        return a.size == b.size && a.flags == b.flags && same_name(a.name, b.name);
      case Kind::kFloat:
        return a.size == b.size && same_name(a.name, b.name);
      case Kind::kTypedef:
      case Kind::kStruct:
      case Kind::kUnion:
      case Kind::kEnum:
      case Kind::kEnum64:
      case Kind::kForward:
        return same_name(a.name, b.name);
      case Kind::kPointer:
      case Kind::kVolatile:
      case Kind::kConst:
      case Kind::kRestrict:
      case Kind::kTypeTag:
        return match(a.target, b.target, depth + 1);
      case Kind::kArray:
        return a.size == b.size && match(a.target, b.target, depth + 1);
      case Kind::kFunctionProto: {
        if (a.count != b.count || !match(a.target, b.target, depth + 1)) {
          return false;
        }
        for (std::uint32_t i = 0; i < a.count; ++i) {
          if (!match(graph_.parameters[a.first + i].type, graph_.parameters[b.first + i].type,
                     depth + 1)) {
            return false;
          }
        }
        return true;
      }
      case Kind::kAlias:
        return false;
    }
    return false;
  }

  const Graph& graph_;
};

class FunctionChoice {
 public:
  FunctionChoice(const Graph& graph, const FunctionSymbols& symbols, const FunctionRules& rules)
      : graph_(graph), symbols_(symbols), prototypes_(graph), rules_(rules) {}

  std::vector<ChosenFunction> run() {
    std::vector<ChosenFunction> chosen;
    const std::vector<std::uint32_t> sorted = sorted_candidates();
    for (std::size_t first = 0; first < sorted.size();) {
      const std::uint32_t symbol = graph_.functions[sorted[first]].symbol;
      std::size_t last = first + 1;
      while (last < sorted.size() && graph_.functions[sorted[last]].symbol == symbol) {
        ++last;
      }
      const std::span<const std::uint32_t> group(sorted.data() + first, last - first);
      const std::uint32_t candidate = canonical(symbol, group);
      if (const auto variant = rules_.keep_variants ? find_variant(symbol, group) : std::nullopt) {
        chosen.push_back(*variant);
      } else if (is_usable(symbol, group, candidate)) {
        chosen.push_back({symbols_[symbol].stem, candidate});
      }
      first = last;
    }
    return chosen;
  }

 private:
  // Candidates by name, those of one symbol together in (unit, DIE) order.
  std::vector<std::uint32_t> sorted_candidates() const {
    std::vector<std::uint32_t> per_symbol(symbols_.size() + 1, 0);
    for (const Function& function : graph_.functions) {
      ++per_symbol[function.symbol];
    }
    std::vector<std::uint32_t> order;
    for (std::uint32_t symbol = 0; symbol < symbols_.size(); ++symbol) {
      if (per_symbol[symbol] != 0) {
        order.push_back(symbol);
      }
    }
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return symbols_[a].stem < symbols_[b].stem;
    });
    std::uint32_t start = 0;
    for (const std::uint32_t symbol : order) {
      const std::uint32_t count = per_symbol[symbol];
      per_symbol[symbol] = start;
      start += count;
    }
    std::vector<std::uint32_t> sorted(graph_.functions.size());
    for (std::uint32_t i = 0; i < graph_.functions.size(); ++i) {
      sorted[per_symbol[graph_.functions[i].symbol]++] = i;
    }
    return sorted;
  }

  // The candidate at the address of one of the symbols, preferably one that was not optimized; else
  // the first.
  [[nodiscard]] std::uint32_t canonical(std::uint32_t symbol,
                                        std::span<const std::uint32_t> group) const {
    if (group.size() == 1) {
      return group.front();
    }
    std::uint32_t at_address = kNoCandidate;
    for (const std::uint32_t candidate : group) {
      if (!is_at_symbol(symbol, graph_.functions[candidate])) {
        continue;
      }
      if (!is_optimized_away(symbol, graph_.functions[candidate])) {
        return candidate;
      }
      at_address = std::min(at_address, candidate);
    }
    return at_address != kNoCandidate ? at_address : group.front();
  }

  [[nodiscard]] bool is_at_symbol(std::uint32_t symbol, const Function& function) const {
    for (std::uint32_t member = symbols_[symbol].first_member; member != FunctionSymbols::kNotFound;
         member = symbols_.member(member).next) {
      if (symbols_.member(member).value == function.address) {
        return true;
      }
    }
    return false;
  }

  // Its parameters are those that it is really called with (load/true_signature.cc).
  [[nodiscard]] bool is_changed(const Function& function) const {
    return rules_.keep_variants && (function.flags & kFunctionSignatureChanged) != 0;
  }

  // The first candidate that is a variant, if its parameters are where its prototype says.
  [[nodiscard]] std::optional<ChosenFunction> find_variant(
      std::uint32_t symbol, std::span<const std::uint32_t> group) const {
    for (const std::uint32_t candidate : group) {
      const Function& function = graph_.functions[candidate];
      constexpr std::uint8_t kUnsure = kFunctionUnexpectedRegister | kFunctionUncertainLocation;
      const bool is_guess =
          (function.flags & kFunctionOptimizedParameters) != 0 && !is_changed(function);
      if (function.address == 0 || (function.flags & kUnsure) != 0 || is_guess) {
        continue;
      }
      for (std::uint32_t member = symbols_[symbol].first_member;
           member != FunctionSymbols::kNotFound; member = symbols_.member(member).next) {
        const auto& [name, value, next] = symbols_.member(member);
        if (value == function.address && name.find('.') != std::string_view::npos) {
          return ChosenFunction{.name = name, .function = candidate, .is_variant = true};
        }
      }
    }
    return std::nullopt;
  }

  // Its parameters were optimized, and it carries the name of a variant, so callers pass something
  // else.
  [[nodiscard]] bool is_optimized_away(std::uint32_t symbol, const Function& function) const {
    if ((function.flags & kFunctionOptimizedParameters) == 0 || is_changed(function)) {
      return false;
    }
    if ((function.flags & kFunctionSignatureChanged) != 0) {
      return true;
    }
    for (std::uint32_t member = symbols_[symbol].first_member; member != FunctionSymbols::kNotFound;
         member = symbols_.member(member).next) {
      const std::string_view name = symbols_.member(member).name;
      if (symbols_.member(member).value == function.address &&
          (name.find(".constprop") != std::string_view::npos ||
           name.find(".isra") != std::string_view::npos)) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] bool is_usable(std::uint32_t symbol, std::span<const std::uint32_t> group,
                               std::uint32_t candidate) const {
    constexpr std::uint8_t kFatal =
        kFunctionUnexpectedRegister | kFunctionUncertainLocation | kFunctionReordered;
    for (const std::uint32_t function : group) {
      if ((graph_.functions[function].flags & kFatal) != 0) {
        return false;
      }
    }
    if (symbols_[symbol].is_ambiguous || is_optimized_away(symbol, graph_.functions[candidate])) {
      return false;
    }
    for (const std::uint32_t function : group.subspan(1)) {
      if (rules_.drop_inconsistent &&
          !prototypes_.match(graph_.functions[group.front()], graph_.functions[function])) {
        return false;
      }
    }
    return true;
  }

  static constexpr std::uint32_t kNoCandidate = 0xffffffff;
  const Graph& graph_;
  const FunctionSymbols& symbols_;
  PrototypeComparison prototypes_;
  const FunctionRules& rules_;
};

}  // namespace

std::vector<ChosenFunction> choose_functions(const Graph& graph, const FunctionSymbols& symbols,
                                             const FunctionRules& rules) {
  return FunctionChoice(graph, symbols, rules).run();
}

}  // namespace btfloom
