#include "dedup/merge.h"

#include "dedup/deep_shape.h"
#include "types/references.h"

namespace btfloom {

void Merger::add(Folded& folded) {
  is_apart_.clear();
  new_primaries_.clear();
  for (;;) {
    const std::vector<TypeRef> contested = find_contested(folded);
    if (contested.empty()) {
      break;
    }
    mark_apart(folded.fragment, contested);
    for (const Hash128& link : new_primaries_) {
      tags_[link].has_primary = false;
    }
    new_primaries_.clear();
  }
  if (!is_apart_.empty()) {
    set_apart(folded);
  }
  add_types(folded);
  add_int(folded);
  add_tags(folded);
  add_variables(folded);
  add_functions(folded);
}

// Definitions that are not the primary one of their name. A name without a primary one gets it
// here: the first definition, in link order, that reaches no contested one. What a worker found in
// the table is a primary one.
std::vector<TypeRef> Merger::find_contested(const Folded& folded) {
  std::vector<TypeRef> contested;
  const Fragment& fragment = folded.fragment;
  for (std::uint32_t i = 0; i < fragment.types.size(); ++i) {
    if (folded.node_of[i] != kUnknownNode || !is_definition(fragment.types[i]) || is_apart(i)) {
      continue;
    }
    Tag& tag = tags_[folded.shapes.link[i].hash];
    if (!tag.has_primary) {
      tag.has_primary = true;
      tag.primary = folded.shapes.content[i];
      new_primaries_.push_back(folded.shapes.link[i].hash);
    } else if (tag.primary != folded.shapes.content[i]) {
      contested.push_back(i);
    }
  }
  return contested;
}

// Marks the contested definitions and all types that reach them. References mostly lead backwards,
// so few passes suffice.
void Merger::mark_apart(const Fragment& fragment, const std::vector<TypeRef>& contested) {
  is_apart_.resize(fragment.types.size(), 0);
  for (const TypeRef type : contested) {
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

void Merger::set_apart(Folded& folded) {
  std::vector<TypeRef> selected;
  for (std::uint32_t i = 0; i < is_apart_.size(); ++i) {
    if (is_apart_[i] != 0) {
      selected.push_back(i);
      folded.node_of[i] = kUnknownNode;
    }
  }
  plain_content_ = folded.shapes.content;
  compute_deep_shapes(folded.fragment, selected, TagReferences::kThrough, folded.shapes);
  // Prototypes count by the shapes of their types, so every function is looked at again.
  folded.new_functions.clear();
  folded.function_keys.clear();
  for (std::uint32_t i = 0; i < folded.fragment.functions.size(); ++i) {
    folded.new_functions.push_back(i);
    folded.function_keys.push_back(
        function_key(folded.fragment, folded.shapes, folded.fragment.functions[i], input_));
  }
}

TypeRef Merger::add_node(const Type& type) {
  graph_.types.push_back(type);
  return static_cast<TypeRef>(graph_.types.size() - 1);
}

void Merger::add_types(Folded& folded) {
  const Fragment& fragment = folded.fragment;
  new_types_.clear();
  pairs_.clear();
  for (std::uint32_t i = 0; i < fragment.types.size(); ++i) {
    if (folded.node_of[i] != kUnknownNode) {
      continue;
    }
    const Hash128& content = folded.shapes.content[i];
    const std::uint64_t flavour = folded.shapes.flavour[i];
    folded.node_of[i] = find_node(table_, content, flavour);
    if (folded.node_of[i] != kUnknownNode) {
      continue;
    }
    if (const Table::Entry known = table_.find(content); known.exists()) {
      add_other_flavour(folded, i, known.value);
      continue;
    }
    folded.node_of[i] = add_node(fragment.types[i]);
    table_.insert(content, {folded.node_of[i], flavour});
    note_definition(fragment.types[i], folded.node_of[i]);
    if (is_apart(i)) {
      look_alikes_[plain_content_[i]].push_back(folded.node_of[i]);
    }
    new_types_.push_back(i);
  }
  for (const std::uint32_t type : new_types_) {
    add_parts(folded, folded.node_of[type]);
  }
  settle_pairs(folded);
}

// The type has the content of the node `main`, but uses declared tags where that uses definitions,
// or the other way round. A struct, union or typedef is the same type all the same, and so pairs
// declaration and definition. Anything else may turn out to be one of its own, and gets a node
// until finish().
void Merger::add_other_flavour(Folded& folded, std::uint32_t type, TypeRef main) {
  const Type& record = folded.fragment.types[type];
  const Hash128 key = flavour_key(folded.shapes.content[type], folded.shapes.flavour[type]);
  const bool pairs = is_struct_or_union(record.kind) || record.kind == Kind::kTypedef;
  if (pairs) {
    folded.node_of[type] = main;
    pairs_.push_back({.type = type, .node = main});
  } else {
    folded.node_of[type] = add_node(record);
    new_types_.push_back(type);
    look_alikes_[is_apart(type) ? plain_content_[type] : folded.shapes.content[type]].push_back(
        folded.node_of[type]);
  }
  table_.insert(key, {folded.node_of[type], 0});
}

// Looks at the pairs that the unit brought, now that all its nodes are complete.
void Merger::settle_pairs(const Folded& folded) {
  for (const Pair& pair : pairs_) {
    for_each_declared_difference(folded, graph_, pair,
                                 [&](const Hash128& link, TypeRef definition) {
                                   Tag& tag = tags_[link];
                                   if (tag.bound == kVoid) {
                                     tag.bound = definition;
                                     table_.insert(bound_key(link), {definition, 0});
                                   }
                                 });
  }
}

// Copies what belongs to the new node, with references turned into nodes.
void Merger::add_parts(const Folded& folded, TypeRef node) {
  const Fragment& fragment = folded.fragment;
  Type& record = graph_.types[node];
  const auto copy = [&](auto& from, auto& to) {
    const auto first = from.begin() + record.first;
    record.first = static_cast<std::uint32_t>(to.size());
    to.insert(to.end(), first, first + record.count);
  };
  switch (record.kind) {
    case Kind::kStruct:
    case Kind::kUnion:
      copy(fragment.members, graph_.members);
      break;
    case Kind::kEnum:
    case Kind::kEnum64:
      copy(fragment.enumerators, graph_.enumerators);
      break;
    case Kind::kFunctionProto:
      copy(fragment.parameters, graph_.parameters);
      break;
    default:
      break;
  }
  for_each_reference(graph_, record, [&](TypeRef& reference) {
    reference = reference == kVoid ? kVoid : folded.node_of[reference];
  });
}

void Merger::note_definition(const Type& type, TypeRef node) {
  if (is_definition(type)) {
    definitions_.push_back({tag_link(tag_class(type), type.name, input_), node});
  }
}

// The index type of every array: the first "int" that the units bring, or one of our own, behind
// the types of the first unit that has an array.
void Merger::add_int(const Folded& folded) {
  if (graph_.int_type != kVoid) {
    return;
  }
  if (folded.fragment.int_type != kVoid) {
    graph_.int_type = folded.node_of[folded.fragment.int_type];
  } else if (folded.fragment.has_array) {
    const Type type{.name = "int", .size = 4, .kind = Kind::kInt, .flags = kIntSigned};
    gather_content(
        graph_, type, [](TypeRef) { return kVoidLink; }, input_);
    const Hash128 content = input_.hash();
    graph_.int_type = table_.find(content).value;
    if (graph_.int_type == Table::kAbsent) {
      graph_.int_type = add_node(type);
      table_.insert(content, {graph_.int_type, 0});
    }
  }
}

void Merger::add_tags(const Folded& folded) {
  for (const DeclTag& tag : folded.fragment.type_tags) {
    DeclTag merged = tag;
    merged.target = folded.node_of[tag.target];
    input_.start(16);
    input_.add(merged.target);
    input_.add(static_cast<std::uint64_t>(merged.component));
    input_.add_text(merged.value);
    if (!decl_tags_.insert(input_.hash()).second) {
      continue;
    }
    graph_.extras.push_back({.types_before = static_cast<std::uint32_t>(graph_.types.size()),
                             .kind = Extra::Kind::kTypeTag,
                             .index = static_cast<std::uint32_t>(graph_.type_tags.size())});
    graph_.type_tags.push_back(merged);
  }
}

void Merger::add_variables(const Folded& folded) {
  const Fragment& fragment = folded.fragment;
  for (Variable variable : fragment.variables) {
    variable.type = folded.node_of[variable.type];
    const auto first = fragment.variable_tags.begin() + variable.first_tag;
    variable.first_tag = static_cast<std::uint32_t>(graph_.variable_tags.size());
    graph_.variable_tags.insert(graph_.variable_tags.end(), first, first + variable.tag_count);
    graph_.extras.push_back({.types_before = static_cast<std::uint32_t>(graph_.types.size()),
                             .kind = Extra::Kind::kVariable,
                             .index = static_cast<std::uint32_t>(graph_.variables.size())});
    graph_.variables.push_back(variable);
  }
}

void Merger::add_functions(const Folded& folded) {
  const Fragment& fragment = folded.fragment;
  const auto node = [&](TypeRef type) { return type == kVoid ? kVoid : folded.node_of[type]; };
  for (std::size_t k = 0; k < folded.new_functions.size(); ++k) {
    if (table_.find(folded.function_keys[k]).exists()) {
      continue;
    }
    Function function = fragment.functions[folded.new_functions[k]];
    table_.insert(folded.function_keys[k],
                  {static_cast<std::uint32_t>(graph_.functions.size()), 0});
    const auto first_tag = fragment.function_tags.begin() + function.first_tag;
    const std::uint32_t first_parameter = function.first_parameter;
    function.return_type = node(function.return_type);
    function.first_parameter = static_cast<std::uint32_t>(graph_.parameters.size());
    for (std::uint32_t i = 0; i < function.parameter_count; ++i) {
      const Parameter& parameter = fragment.parameters[first_parameter + i];
      graph_.parameters.push_back({.name = parameter.name, .type = node(parameter.type)});
    }
    function.first_tag = static_cast<std::uint32_t>(graph_.function_tags.size());
    graph_.function_tags.insert(graph_.function_tags.end(), first_tag,
                                first_tag + function.tag_count);
    graph_.functions.push_back(function);
  }
}

Graph Merger::finish() {
  for (auto& [content, nodes] : look_alikes_) {
    if (const Table::Entry plain = table_.find(content); plain.exists()) {
      nodes.push_back(plain.value);
    }
  }
  settle(
      definitions_, look_alikes_, [&](const Hash128& link) { return tags_[link].bound; }, graph_);
  return std::move(graph_);
}

}  // namespace btfloom
