// References: DIE offsets become indices once the whole unit is read.
#include "types/references.h"

#include "dwarf/constants.h"
#include "load/load_unit_internal.h"

namespace btfloom {

namespace {

// An alias of an alias of ...; more is a loop, and a loop of nothing but aliases is void.
constexpr unsigned kMaxAliases = 64;

}  // namespace

// The DIE that `attribute` of die_ names, as an offset from the unit header; kVoid if it is absent.
DieRef UnitLoader::reference_of(Attribute attribute) {
  if (!die_.has(attribute)) {
    return kVoid;
  }
  const Value& value = die_[attribute];
  switch (value.form_class) {
    case FormClass::kReference:
      if (value.number < kVoid) {
        return static_cast<DieRef>(value.number);
      }
      break;
    case FormClass::kGlobalReference:
      if (value.number >= unit_.offset && value.number < unit_.end) {
        return relative(value.number);
      }
      fail(die_.offset,
           "the DIE refers to another unit (link-time optimisation); units that cite each other "
           "are not read, compile without -flto");
      break;
    case FormClass::kSignature:
      fail(die_.offset, "the DIE refers to a type unit; compile without -fdebug-types-section");
      break;
    case FormClass::kForeign:
      fail(die_.offset,
           "the DIE refers to a supplementary file; encode before dwz compresses the file");
      break;
    default:
      break;
  }
  return kVoid;
}

TypeRef UnitLoader::resolve(DieRef reference, std::uint32_t from) {
  for (unsigned step = 0; reference != kVoid && step < kMaxAliases; ++step) {
    const Entry entry = scratch_.entries.find(reference);
    switch (entry.kind()) {
      case Entry::Kind::kType:
        return entry.index;
      case Entry::Kind::kVoidType:
        return kVoid;
      case Entry::Kind::kAlias:
        reference = scratch_.aliases[entry.index];
        break;
      default:
        degrade(from, "the type it refers to is none that is known; encoded as void");
        return kVoid;
    }
  }
  return kVoid;
}

void UnitLoader::resolve_references() {
  for (Type& type : fragment_.types) {
    const std::uint32_t from = type.origin;
    for_each_reference(fragment_, type,
                       [&](TypeRef& reference) { reference = resolve(reference, from); });
  }
  for (const DirectTarget& direct : scratch_.direct_targets) {
    fragment_.types[direct.type].target = direct.target;
  }
}

}  // namespace btfloom
