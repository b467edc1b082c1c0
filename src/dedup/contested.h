// ContestedNames: tags with several different definitions.
//
// Shapes cut references to struct, union and enum at the name. That is right as long as the name
// means one type. Of 8,452 names in a kernel, 11 are defined twice or more, differently. The first
// definition, in link order, is the primary one; shapes mean that one (a base, if there is one,
// comes before every unit). When a unit brings another definition, that definition and every type
// of the unit that reaches it are set apart: they get deep shapes (deep_shape.h) instead. Units
// that see the primary definition, or none, need no second look.
//
// Not thread-safe: whoever holds the baton owns it.
#pragma once

#include <unordered_map>
#include <vector>

#include "dedup/fold.h"
#include "dedup/table.h"

namespace btfloom {

class ContestedNames {
 public:
  // `table` says what is primary already: in a base, or found there by a worker.
  explicit ContestedNames(const Table& table) : table_(table) {}

  // Looks at the next unit in link order: notes its primary definitions, and sets apart what
  // reaches another one. Those types become unknown again, their shapes deep. True if there are
  // any.
  bool look_at(Folded& folded);

  // Of the unit that was looked at last.
  [[nodiscard]] bool is_apart(std::size_t type) const {
    return !is_apart_.empty() && is_apart_[type] != 0;
  }
  // The content with names cut; precondition: is_apart(type).
  [[nodiscard]] const Hash128& plain_content(std::size_t type) const {
    return plain_content_[type];
  }

 private:
  std::vector<std::uint32_t> find(const Folded& folded);
  [[nodiscard]] bool is_primary(const Hash128& link, const Hash128& content);
  void mark_apart(const Fragment& fragment, const std::vector<std::uint32_t>& contested);
  void set_apart(Folded& folded);

  const Table& table_;
  std::unordered_map<Hash128, Hash128, HashOfHash128> primary_;  // link -> content
  std::vector<Hash128> new_primaries_;                           // given by the last unit
  std::vector<std::uint8_t> is_apart_;                           // by type; empty: none
  std::vector<Hash128> plain_content_;
};

}  // namespace btfloom
