// The part of the merger that knows the base of a split BTF: types of the base become nodes as soon
// as something refers to them.
//
// A node is given its place first and its parts later, from a list, so that chains and cycles of
// any length need no recursion. References to a tag end there: nobody who merges asks for the
// members of a tag of the base, except to compare it with a type that looks like it
// (import_whole()).
#include <algorithm>

#include "dedup/base_keys.h"
#include "dedup/merge.h"
#include "types/references.h"

namespace btfloom {

// The node of what the table said; one that is new has no content before import_pending().
TypeRef Merger::place_of(std::uint32_t node_or_id) {
  if (!is_in_base(node_or_id)) {
    return node_or_id;
  }
  const std::uint32_t id = node_or_id & ~kBaseBit;
  if (node_of_id_.empty()) {
    node_of_id_.assign(base_->end_id, kVoid);
  }
  if (node_of_id_[id] == kVoid) {
    node_of_id_[id] = add_node({}, id);
    pending_.push_back(id);
  }
  return node_of_id_[id];
}

TypeRef Merger::node_of(std::uint32_t node_or_id) {
  const TypeRef node = place_of(node_or_id);
  import_pending();
  return node;
}

void Merger::import_pending() {
  while (!pending_.empty()) {
    const std::uint32_t id = pending_.back();
    pending_.pop_back();
    imported_.clear();
    base_->read(id, imported_);
    Type type = imported_.types.front();
    if (is_tag(type)) {
      type.first = 0;
      type.count = 0;
    } else {
      copy_imported(type);
    }
    graph_.types[node_of_id_[id]] = type;
  }
}

void Merger::copy_imported(Type& type) {
  copy_parts(imported_, type, [&](TypeRef id) { return place_of(kBaseBit | id); });
}

// The node of a type of the base, with all its parts.
TypeRef Merger::import_whole(std::uint32_t id) {
  const TypeRef node = node_of(kBaseBit | id);
  if (is_tag(graph_.types[node]) && graph_.types[node].count == 0) {
    imported_.clear();
    base_->read(id, imported_);
    Type type = imported_.types.front();
    copy_imported(type);
    graph_.types[node] = type;
    import_pending();
  }
  return node;
}

// What the base has for the declarations that are left: the definitions of their tags, before those
// of the units, and what they stand for if the base decides that.
void Merger::import_definitions() {
  if (base_ == nullptr) {
    return;
  }
  std::vector<Definition> in_base;
  std::unordered_set<Hash128, HashOfHash128> seen;
  const auto add = [&](TagClass tag, const char* name) {
    const Hash128 link = tag_link(tag, name, input_);
    const Table::Entry entry = table_.find_in_base(definition_key(link));
    if (!seen.insert(link).second || !entry.exists()) {
      return;
    }
    in_base.push_back({link, node_of(entry.value)});
    const BaseDefinitions rest = unpack_definitions(entry.flavour);
    if (rest.count > 1) {
      in_base.push_back({link, node_of(kBaseBit | rest.last)});
    }
    if (table_.find_in_base(bound_key(link)).exists()) {
      bound_.emplace(link, entry.value);
    }
  };
  const std::size_t count = graph_.types.size();
  for (TypeRef node = 0; node < count; ++node) {
    const Type type = graph_.types[node];
    if (graph_.base_id(node) != 0 || !is_tag(type) || is_definition(type)) {
      continue;
    }
    if (is_enum(type.kind)) {
      add(TagClass::kEnum, type.name);
    } else {
      add(TagClass::kStruct, type.name);
      add(TagClass::kUnion, type.name);
    }
  }
  definitions_.insert(definitions_.begin(), in_base.begin(), in_base.end());
  for (auto& [link, definition] : bound_) {
    definition = node_of(definition);
  }
}

}  // namespace btfloom
