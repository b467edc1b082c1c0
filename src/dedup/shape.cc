// Types come in DIE post-order, but references go both ways, so shapes are computed on demand: a stack holds the types
// whose targets are not known yet. It is a depth-first walk without recursion, for a file may hold chains of any length.
//
// A cycle without a tag (C cannot make one; Go typedefs can, and so can a hostile file) shows as a reference to a type
// that is still on the path. Such types, and those that reach them, are left over and hashed together by
// deep_shape.h, which sees the cycle as a whole.
#include "dedup/shape.h"

#include "dedup/deep_shape.h"

namespace btfloom {

namespace {

enum State : std::uint8_t { kNew, kOpen, kDone, kLeftOver };

class ShapeWalk {
 public:
  using IsBound = FunctionRef<bool(const Hash128& link)>;

  ShapeWalk(const Fragment& fragment, ShapeScratch& scratch, Shapes& shapes)
      : fragment_(fragment), scratch_(scratch), shapes_(shapes) {}

  bool run(IsBound is_bound) {
    const std::size_t count = fragment_.types.size();
    scratch_.state.assign(count, kNew);
    shapes_.content.resize(count);
    shapes_.link.resize(count);
    shapes_.flavour.assign(count, 0);
    for (std::size_t i = 0; i < count; ++i) {
      const Type& type = fragment_.types[i];
      if (is_tag(type)) {
        shapes_.link[i] = tag_link(tag_class(type), type.name, scratch_.input);
      }
      if (type.kind == Kind::kForward && !is_bound(shapes_.link[i])) {
        shapes_.flavour[i] = shapes_.link[i].low | 1;
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (scratch_.state[i] == kNew) {
        walk_from(static_cast<TypeRef>(i));
      }
    }
    return has_left_over_;
  }

 private:
  void walk_from(TypeRef start) {
    scratch_.stack.assign(1, start);
    while (!scratch_.stack.empty()) {
      const TypeRef top = scratch_.stack.back();
      std::uint8_t& state = scratch_.state[top];
      if (state == kDone || state == kLeftOver) {
        scratch_.stack.pop_back();
        continue;
      }
      const bool was_open = state == kOpen;
      state = kOpen;
      if (!was_open && push_unknown_targets(top)) {
        continue;
      }
      finish(top);
      scratch_.stack.pop_back();
    }
  }

  bool push_unknown_targets(TypeRef from) {
    const std::size_t before = scratch_.stack.size();
    for_each_reference(fragment_, fragment_.types[from], [&](TypeRef target) {
      if (target != kVoid && scratch_.state[target] == kNew && !is_tag(fragment_.types[target])) {
        scratch_.stack.push_back(target);
      }
    });
    return scratch_.stack.size() != before;
  }

  void finish(TypeRef index) {
    const Type& type = fragment_.types[index];
    bool is_known = true;
    std::uint64_t flavour = shapes_.flavour[index];
    for_each_reference(fragment_, type, [&](TypeRef target) {
      if (target == kVoid) {
        return;
      }
      const Type& referred = fragment_.types[target];
      if (!is_tag(referred)) {
        is_known = is_known && scratch_.state[target] == kDone;
        flavour += shapes_.flavour[target];
      } else if (referred.kind == Kind::kForward) {
        flavour += shapes_.flavour[target];
      }
    });
    shapes_.flavour[index] = flavour;
    if (!is_known) {
      scratch_.state[index] = kLeftOver;
      has_left_over_ = true;
      return;
    }
    gather_content(
        fragment_, type,
        [&](TypeRef target) { return target == kVoid ? kVoidLink : shapes_.link[target]; },
        scratch_.input);
    shapes_.content[index] = scratch_.input.hash();
    if (!is_tag(type)) {
      shapes_.link[index] = shapes_.content[index];
    }
    scratch_.state[index] = kDone;
  }

  const Fragment& fragment_;
  ShapeScratch& scratch_;
  Shapes& shapes_;
  bool has_left_over_ = false;
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
  input.clear();
  input.add(0xff00U | static_cast<std::uint64_t>(tag));  // no content starts with such a kind
  input.add_text(name);
  return input.hash();
}

void compute_shapes(const Fragment& fragment, FunctionRef<bool(const Hash128& link)> is_bound,
                    ShapeScratch& scratch, Shapes& shapes) {
  if (!ShapeWalk(fragment, scratch, shapes).run(is_bound)) {
    return;
  }
  std::vector<TypeRef> left_over;
  for (std::size_t i = 0; i < fragment.types.size(); ++i) {
    if (scratch.state[i] == kLeftOver) {
      left_over.push_back(static_cast<TypeRef>(i));
    }
  }
  compute_deep_shapes(fragment, left_over, TagReferences::kByName, shapes);
}

}  // namespace btfloom
