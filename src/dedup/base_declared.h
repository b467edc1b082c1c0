// BaseDeclared: tags that the base of a split BTF only declares and a unit defines.
//
//   vmlinux:   struct flowtable;                  struct entry { struct flowtable *table; };
//   module:    struct flowtable { int n; };       struct entry { struct flowtable *table; };
//
// The struct entry of the module is the one of the base, which cannot change any more: it is not
// written again, though its pointer leads to the mere declaration. Pointers and prototypes, which
// have no name, are types of their own. The first type in link order that shows the definition, by
// itself or by what it reaches, binds it; if that type itself refers to the definition, it is kept
// as a type of the module. This is what btf__dedup of libbpf does, apart from kept types that equal
// the base's.
//
// Not thread-safe: whoever holds the baton owns it.
#pragma once

#include <unordered_set>
#include <vector>

#include "dedup/fold.h"
#include "dedup/table.h"

namespace btfloom {

class BaseDeclared {
 public:
  explicit BaseDeclared(const Table& table) : table_(table) {}

  // Looks at the next unit in link order, before its types get nodes.
  void look_at(const Folded& folded);

  // Of the unit that was looked at last: the base has the type, but it is kept all the same.
  [[nodiscard]] bool is_kept(std::uint32_t type) const;

 private:
  [[nodiscard]] bool is_declared_only(const Folded& folded, std::uint32_t type);
  void find_fresh(const Folded& folded);
  bool shows_fresh(const Folded& folded, std::uint32_t root);

  const Table& table_;
  HashInput input_;
  std::unordered_set<Hash128, HashOfHash128> bound_;  // links
  // Of the last unit.
  std::vector<std::uint32_t> kept_;       // in order
  std::vector<std::uint8_t> is_fresh_;    // by type: a definition that nothing has shown yet
  std::vector<std::uint8_t> is_visited_;  // by type
  std::vector<std::uint32_t> stack_;
};

}  // namespace btfloom
