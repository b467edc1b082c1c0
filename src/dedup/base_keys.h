// What the units of a split BTF must find of its base, as entries of a FrozenMap: the contents of
// its types, the definitions of its tags, and which declarations stand for one of them.
//
// The keys are those of the table (table.h), so that a base is simply what every unit finds known.
// Thread-safe (pure).
#pragma once

#include <cstdint>
#include <vector>

#include "support/frozen_map.h"
#include "support/hash.h"
#include "types/fragment.h"

namespace btfloom {

// Under this key a base has the primary definition of a tag (contested.h).
Hash128 definition_key(const Hash128& link);

// What such an entry says: its value is the primary definition, its extra word the rest.
struct BaseDefinitions {
  std::uint32_t last = 0;  // in order of the numbers; the same as the primary one if there is one
  std::uint32_t count = 0;
};
constexpr std::uint64_t pack(const BaseDefinitions& definitions) {
  return std::uint64_t{definitions.last} << 32 | definitions.count;
}
constexpr BaseDefinitions unpack_definitions(std::uint64_t extra) {
  return {.last = static_cast<std::uint32_t>(extra >> 32),
          .count = static_cast<std::uint32_t>(extra)};
}

// Adds the entries of all types of a base; `ids[i]` is the number of base.types[i]. Values are ids
// with kBaseBit (types/base_types.h). Of equal types the first counts.
void add_base_keys(Fragment base, const std::vector<std::uint32_t>& ids,
                   FrozenMap::Builder& builder);

}  // namespace btfloom
