// Types come in DIE post-order, so most of what a type refers to is known when its turn comes: then
// one pass over its parts gathers its content. Where a reference goes forward, a stack holds the
// types that wait for their targets: a depth-first walk without recursion, for a file may hold
// chains of any length.
//
// A cycle without a tag (C cannot make one; Go typedefs can, and so can a hostile file) shows as a
// reference to a type that is still on the path. Such types, and those that reach them, are left
// over and hashed together by deep_shape.h, which sees the cycle as a whole.
#include "dedup/shape.h"

#include <algorithm>

#include "dedup/deep_shape.h"

namespace btfloom {

namespace {

class ShapeWalk {
 public:
  using IsBound = FunctionRef<bool(const Hash128& link)>;

  ShapeWalk(const Fragment& fragment, ShapeScratch& scratch, Shapes& shapes)
      : fragment_(fragment), scratch_(scratch), shapes_(shapes) {}

  // Returns the types that are left over.
  std::vector<TypeRef> run(IsBound is_bound) {
    const std::size_t count = fragment_.types.size();
    shapes_.content.resize(count);
    shapes_.flavour.resize(count);
    shapes_.link.assign(count, Link{});
    for (std::size_t i = 0; i < count; ++i) {
      if (is_tag(fragment_.types[i])) {
        link_tag(static_cast<TypeRef>(i), is_bound);
      }
    }
    std::vector<TypeRef> waiting;
    for (std::uint32_t i = 0; i < count; ++i) {
      const bool is_done = !is_tag(fragment_.types[i]) && shapes_.link[i].is_known();
      if (!is_done && !hash_content(i)) {
        if (is_tag(fragment_.types[i])) {
          waiting.push_back(i);
        } else {
          walk_from(i);
        }
      }
    }
    return finish_waiting(waiting);
  }

 private:
  // References to a tag are cut at its name, so they are known before its content is.
  void link_tag(TypeRef index, IsBound is_bound) {
    const Type& type = fragment_.types[index];
    Link& link = shapes_.link[index];
    link.hash = tag_link(tag_class(type), type.name, scratch_.input);
    if (type.kind == Kind::kForward && !is_bound(link.hash)) {
      link.flavour = link.hash.low | 1;
    }
  }

  // Hashes the content of a type; false, and nothing is set, if some target is not known yet.
  bool hash_content(TypeRef index) {
    const Type& type = fragment_.types[index];
    bool is_known = true;
    std::uint64_t flavour = 0;
    gather_content(
        fragment_, type,
        [&](TypeRef target) -> const Hash128& {
          if (target == kVoid) {
            return kVoidLink;
          }
          const Link& link = shapes_.link[target];
          is_known = is_known && link.is_known();
          // By place: which of two members is declared matters.
          flavour = flavour * 0x9e3779b97f4a7c15 + link.flavour;
          return link.hash;
        },
        scratch_.input);
    if (!is_known) {
      return false;
    }
    shapes_.content[index] = scratch_.input.hash();
    if (is_tag(type)) {
      shapes_.flavour[index] = flavour + shapes_.link[index].flavour;
    } else {
      shapes_.flavour[index] = flavour;
      shapes_.link[index] = {shapes_.content[index], flavour};
    }
    return true;
  }

  void walk_from(TypeRef start) {
    scratch_.is_open.resize(fragment_.types.size());
    scratch_.stack.assign(1, start);
    while (!scratch_.stack.empty()) {
      const TypeRef top = scratch_.stack.back();
      if (shapes_.link[top].is_known() || hash_content(top) || scratch_.is_open[top] != 0) {
        // Known; or seen for the second time with a target missing: that one is on a cycle.
        scratch_.stack.pop_back();
        continue;
      }
      scratch_.is_open[top] = 1;
      for_each_reference(fragment_, fragment_.types[top], [&](TypeRef target) {
        if (target != kVoid && !shapes_.link[target].is_known() && scratch_.is_open[target] == 0) {
          scratch_.stack.push_back(target);
        }
      });
    }
  }

  // Tags that waited for a target further on, and whatever is on or behind a cycle without a tag.
  std::vector<TypeRef> finish_waiting(const std::vector<TypeRef>& waiting) {
    std::vector<TypeRef> left_over;
    for (const TypeRef index : waiting) {
      if (!hash_content(index)) {
        left_over.push_back(index);
      }
    }
    if (!scratch_.is_open.empty()) {
      for (std::uint32_t i = 0; i < fragment_.types.size(); ++i) {
        if (!shapes_.link[i].is_known()) {
          left_over.push_back(i);
          shapes_.flavour[i] = 0;
        }
      }
      scratch_.is_open.clear();
      std::sort(left_over.begin(), left_over.end());
    }
    return left_over;
  }

  const Fragment& fragment_;
  ShapeScratch& scratch_;
  Shapes& shapes_;
};

}  // namespace

TagClass tag_class(const Type& type) {
  if (is_enum(type.kind)) {
    return TagClass::kEnum;
  }
  const bool is_union =
      type.kind == Kind::kUnion || (type.kind == Kind::kForward && type.flags == kOfUnion);
  return is_union ? TagClass::kUnion : TagClass::kStruct;
}

Hash128 tag_link(TagClass tag, const char* name, HashInput& input) {
  input.start(8);
  input.add(0xff00U | static_cast<std::uint64_t>(tag));  // no content starts with such a kind
  input.add_text(name);
  return input.hash();
}

void compute_shapes(const Fragment& fragment, FunctionRef<bool(const Hash128& link)> is_bound,
                    ShapeScratch& scratch, Shapes& shapes) {
  const std::vector<TypeRef> left_over = ShapeWalk(fragment, scratch, shapes).run(is_bound);
  compute_deep_shapes(fragment, left_over, TagReferences::kByName, shapes);
}

}  // namespace btfloom
