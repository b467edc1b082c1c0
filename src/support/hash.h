// Hash128: a 128-bit content hash (XXH3, fixed seed), the same on every machine for the same bytes.
//
// Wide enough to stand for the content: with n = 10^8 distinct contents the odds that any two
// collide are about n^2 / 2^129 = 1.5e-23. Thread-safe (pure functions).
#pragma once

#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace btfloom {

struct Hash128 {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend bool operator==(const Hash128&, const Hash128&) = default;
};

// For the containers of the standard library; the hash is uniform already.
struct HashOfHash128 {
  std::size_t operator()(const Hash128& hash) const { return hash.low; }
};

inline Hash128 hash_bytes(const void* bytes, std::size_t size) {
  const XXH128_hash_t hash = XXH3_128bits(bytes, size);
  return {hash.low64, hash.high64};
}

inline std::uint64_t hash_text(std::string_view text) {
  return XXH3_64bits(text.data(), text.size());
}

}  // namespace btfloom
