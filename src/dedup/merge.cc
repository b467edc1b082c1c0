#include "dedup/merge.h"

#include "types/references.h"

namespace btfloom {

void Merger::add(Folded& folded) {
  if (contested_.look_at(folded)) {
    // Prototypes count by the shapes of their types, so every function is looked at again.
    folded.new_functions.clear();
    folded.function_keys.clear();
    for (std::uint32_t i = 0; i < folded.fragment.functions.size(); ++i) {
      folded.new_functions.push_back(i);
      folded.function_keys.push_back(
          function_key(folded.fragment, folded.shapes, folded.fragment.functions[i], input_));
    }
  }
  if (base_ != nullptr) {
    base_declared_.look_at(folded);
  }
  add_types(folded);
  add_int(folded);
  add_tags(folded);
  add_variables(folded);
  add_functions(folded);
}

TypeRef Merger::add_node(const Type& type, std::uint32_t base_id) {
  graph_.types.push_back(type);
  if (base_ != nullptr) {
    graph_.base_ids.push_back(base_id);
  }
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
    if (contested_.is_apart(i)) {
      look_alikes_[contested_.plain_content(i)].push_back(folded.node_of[i]);
    }
    new_types_.push_back(i);
  }
  for (const std::uint32_t type : new_types_) {
    add_parts(folded, folded.node_of[type]);
  }
  settle_pairs(folded);
}

// The type has the content of `main`, but uses declared tags where that uses definitions, or the
// other way round. A struct, union or typedef is the same type all the same, and so pairs
// declaration and definition. Anything else may turn out to be one of its own, and gets a node
// until finish(). So does a type that base_declared.h wants kept.
void Merger::add_other_flavour(Folded& folded, std::uint32_t type, std::uint32_t main) {
  const Type& record = folded.fragment.types[type];
  const Hash128 key = flavour_key(folded.shapes.content[type], folded.shapes.flavour[type]);
  const bool pairs = is_struct_or_union(record.kind) || record.kind == Kind::kTypedef;
  if (pairs && !base_declared_.is_kept(type)) {
    folded.node_of[type] = main;
    pairs_.push_back(
        {.type = type, .node = is_in_base(main) ? import_whole(main & ~kBaseBit) : main});
  } else {
    folded.node_of[type] = add_node(record);
    note_definition(record, folded.node_of[type]);
    new_types_.push_back(type);
    look_alikes_[contested_.is_apart(type) ? contested_.plain_content(type)
                                           : folded.shapes.content[type]]
        .push_back(folded.node_of[type]);
  }
  table_.insert(key, {folded.node_of[type], 0});
}

// Looks at the pairs that the unit brought, now that all its nodes are complete. What the base
// declares stays declared: the base cannot change, and a unit that only declares it means the same.
void Merger::settle_pairs(const Folded& folded) {
  for (const Pair& pair : pairs_) {
    for_each_declared_difference(
        folded.fragment, graph_, pair, [&](std::uint32_t type, TypeRef node, bool is_declared) {
          const Type& declared = is_declared ? folded.fragment.types[type] : graph_.types[node];
          if (is_in_base(find_content(declared))) {
            return;
          }
          const Hash128& link = folded.shapes.link[type].hash;
          const std::uint32_t definition = is_declared ? node : folded.node_of[type];
          if (bound_.emplace(link, definition).second) {
            table_.insert(bound_key(link), {definition, 0});
          }
        });
  }
}

// What the table knows of a type without references.
std::uint32_t Merger::find_content(const Type& type) {
  gather_content(
      graph_, type, [](TypeRef) { return kVoidLink; }, input_);
  return table_.find(input_.hash()).value;
}

// Copies what belongs to the new node, with references turned into nodes.
void Merger::add_parts(const Folded& folded, TypeRef node) {
  Type record = graph_.types[node];
  copy_parts(folded.fragment, record,
             [&](TypeRef target) { return place_of(folded.node_of[target]); });
  graph_.types[node] = record;
  import_pending();
}

// Copies the parts of `record` from the fragment that it still refers to into the graph;
// `place(target)` is the node that a reference becomes.
void Merger::copy_parts(const Fragment& from, Type& record,
                        FunctionRef<TypeRef(TypeRef target)> place) {
  const auto copy = [&](auto& parts, auto& to) {
    const auto first = parts.begin() + record.first;
    record.first = static_cast<std::uint32_t>(to.size());
    to.insert(to.end(), first, first + record.count);
  };
  switch (record.kind) {
    case Kind::kStruct:
    case Kind::kUnion:
      copy(from.members, graph_.members);
      break;
    case Kind::kEnum:
    case Kind::kEnum64:
      copy(from.enumerators, graph_.enumerators);
      break;
    case Kind::kFunctionProto:
      copy(from.parameters, graph_.parameters);
      break;
    default:
      break;
  }
  for_each_reference(graph_, record, [&](TypeRef& reference) {
    reference = reference == kVoid ? kVoid : place(reference);
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
    graph_.int_type = node(folded, folded.fragment.int_type);
  } else if (folded.fragment.has_array) {
    const Type type{.name = "int", .size = 4, .kind = Kind::kInt, .flags = kIntSigned};
    const std::uint32_t known = find_content(type);
    if (known != Table::kAbsent) {
      graph_.int_type = node_of(known);
    } else {
      graph_.int_type = add_node(type);
      table_.insert(input_.hash(), {graph_.int_type, 0});
    }
  }
}

void Merger::add_tags(const Folded& folded) {
  for (const DeclTag& tag : folded.fragment.type_tags) {
    DeclTag merged = tag;
    merged.target = node(folded, tag.target);
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
    variable.type = node(folded, variable.type);
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
  for (std::size_t k = 0; k < folded.new_functions.size(); ++k) {
    if (table_.find(folded.function_keys[k]).exists()) {
      continue;
    }
    Function function = fragment.functions[folded.new_functions[k]];
    table_.insert(folded.function_keys[k],
                  {static_cast<std::uint32_t>(graph_.functions.size()), 0});
    const auto first_tag = fragment.function_tags.begin() + function.first_tag;
    const std::uint32_t first_parameter = function.first_parameter;
    function.return_type = node(folded, function.return_type);
    // Nodes first: one that comes from the base may bring parameters of its own into the graph.
    parameters_.clear();
    for (std::uint32_t i = 0; i < function.parameter_count; ++i) {
      const Parameter& parameter = fragment.parameters[first_parameter + i];
      parameters_.push_back({.name = parameter.name, .type = node(folded, parameter.type)});
    }
    function.first_parameter = static_cast<std::uint32_t>(graph_.parameters.size());
    graph_.parameters.insert(graph_.parameters.end(), parameters_.begin(), parameters_.end());
    function.first_tag = static_cast<std::uint32_t>(graph_.function_tags.size());
    graph_.function_tags.insert(graph_.function_tags.end(), first_tag,
                                first_tag + function.tag_count);
    graph_.functions.push_back(function);
  }
}

Graph Merger::finish() {
  for (auto& [content, nodes] : look_alikes_) {
    if (const Table::Entry plain = table_.find(content); plain.exists()) {
      nodes.push_back(is_in_base(plain.value) ? import_whole(plain.value & ~kBaseBit)
                                              : plain.value);
    }
  }
  import_definitions();
  settle(
      definitions_, look_alikes_,
      [&](const Hash128& link) {
        const auto bound = bound_.find(link);
        return bound != bound_.end() ? bound->second : kVoid;
      },
      graph_);
  return std::move(graph_);
}

}  // namespace btfloom
