// Bytes and loads: every section, file and output is a span of bytes, read in the byte order of its
// ELF file. Unchecked: callers prove the bounds first (support/reader.h checks for them).
// Thread-safe (pure functions).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace btfloom {

using Bytes = std::span<const std::byte>;
using ByteOrder = std::endian;

constexpr std::uint8_t byte_swap(std::uint8_t v) {
  return v;
}
constexpr std::uint16_t byte_swap(std::uint16_t v) {
  return __builtin_bswap16(v);
}
constexpr std::uint32_t byte_swap(std::uint32_t v) {
  return __builtin_bswap32(v);
}
constexpr std::uint64_t byte_swap(std::uint64_t v) {
  return __builtin_bswap64(v);
}

// The unsigned integer T stored at `at` in byte order `order`; `at` needs no alignment.
template <typename T>
inline T load(const std::byte* at, ByteOrder order) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return order == std::endian::native ? value : byte_swap(value);
}

// Stores `value` at `at` in byte order `order`.
template <typename T>
inline void store(std::byte* at, T value, ByteOrder order) {
  if (order != std::endian::native) {
    value = byte_swap(value);
  }
  std::memcpy(at, &value, sizeof value);
}

inline std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline Bytes as_bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace btfloom
