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

// Definitions that are not the primary one of their name. A name without a primary one gets it here: the first
// definition, in link order, that reaches no contested one. What a worker found in the table is a primary one.
std::vector<TypeRef> Merger::find_contested(const Folded& folded) {
  std::vector<TypeRef> contested;
  const Fragment& fragment = folded.fragment;
  for (std::uint32_t i = 0; i < fragment.types.size(); ++i) {
    if (folded.node_of[i] != kUnknownNode || !is_definition(fragment.types[i]) || is_apart(i)) {
      continue;
    }
    Tag& tag = tags_[folded.shapes.link[i]];
    if (!tag.has_primary) {
      tag.has_primary = true;
      tag.primary = folded.shapes.content[i];
      new_primaries_.push_back(folded.shapes.link[i]);
    } else if (tag.primary != folded.shapes.content[i]) {
      contested.push_back(i);
    }
  }
  return contested;
}

// Marks the contested definitions and all types that reach them. References mostly lead backwards, so few passes
// suffice.
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

TypeRef Merger::add_node(const Type& type, const Hash128& content) {
  const auto node = static_cast<TypeRef>(graph_.types.size());
  table_.insert(content, node);
  graph_.types.push_back(type);
  return node;
}

void Merger::add_types(Folded& folded) {
  const Fragment& fragment = folded.fragment;
  new_types_.clear();
  for (std::uint32_t i = 0; i < fragment.types.size(); ++i) {
    if (folded.node_of[i] != kUnknownNode) {
      continue;
    }
    const Hash128& content = folded.shapes.content[i];
    TypeRef node = table_.find(content);
    if (node == Table::kAbsent) {
      node = add_node(fragment.types[i], content);
      note_definition(fragment.types[i], node);
      new_types_.push_back(i);
    }
    folded.node_of[i] = node;
  }
  for (const std::uint32_t type : new_types_) {
    add_parts(folded, folded.node_of[type]);
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
  if (!is_definition(type)) {
    return;
  }
  Tag& tag = tags_[tag_link(tag_class(type), type.name, input_)];
  if (tag.definitions++ == 0) {
    tag.first = node;
  }
  tag.last = node;
}

// The index type of every array: the first "int" that the units bring, or one of our own, behind the types of the
// first unit that has an array.
void Merger::add_int(const Folded& folded) {
  if (graph_.int_type != kVoid) {
    return;
  }
  if (folded.fragment.int_type != kVoid) {
    graph_.int_type = folded.node_of[folded.fragment.int_type];
  } else if (folded.fragment.has_array) {
    const Type type{.name = "int", .size = 4, .kind = Kind::kInt, .flags = kIntSigned};
    gather_content(graph_, type, [](TypeRef) { return kVoidLink; }, input_);
    const Hash128 content = input_.hash();
    const TypeRef known = table_.find(content);
    graph_.int_type = known != Table::kAbsent ? known : add_node(type, content);
  }
}

void Merger::add_tags(const Folded& folded) {
  for (const DeclTag& tag : folded.fragment.type_tags) {
    DeclTag merged = tag;
    merged.target = folded.node_of[tag.target];
    input_.clear();
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
    if (table_.find(folded.function_keys[k]) != Table::kAbsent) {
      continue;
    }
    Function function = fragment.functions[folded.new_functions[k]];
    table_.insert(folded.function_keys[k], static_cast<std::uint32_t>(graph_.functions.size()));
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

// A declared struct or union stands for the only definition of its name; a declared enum for the last one.
void Merger::bind_forwards() {
  graph_.stands_for.resize(graph_.types.size());
  for (std::uint32_t i = 0; i < graph_.types.size(); ++i) {
    const Type& type = graph_.types[i];
    graph_.stands_for[i] = i;
    if (!is_tag(type) || is_definition(type)) {
      continue;
    }
    const Tag& own = tags_[tag_link(tag_class(type), type.name, input_)];
    if (own.definitions != 0) {
      graph_.stands_for[i] = is_enum(type.kind) ? own.last : own.first;
    }
  }
}

Graph Merger::finish() {
  bind_forwards();
  return std::move(graph_);
}

}  // namespace btfloom
