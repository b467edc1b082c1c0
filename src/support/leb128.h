// LEB128 numbers (DWARF 5 section 7.6). Unchecked readers: the caller proves that a terminating
// byte lies inside the buffer, or uses the checked form. Bits beyond 64 are dropped. Thread-safe.
#pragma once

#include <cstdint>

#include "support/bytes.h"

namespace btfloom {

inline constexpr unsigned kMaxLebBytes = 10;

// Reads at `at` and moves it behind the number. Looks at no more than kMaxLebBytes bytes.
inline std::uint64_t read_uleb_unchecked(const std::byte*& at) {
  auto byte = static_cast<std::uint8_t>(*at++);
  if (byte < 0x80) {
    return byte;
  }
  std::uint64_t value = byte & 0x7f;
  for (unsigned shift = 7; shift < 64; shift += 7) {
    byte = static_cast<std::uint8_t>(*at++);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) {
      break;
    }
  }
  return value;
}

inline std::int64_t read_sleb_unchecked(const std::byte*& at) {
  std::uint64_t value = 0;
  unsigned shift = 0;
  std::uint8_t byte = 0;
  do {
    byte = static_cast<std::uint8_t>(*at++);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    shift += 7;
  } while (byte >= 0x80 && shift < 64);
  if (shift < 64 && (byte & 0x40) != 0) {
    value |= ~std::uint64_t{0} << shift;
  }
  return static_cast<std::int64_t>(value);
}

inline void skip_leb_unchecked(const std::byte*& at) {
  for (unsigned i = 0; i < kMaxLebBytes && static_cast<std::uint8_t>(*at++) >= 0x80; ++i) {
  }
}

}  // namespace btfloom
