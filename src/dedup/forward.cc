#include "dedup/forward.h"

#include "types/references.h"

namespace btfloom {

namespace {

// Types nest a few levels between two tags; more is a cycle without a tag.
constexpr unsigned kMaxDepth = 64;

class Comparison {
 public:
  using Visitor = FunctionRef<void(std::uint32_t type, TypeRef node, bool is_declared)>;

  Comparison(const Fragment& fragment, const Graph& graph, Visitor f)
      : fragment_(fragment), graph_(graph), f_(f) {}

  // Both have the same content, so their references correspond one by one.
  void compare(const Type& type, const Type& node, unsigned depth) {
    std::vector<TypeRef> ours;
    std::vector<TypeRef> theirs;
    for_each_reference(fragment_, type, [&](TypeRef target) { ours.push_back(target); });
    for_each_reference(graph_, node, [&](TypeRef target) { theirs.push_back(target); });
    for (std::size_t i = 0; i < ours.size() && i < theirs.size(); ++i) {
      if (ours[i] != kVoid && theirs[i] != kVoid) {
        compare_targets(ours[i], theirs[i], depth);
      }
    }
  }

 private:
  void compare_targets(TypeRef target, TypeRef node, unsigned depth) {
    const Type& ours = fragment_.types[target];
    const Type& theirs = graph_.types[node];
    if (!is_tag(ours)) {
      if (depth < kMaxDepth) {
        compare(ours, theirs, depth + 1);
      }
      return;
    }
    const bool is_declared = ours.kind == Kind::kForward;
    if (is_declared != (theirs.kind == Kind::kForward)) {
      f_(target, node, is_declared);
    }
  }

  const Fragment& fragment_;
  const Graph& graph_;
  Visitor f_;
};

}  // namespace

Hash128 bound_key(const Hash128& link) {
  const std::uint64_t words[] = {0xfc00, link.low,
                                 link.high};  // no content starts with such a kind
  return hash_bytes(words, sizeof words);
}

Hash128 flavour_key(const Hash128& content, std::uint64_t flavour) {
  const std::uint64_t words[] = {0xfb00, content.low, content.high, flavour};
  return hash_bytes(words, sizeof words);
}

void for_each_declared_difference(
    const Fragment& fragment, const Graph& graph, const Pair& pair,
    FunctionRef<void(std::uint32_t type, TypeRef node, bool is_declared)> f) {
  Comparison(fragment, graph, f).compare(fragment.types[pair.type], graph.types[pair.node], 0);
}

}  // namespace btfloom
