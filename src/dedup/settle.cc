// A type of a base stands before the units' own, so it is what they are folded into.
//
// Folding look-alikes is partition refinement: they start as equal as they look, and are told apart
// by what their references stand for, until nothing changes. Types on cycles are folded too, since
// nothing is told apart without a reason. Folding may leave one definition of a name where there
// were two, and that binds declarations, and that may fold more: the two take turns until neither
// finds anything. Every turn removes a node, so that ends.
#include "dedup/settle.h"

#include <algorithm>
#include <map>

#include "dedup/shape.h"
#include "types/references.h"

namespace btfloom {

namespace {

class Settlement {
 public:
  Settlement(const std::vector<Definition>& definitions, const LookAlikes& look_alikes,
             FunctionRef<TypeRef(const Hash128& link)> bound, Graph& graph)
      : definitions_(definitions), bound_(bound), graph_(graph) {
    graph_.stands_for.resize(graph_.types.size());
    for (TypeRef i = 0; i < graph_.types.size(); ++i) {
      graph_.stands_for[i] = i;
      if (graph_.base_id(i) == 0 && is_tag(graph_.types[i]) && !is_definition(graph_.types[i])) {
        declared_.push_back(i);
      }
    }
    for (const auto& [content, nodes] : look_alikes) {
      if (nodes.size() > 1) {
        groups_.push_back(nodes);
        std::sort(groups_.back().begin(), groups_.back().end(), [&](TypeRef a, TypeRef b) {
          const bool a_is_own = graph_.base_id(a) == 0;
          const bool b_is_own = graph_.base_id(b) == 0;
          return a_is_own != b_is_own ? b_is_own : a < b;
        });
      }
    }
    // By first node: the order of a hash table must not be seen by anything.
    std::sort(groups_.begin(), groups_.end());
  }

  void run() {
    do {
      fold();
      count_definitions();
    } while (bind());
    for (TypeRef& node : graph_.stands_for) {
      node = final_node(node);
    }
  }

 private:
  struct Tag {
    TypeRef first = kVoid;
    TypeRef last = kVoid;
    std::uint32_t definitions = 0;
  };

  [[nodiscard]] TypeRef final_node(TypeRef node) const {
    while (graph_.stands_for[node] != node) {
      node = graph_.stands_for[node];
    }
    return node;
  }

  // Partition refinement over the look-alikes; a class is named by its first node.
  void fold() {
    std::vector<TypeRef> class_of(graph_.types.size());
    for (TypeRef i = 0; i < class_of.size(); ++i) {
      class_of[i] = final_node(i);
    }
    std::vector<TypeRef> members;
    for (const std::vector<TypeRef>& group : groups_) {
      for (const TypeRef node : group) {
        class_of[node] = group.front();
        members.push_back(node);
      }
    }
    const auto class_of_target = [&](TypeRef target) {
      return target == kVoid ? kVoid : class_of[final_node(target)];
    };
    for (bool has_changed = true; has_changed;) {
      has_changed = false;
      std::map<std::vector<TypeRef>, TypeRef> first_of;
      std::vector<TypeRef> next(members.size());
      for (std::size_t k = 0; k < members.size(); ++k) {
        std::vector<TypeRef> signature = {class_of[members[k]]};
        for_each_reference(graph_, graph_.types[members[k]],
                           [&](TypeRef target) { signature.push_back(class_of_target(target)); });
        next[k] = first_of.emplace(std::move(signature), members[k]).first->second;
      }
      for (std::size_t k = 0; k < members.size(); ++k) {
        has_changed = has_changed || class_of[members[k]] != next[k];
        class_of[members[k]] = next[k];
      }
    }
    for (const TypeRef node : members) {
      const TypeRef first = class_of[node];
      if (final_node(node) != final_node(first)) {
        graph_.stands_for[final_node(node)] = final_node(first);
      }
    }
  }

  void count_definitions() {
    tags_.clear();
    for (const Definition& definition : definitions_) {
      if (graph_.stands_for[definition.node] != definition.node) {
        continue;
      }
      Tag& tag = tags_[definition.link];
      if (tag.definitions++ == 0) {
        tag.first = definition.node;
      }
      tag.last = definition.node;
    }
  }

  // A declared struct or union stands for what a pair says, or for the only definition of its name;
  // a declared enum for the last definition. Returns whether anything was bound.
  bool bind() {
    bool has_bound = false;
    for (TypeRef& declared : declared_) {
      if (declared == kVoid) {
        continue;
      }
      const TypeRef definition = definition_of(graph_.types[declared]);
      if (definition != kVoid) {
        graph_.stands_for[declared] = definition;
        declared = kVoid;
        has_bound = true;
      }
    }
    return has_bound;
  }

  TypeRef definition_of(const Type& declared) {
    const TagClass own_class = tag_class(declared);
    const Hash128 link = tag_link(own_class, declared.name, input_);
    const Tag& own = tags_[link];
    if (own_class == TagClass::kEnum) {
      return own.last;
    }
    if (const TypeRef bound = bound_(link); bound != kVoid) {
      return bound;
    }
    const TypeRef only = own.definitions == 1 ? own.first : kVoid;
    const TagClass other_class =
        own_class == TagClass::kStruct ? TagClass::kUnion : TagClass::kStruct;
    return tags_[tag_link(other_class, declared.name, input_)].definitions == 0 ? only : kVoid;
  }

  const std::vector<Definition>& definitions_;
  FunctionRef<TypeRef(const Hash128& link)> bound_;
  Graph& graph_;
  std::vector<std::vector<TypeRef>> groups_;
  std::vector<TypeRef> declared_;  // tags without a definition; kVoid once bound
  std::unordered_map<Hash128, Tag, HashOfHash128> tags_;
  HashInput input_;
};

}  // namespace

void settle(const std::vector<Definition>& definitions, const LookAlikes& look_alikes,
            FunctionRef<TypeRef(const Hash128& link)> bound, Graph& graph) {
  Settlement(definitions, look_alikes, bound, graph).run();
}

}  // namespace btfloom
