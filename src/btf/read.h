// Types of a BTF as records of the type graph (types/type.h): the way back from write.h.
//
// Functions, variables, sections and declaration tags are no types and are left out; a reference to
// one, or to nothing, counts as void, which validate.h tells of. Thread-safe (pure).
#pragma once

#include <cstdint>
#include <vector>

#include "btf/image.h"
#include "types/fragment.h"

namespace btfloom {

// Appends the type `id` with its parts to `out`; references are ids, kVoid for void. Precondition:
// image.has(id), and is_type() of its kind. `int_id` is the index that arrays are expected to have.
void read_type(const BtfImage& image, std::uint32_t id, std::uint32_t int_id, Fragment& out);

// The types that are the image's own, in order; `ids[i]` is the number of out.types[i]. References
// are indices into out.types, so the image must not be split.
void read_types(const BtfImage& image, std::uint32_t int_id, Fragment& out,
                std::vector<std::uint32_t>& ids);

constexpr bool is_type(BtfKind kind) {
  return kind != BtfKind::kVoid && kind != BtfKind::kFunc && kind != BtfKind::kVar &&
         kind != BtfKind::kDatasec && kind != BtfKind::kDeclTag;
}

// The index type of the first array, 0 if there is none.
std::uint32_t array_index_id(const BtfImage& image);

}  // namespace btfloom
