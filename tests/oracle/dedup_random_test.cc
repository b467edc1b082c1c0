// Folding against brute force, on random type graphs: several units that repeat types, define a
// name differently, only declare it, or hold cycles that no C program has.
//
// The brute force is partition refinement over all types of all units: two types are equal if
// nothing that can be reached from them differs. It is slow and obvious, and shares nothing with
// src/dedup.
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <tuple>

#include <catch2/catch.hpp>

#include "dedup/fold.h"
#include "dedup/merge.h"
#include "types/references.h"

namespace btfloom::test {

namespace {

using Random = std::mt19937;

unsigned pick(Random& random, unsigned below) {
  return static_cast<unsigned>(random() % below);
}

constexpr const char* kNames[] = {"a", "b", "c"};
constexpr const char* kMemberNames[] = {"x", "y"};

struct Shape {
  unsigned units = 3;
  unsigned types = 6;
  bool has_forwards = false;
};

Type random_type(Random& random, Fragment& fragment, const Shape& shape) {
  const auto reference = [&]() -> TypeRef {
    return pick(random, 8) == 0 ? kVoid : pick(random, shape.types);
  };
  const char* name = kNames[pick(random, 3)];
  switch (pick(random, shape.has_forwards ? 11 : 9)) {
    case 0:
      return {.name = "int", .size = 4, .kind = Kind::kInt, .flags = kIntSigned};
    case 1:
      return {.name = "char", .size = 1, .kind = Kind::kInt};
    case 2:
      return {.target = reference(), .kind = Kind::kPointer};
    case 3:
      return {.target = reference(), .kind = Kind::kConst};
    case 4:
      return {.name = name, .target = reference(), .kind = Kind::kTypedef};
    case 5: {
      Type type{.target = reference(), .kind = Kind::kFunctionProto};
      type.first = static_cast<std::uint32_t>(fragment.parameters.size());
      type.count = pick(random, 3);
      for (unsigned i = 0; i < type.count; ++i) {
        fragment.parameters.push_back({.name = "", .type = reference()});
      }
      return type;
    }
    case 9:
    case 10:
      return {.name = name,
              .kind = Kind::kForward,
              .flags = pick(random, 6) == 0 ? kOfUnion : std::uint8_t{0}};
    default: {
      Type type{.name = pick(random, 4) == 0 ? "" : name,
                .size = 8,
                .kind = pick(random, 6) == 0 ? Kind::kUnion : Kind::kStruct};
      type.first = static_cast<std::uint32_t>(fragment.members.size());
      type.count = pick(random, 3);
      for (unsigned i = 0; i < type.count; ++i) {
        fragment.members.push_back({.name = kMemberNames[pick(random, 2)], .type = reference()});
      }
      return type;
    }
  }
}

std::vector<Fragment> random_units(Random& random, const Shape& shape) {
  std::vector<Fragment> units(shape.units);
  for (Fragment& fragment : units) {
    for (unsigned i = 0; i < shape.types; ++i) {
      fragment.types.push_back(random_type(random, fragment, shape));
    }
  }
  return units;
}

// What is in a type besides references.
template <typename Parts>
std::string own_content(const Parts& parts, const Type& type) {
  std::ostringstream text;
  text << static_cast<int>(type.kind) << ' ' << static_cast<int>(type.flags) << ' ' << type.size
       << ' ' << type.count << ' ' << type.name;
  if (is_struct_or_union(type.kind)) {
    for (std::uint32_t i = 0; i < type.count; ++i) {
      text << ' ' << parts.members[type.first + i].name;
    }
  }
  return text.str();
}

// A graph of types in one numbering: node -> content, node -> targets (-1: void).
struct PlainGraph {
  std::vector<std::string> content;
  std::vector<std::vector<int>> targets;
};

std::vector<int> refine(const PlainGraph& graph) {
  std::vector<int> colour(graph.content.size(), 0);
  for (std::size_t classes = 0;;) {
    std::map<std::pair<std::string, std::vector<int>>, int> next;
    std::vector<int> renewed(colour.size());
    for (std::size_t i = 0; i < colour.size(); ++i) {
      std::vector<int> colours = {colour[i]};
      for (const int target : graph.targets[i]) {
        colours.push_back(target < 0 ? -1 : colour[static_cast<std::size_t>(target)]);
      }
      const auto key = std::pair(graph.content[i], colours);
      renewed[i] = next.emplace(key, static_cast<int>(next.size())).first->second;
    }
    colour = renewed;
    if (next.size() == classes) {
      return colour;
    }
    classes = next.size();
  }
}

PlainGraph plain_graph(const std::vector<Fragment>& units) {
  PlainGraph plain;
  int base = 0;
  for (const Fragment& fragment : units) {
    for (const Type& type : fragment.types) {
      plain.content.push_back(own_content(fragment, type));
      std::vector<int> targets;
      for_each_reference(fragment, type, [&](TypeRef target) {
        targets.push_back(target == kVoid ? -1 : base + static_cast<int>(target));
      });
      plain.targets.push_back(targets);
    }
    base += static_cast<int>(fragment.types.size());
  }
  return plain;
}

struct Merged {
  Graph graph;
  std::vector<std::vector<TypeRef>> node_of;  // by unit and type, what stands for it
};

// Folds against the table as it was `lag` units ago, as a fast worker would.
Merged merge(const std::vector<Fragment>& units, std::size_t lag) {
  Table table(16);
  Merger merger(table);
  ShapeScratch scratch;
  std::vector<Folded> folded(units.size());
  for (std::size_t i = 0; i < units.size() + lag; ++i) {
    if (i < units.size()) {
      folded[i].fragment = units[i];
      fold(table, scratch, folded[i]);
    }
    if (i >= lag) {
      merger.add(folded[i - lag]);
    }
  }
  Merged result{.graph = merger.finish(), .node_of = {}};
  for (const Folded& part : folded) {
    std::vector<TypeRef> nodes;
    for (const TypeRef node : part.node_of) {
      nodes.push_back(result.graph.stands_for[node]);
    }
    result.node_of.push_back(nodes);
  }
  return result;
}

PlainGraph plain_graph(const Graph& graph) {
  PlainGraph plain;
  for (std::size_t i = 0; i < graph.types.size(); ++i) {
    const Type& type = graph.types[i];
    plain.content.push_back(own_content(graph, type));
    std::vector<int> targets;
    for_each_reference(graph, type, [&](TypeRef target) {
      targets.push_back(target == kVoid ? -1 : static_cast<int>(graph.stands_for[target]));
    });
    plain.targets.push_back(targets);
  }
  return plain;
}

std::string describe(const std::vector<Fragment>& units) {
  std::ostringstream text;
  for (const Fragment& fragment : units) {
    text << "unit\n";
    for (std::size_t i = 0; i < fragment.types.size(); ++i) {
      text << "  " << i << ": " << own_content(fragment, fragment.types[i]) << " ->";
      for_each_reference(fragment, fragment.types[i], [&](TypeRef target) {
        text << ' ' << (target == kVoid ? -1 : static_cast<int>(target));
      });
      text << '\n';
    }
  }
  return text.str();
}

// "" or what is wrong: the classes of the nodes are those of the brute force, in order of first
// occurrence.
std::string check_classes(const std::vector<Fragment>& units, const Merged& merged) {
  const std::vector<int> colour = refine(plain_graph(units));
  std::map<int, TypeRef> node_of_colour;
  std::map<TypeRef, int> colour_of_node;
  TypeRef last = 0;
  std::size_t k = 0;
  for (const auto& nodes : merged.node_of) {
    for (const TypeRef node : nodes) {
      const int c = colour[k++];
      if (node_of_colour.emplace(c, node).first->second != node) {
        return "equal types were kept apart: node " + std::to_string(node);
      }
      const auto [entry, is_new] = colour_of_node.emplace(node, c);
      if (entry->second != c) {
        return "different types were merged: node " + std::to_string(node);
      }
      if (is_new && node < last) {
        return "nodes are not in order of first occurrence";
      }
      last = std::max(last, node);
    }
  }
  return "";
}

// Whether what the unit says of `type` may be what the graph says of `node`: a declared tag may
// have become a definition.
class Agreement {
 public:
  Agreement(const Fragment& fragment, const Graph& graph) : fragment_(fragment), graph_(graph) {}

