#include "dedup/contested.h"

#include "dedup/base_keys.h"
#include "dedup/deep_shape.h"
#include "types/references.h"

namespace btfloom {

bool ContestedNames::look_at(Folded& folded) {
  is_apart_.clear();
  new_primaries_.clear();
  for (;;) {
    const std::vector<std::uint32_t> contested = find(folded);
    if (contested.empty()) {
      break;
    }
    mark_apart(folded.fragment, contested);
    for (const Hash128& link : new_primaries_) {
      primary_.erase(link);
    }
    new_primaries_.clear();
  }
  if (is_apart_.empty()) {
    return false;
  }
  set_apart(folded);
  return true;
}

// Definitions that are not the primary one of their name. A name without a primary one gets it
// here: the first definition, in link order, that reaches no contested one. What a worker found in
// the table is a primary one.
std::vector<std::uint32_t> ContestedNames::find(const Folded& folded) {
  std::vector<std::uint32_t> contested;
  const Fragment& fragment = folded.fragment;
  for (std::uint32_t i = 0; i < fragment.types.size(); ++i) {
    if (folded.node_of[i] == kUnknownNode && is_definition(fragment.types[i]) && !is_apart(i) &&
        !is_primary(folded.shapes.link[i].hash, folded.shapes.content[i])) {
      contested.push_back(i);
    }
  }
  return contested;
}

bool ContestedNames::is_primary(const Hash128& link, const Hash128& content) {
  const auto known = primary_.find(link);
  if (known != primary_.end()) {
    return known->second == content;
  }
  if (const Table::Entry in_base = table_.find_in_base(definition_key(link)); in_base.exists()) {
    return table_.find_in_base(content).value == in_base.value;
  }
  primary_.emplace(link, content);
  new_primaries_.push_back(link);
  return true;
}

// Marks the contested definitions and all types that reach them. References mostly lead backwards,
// so few passes suffice.
void ContestedNames::mark_apart(const Fragment& fragment,
                                const std::vector<std::uint32_t>& contested) {
  is_apart_.resize(fragment.types.size(), 0);
  for (const std::uint32_t type : contested) {
    is_apart_[type] = 1;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < fragment.types.size(); ++i) {
      if (is_apart_[i] != 0) {
        continue;
      }
      for_each_reference(fragment, fragment.types[i], [&](TypeRef target) {
        if (target != kVoid && is_apart_[target] != 0) {
          is_apart_[i] = 1;
          changed = true;
        }
      });
    }
  }
}

void ContestedNames::set_apart(Folded& folded) {
  std::vector<TypeRef> selected;
  for (std::uint32_t i = 0; i < is_apart_.size(); ++i) {
    if (is_apart_[i] != 0) {
      selected.push_back(i);
      folded.node_of[i] = kUnknownNode;
    }
  }
  plain_content_ = folded.shapes.content;
  compute_deep_shapes(folded.fragment, selected, TagReferences::kThrough, folded.shapes);
}

}  // namespace btfloom
