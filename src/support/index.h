// Index<Tag>: a 32-bit index that knows what it counts; mixing two kinds does not compile. Trivial,
// thread-safe.
#pragma once

#include <compare>
#include <cstdint>

namespace btfloom {

template <typename Tag>
struct Index {
  static constexpr std::uint32_t kNone = 0xffffffff;
  std::uint32_t value = kNone;

  constexpr Index() = default;
  constexpr explicit Index(std::uint32_t v) : value(v) {}
  [[nodiscard]] constexpr bool exists() const { return value != kNone; }
  friend constexpr auto operator<=>(const Index&, const Index&) = default;
};

using UnitIndex = Index<struct UnitTag>;  // position of a unit in link order, over all input files
using TypeIndex = Index<struct TypeTag>;  // a type inside one fragment, in DIE post-order
using NodeIndex =
    Index<struct NodeTag>;  // a type of the merged graph, in order of first occurrence

}  // namespace btfloom
