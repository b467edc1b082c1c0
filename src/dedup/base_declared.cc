#include "dedup/base_declared.h"

#include <algorithm>

#include "types/references.h"

namespace btfloom {

// A definition whose name the base has as a declaration, and not as this definition.
bool BaseDeclared::is_declared_only(const Folded& folded, std::uint32_t type) {
  const Type& definition = folded.fragment.types[type];
  if (!is_struct_or_union(definition.kind) || !is_definition(definition) ||
      table_.find_in_base(folded.shapes.content[type]).exists()) {
    return false;
  }
  const Type declared{.name = definition.name,
                      .kind = Kind::kForward,
                      .flags = definition.kind == Kind::kUnion ? kOfUnion : std::uint8_t{0}};
  gather_content(
      folded.fragment, declared, [](TypeRef) { return kVoidLink; }, input_);
  return table_.find_in_base(input_.hash()).exists();
}

void BaseDeclared::find_fresh(const Folded& folded) {
  is_fresh_.clear();
  for (std::uint32_t i = 0; i < folded.fragment.types.size(); ++i) {
    if (folded.node_of[i] == kUnknownNode && is_declared_only(folded, i) &&
        !bound_.contains(folded.shapes.link[i].hash)) {
      is_fresh_.resize(folded.fragment.types.size(), 0);
      is_fresh_[i] = 1;
    }
  }
}

void BaseDeclared::look_at(const Folded& folded) {
  kept_.clear();
  find_fresh(folded);
  if (is_fresh_.empty()) {
    return;
  }
  const Fragment& fragment = folded.fragment;
  is_visited_.assign(fragment.types.size(), 0);
  for (std::uint32_t i = 0; i < fragment.types.size(); ++i) {
    const Kind kind = fragment.types[i].kind;
    if (!is_struct_or_union(kind) && kind != Kind::kTypedef) {
      continue;
    }
    const Hash128& content = folded.shapes.content[i];
    if (table_.find(content).exists() && shows_fresh(folded, i)) {
      const Table::Entry in_base = table_.find_in_base(content);
      if (in_base.exists() && in_base.flavour != folded.shapes.flavour[i]) {
        kept_.push_back(i);
      }
    }
  }
}

// Binds the fresh definitions that are reached from `root` through types that were known before
// this unit. Whatever was visited before led to none, or bound it.
bool BaseDeclared::shows_fresh(const Folded& folded, std::uint32_t root) {
  bool has_shown = false;
  stack_.assign(1, root);
  while (!stack_.empty()) {
    const std::uint32_t type = stack_.back();
    stack_.pop_back();
    if (is_visited_[type] != 0) {
      continue;
    }
    is_visited_[type] = 1;
    if (is_fresh_[type] != 0) {
      has_shown = bound_.insert(folded.shapes.link[type].hash).second || has_shown;
      continue;
    }
    if (!table_.find(folded.shapes.content[type]).exists()) {
      continue;
    }
    for_each_reference(folded.fragment, folded.fragment.types[type], [&](TypeRef target) {
      if (target != kVoid && is_visited_[target] == 0) {
        stack_.push_back(target);
      }
    });
  }
  return has_shown;
}

bool BaseDeclared::is_kept(std::uint32_t type) const {
  return std::binary_search(kept_.begin(), kept_.end(), type);
}

}  // namespace btfloom
