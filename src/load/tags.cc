// Annotations: btf_type_tag and btf_decl_tag, as clang writes them (child DIEs) and as gcc does (a
// chain of DIEs that starts at DW_AT_GNU_annotation).
#include <string_view>

#include "dwarf/constants.h"
#include "load/for_each_child.h"
#include "load/load_unit_internal.h"

namespace btfloom {

namespace {

constexpr std::string_view kTypeTagName = "btf_type_tag";
constexpr std::string_view kDeclTagName = "btf_decl_tag";
// A chain of gcc annotations has a handful of links; more is a loop.
constexpr unsigned kMaxChain = 1024;

bool is_annotation(const Die& die) {
  return die.tag == kTagLlvmAnnotation || die.tag == kTagGnuAnnotation;
}

const char* tag_value(const Die& die) {
  return die.has(Attribute::kConstValue) &&
                 die[Attribute::kConstValue].form_class == FormClass::kString
             ? die[Attribute::kConstValue].text()
             : "";
}

DieRef next_in_chain(const Die& die) {
  return die.has(Attribute::kAnnotation) &&
                 die[Attribute::kAnnotation].form_class == FormClass::kReference
             ? static_cast<DieRef>(die[Attribute::kAnnotation].number)
             : kVoid;
}

}  // namespace

// Reads the type tags of the pointer in die_, which is added right behind them, and returns the DIE
// that the pointer points to, kVoid if that is a tag. With clang's children the pointer points to
// the last tag and the first one to the pointee; with gcc's chain it points to the first one and
// the last one to the pointee.
DieRef UnitLoader::load_type_tags(bool has_children, DieRef pointee) {
  const std::uint32_t origin = relative(die_.offset);
  const DieRef chain = reference_of(Attribute::kAnnotation);
  std::uint32_t previous = kVoid;
  if (has_children) {
    for_each_child([&] {
      if (!is_annotation(die_) || kTypeTagName != die_.name()) {
        return load_die(Scope::kType);
      }
      const std::uint32_t tag = add_type_tag(tag_value(die_), origin);
      set_target(tag, previous, pointee);
      previous = tag;
      skip_children();
    });
  }
  if (previous == kVoid) {
    previous = load_gnu_type_tags(chain, pointee, origin);
  }
  if (previous == kVoid) {
    return pointee;
  }
  scratch_.direct_targets.push_back({static_cast<std::uint32_t>(fragment_.types.size()), previous});
  return kVoid;
}

// gcc's chain from `link` on; the index of its first tag, kVoid if there is none.
TypeRef UnitLoader::load_gnu_type_tags(DieRef link, DieRef pointee, std::uint32_t origin) {
  const std::size_t first = fragment_.types.size();
  Die annotation;
  for (unsigned i = 0; i < kMaxChain && peek(link, annotation); ++i) {
    if (!is_annotation(annotation) || kTypeTagName != annotation.name()) {
      break;
    }
    const std::uint32_t tag = add_type_tag(tag_value(annotation), origin);
    if (tag > first) {
      set_target(tag - 1, tag, kVoid);
    }
    link = next_in_chain(annotation);
  }
  if (fragment_.types.size() == first) {
    return kVoid;
  }
  fragment_.types.back().target = pointee;
  return static_cast<TypeRef>(first);
}

std::uint32_t UnitLoader::add_type_tag(const char* value, std::uint32_t origin) {
  fragment_.types.push_back({.name = value, .origin = origin, .kind = Kind::kTypeTag});
  return static_cast<std::uint32_t>(fragment_.types.size() - 1);
}

// Points `type` to the type `target` if there is one, else to the DIE `otherwise`.
void UnitLoader::set_target(std::uint32_t type, TypeRef target, DieRef otherwise) {
  if (target == kVoid) {
    fragment_.types[type].target = otherwise;
  } else {
    scratch_.direct_targets.push_back({type, target});
  }
}

// The annotation in die_ belongs to what is being read; its target is filled in when that has an
// index.
void UnitLoader::load_decl_tag(std::int32_t component) {
  if (context_.decl_tags && kDeclTagName == die_.name()) {
    scratch_.tag_stack.push_back({.value = tag_value(die_), .target = 0, .component = component});
  }
  skip_children();
}

void UnitLoader::load_gnu_decl_tags(DieRef first, std::int32_t component) {
  if (first == kVoid || !context_.decl_tags) {
    return;
  }
  Die annotation;
  for (unsigned i = 0; i < kMaxChain && peek(first, annotation); ++i) {
    if (is_annotation(annotation) && kDeclTagName == annotation.name()) {
      scratch_.tag_stack.push_back(
          {.value = tag_value(annotation), .target = 0, .component = component});
    }
    first = next_in_chain(annotation);
  }
}

// All children of the DIE in die_ that are declaration tags, then gcc's chain.
void UnitLoader::load_tag_children(std::int32_t component) {
  const DieRef chain = reference_of(Attribute::kAnnotation);
  if (die_.has_children) {
    for_each_child([&] {
      if (is_annotation(die_)) {
        load_decl_tag(component);
      } else {
        load_die(Scope::kType);
      }
    });
  }
  load_gnu_decl_tags(chain, component);
}

void UnitLoader::flush_type_tags(std::size_t mark, std::uint32_t target) {
  for (std::size_t i = mark; i < scratch_.tag_stack.size(); ++i) {
    DeclTag tag = scratch_.tag_stack[i];
    tag.target = target;
    fragment_.type_tags.push_back(tag);
  }
  scratch_.tag_stack.resize(mark);
}

}  // namespace btfloom