  bool holds(TypeRef type, TypeRef node) {
    if (type == kVoid || node == kVoid) {
      return type == node;
    }
    node = graph_.stands_for[node];
    if (!assumed_.emplace(type, node).second) {
      return true;
    }
    const Type& ours = fragment_.types[type];
    const Type& theirs = graph_.types[node];
    if (ours.kind == Kind::kForward && is_struct_or_union(theirs.kind)) {
      return (theirs.kind == Kind::kUnion) == (ours.flags == kOfUnion) &&
             std::string_view(ours.name) == theirs.name;
    }
    if (own_content(fragment_, ours) != own_content(graph_, theirs)) {
      return false;
    }
    std::vector<TypeRef> our_targets;
    std::vector<TypeRef> their_targets;
    for_each_reference(fragment_, ours, [&](TypeRef target) { our_targets.push_back(target); });
    for_each_reference(graph_, theirs, [&](TypeRef target) { their_targets.push_back(target); });
    for (std::size_t i = 0; i < our_targets.size(); ++i) {
      if (!holds(our_targets[i], their_targets[i])) {
        return false;
      }
    }
    return true;
  }

 private:
  const Fragment& fragment_;
  const Graph& graph_;
  std::set<std::pair<TypeRef, TypeRef>> assumed_;
};

// "" or what is wrong: every unit finds its types again, nothing stands twice, and what is still
// declared has no definition or several.
std::string check_with_forwards(const std::vector<Fragment>& units, const Merged& merged) {
  for (std::size_t u = 0; u < units.size(); ++u) {
    for (TypeRef i = 0; i < units[u].types.size(); ++i) {
      if (!Agreement(units[u], merged.graph).holds(i, merged.node_of[u][i])) {
        return "unit " + std::to_string(u) + ", type " + std::to_string(i) +
               " is not what the graph says";
      }
    }
  }
  const std::vector<int> colour = refine(plain_graph(merged.graph));
  std::map<int, std::size_t> seen;
  std::map<std::string, int> definitions;
  std::set<std::string> declared;
  for (std::size_t i = 0; i < merged.graph.types.size(); ++i) {
    const Type& type = merged.graph.types[i];
    if (merged.graph.stands_for[i] != i) {
      continue;
    }
    const auto [entry, is_new] = seen.emplace(colour[i], i);
    if (!is_new) {
      return "nodes " + std::to_string(entry->second) + " and " + std::to_string(i) + " are equal";
    }
    if (is_struct_or_union(type.kind) && *type.name != '\0') {
      ++definitions[type.name];
    }
    if (type.kind == Kind::kForward) {
      declared.insert(std::string(type.flags == kOfUnion ? "u" : "s") + type.name);
    }
  }
  for (std::size_t i = 0; i < merged.graph.types.size(); ++i) {
    const Type& type = merged.graph.types[i];
    const bool is_struct = type.kind == Kind::kStruct;
    if (merged.graph.stands_for[i] == i && is_struct_or_union(type.kind) && *type.name != '\0' &&
        definitions[type.name] == 1 &&
        declared.contains(std::string(is_struct ? "s" : "u") + type.name)) {
      return std::string("declared although defined once: ") + type.name;
    }
  }
  return "";
}

}  // namespace

TEST_CASE("Random units without declarations fold into the classes of partition refinement",
          "[oracle][dedup]") {
  for (unsigned seed = 0; seed < 20000; ++seed) {
    Random random(seed);
    const Shape shape{.units = 1 + pick(random, 4), .types = 1 + pick(random, 9)};
    const std::vector<Fragment> units = random_units(random, shape);
    const std::string problem = check_classes(units, merge(units, pick(random, 3)));
    if (!problem.empty()) {
      FAIL("seed " << seed << ": " << problem << "\n" << describe(units));
    }
  }
  SUCCEED();
}

TEST_CASE("Random units with declarations lose nothing, and keep nothing twice",
          "[oracle][dedup]") {
  for (unsigned seed = 0; seed < 20000; ++seed) {
    Random random(seed);
    const Shape shape{
        .units = 1 + pick(random, 4), .types = 1 + pick(random, 9), .has_forwards = true};
    const std::vector<Fragment> units = random_units(random, shape);
    const std::string problem = check_with_forwards(units, merge(units, pick(random, 3)));
    if (!problem.empty()) {
      FAIL("seed " << seed << ": " << problem << "\n" << describe(units));
    }
  }
  SUCCEED();
}

TEST_CASE("How far workers run ahead of the merger changes nothing", "[oracle][dedup]") {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    Random random(seed);
    const Shape shape{.units = 6, .types = 1 + pick(random, 9), .has_forwards = true};
    const std::vector<Fragment> units = random_units(random, shape);
    const auto kept_order = [&](std::size_t lag) {
      const Merged merged = merge(units, lag);
      std::vector<std::string> order;
      std::map<TypeRef, int> number;
      for (TypeRef i = 0; i < merged.graph.types.size(); ++i) {
        if (merged.graph.stands_for[i] == i) {
          number.emplace(i, static_cast<int>(number.size()));
        }
      }
      for (TypeRef i = 0; i < merged.graph.types.size(); ++i) {
        if (merged.graph.stands_for[i] != i) {
          continue;
        }
        std::ostringstream text;
        text << own_content(merged.graph, merged.graph.types[i]);
        for_each_reference(merged.graph, merged.graph.types[i], [&](TypeRef target) {
          text << ' ' << (target == kVoid ? -1 : number.at(merged.graph.stands_for[target]));
        });
        order.push_back(text.str());
      }
      return order;
    };
    const auto serial = kept_order(0);
    for (const std::size_t lag : {1, 2, 5}) {
      INFO("seed " << seed << ", lag " << lag << "\n" << describe(units));
      REQUIRE(kept_order(lag) == serial);
    }
  }
}

}  // namespace btfloom::test
