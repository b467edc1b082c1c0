// Records that the writer gives a number only once: prototypes, functions and declaration tags, by
// the words that they consist of. A split BTF finds those of its base under the same keys.
//
// A key is made of string offsets and ids, so it means something within one BTF and what is split
// from it. Thread-safe (pure).
#pragma once

#include <cstdint>
#include <vector>

#include "btf/image.h"
#include "btf/strings.h"
#include "support/frozen_map.h"
#include "support/hash.h"

namespace btfloom {

// What LLVM and the kernel call the address space of arenas, as an attribute (kind_flag is set).
inline constexpr const char* kArenaTag = "address_space(1)";

class RecordKey {
 public:
  // Each begins anew. No content of a type begins with such words (dedup/shape.h).
  RecordKey& prototype(std::uint32_t result) { return start(0xf900, result); }
  RecordKey& parameter(std::uint32_t name, std::uint32_t type) { return add(name).add(type); }
  RecordKey& function(std::uint32_t name, std::uint32_t prototype) {
    return start(0xf800, name).add(prototype);
  }
  RecordKey& decl_tag(std::uint32_t value, std::uint32_t target, std::uint32_t component) {
    return start(0xf700, value).add(target).add(component);
  }
  // A pointer into an arena (the feature attributes): PTR to TYPE_TAG kArenaTag to that type.
  RecordKey& arena_pointer(std::uint32_t pointee) { return start(0xf600, pointee); }
  [[nodiscard]] Hash128 hash() const {
    return hash_bytes(words_.data(), words_.size() * sizeof words_[0]);
  }

 private:
  RecordKey& start(std::uint32_t kind, std::uint32_t word) {
    words_.assign({kind, 0, word});
    return *this;
  }
  RecordKey& add(std::uint32_t word) {
    words_.push_back(word);
    return *this;
  }
  std::vector<std::uint32_t> words_;
};

// Adds the ids of a base's prototypes, functions, declaration tags and arena pointers.
void add_record_keys(const BtfImage& base, const StringIndex& strings, FrozenMap::Builder& builder);

}  // namespace btfloom
