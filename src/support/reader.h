// Reader: a position in a span of bytes with a sticky error, for everything outside the per-DIE
// path.
//
//   Reader reader(bytes, order);
//   const auto length = reader.u32();
//   const auto version = reader.u16();
//   if (!reader.ok()) { ... truncated ... }      // once per record
//
// After the first read past the end every read gives 0 and ok() is false. Not thread-safe; copy it.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "support/bytes.h"

namespace btfloom {

class Reader {
 public:
  Reader(Bytes bytes, ByteOrder order) : bytes_(bytes), order_(order) {}

  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return position_ >= bytes_.size(); }
  [[nodiscard]] std::size_t position() const { return position_; }
  [[nodiscard]] std::size_t remaining() const { return ok_ ? bytes_.size() - position_ : 0; }
  [[nodiscard]] ByteOrder order() const { return order_; }

  std::uint8_t u8() { return number<std::uint8_t>(); }
  std::uint16_t u16() { return number<std::uint16_t>(); }
  std::uint32_t u32() { return number<std::uint32_t>(); }
  std::uint64_t u64() { return number<std::uint64_t>(); }

  // An unsigned number of `size` bytes: 1 to 8.
  std::uint64_t sized(unsigned size) {
    const Bytes at = take(size);
    std::uint64_t value = 0;
    for (unsigned i = 0; i < at.size(); ++i) {
      const unsigned place = order_ == ByteOrder::little ? i : size - 1 - i;
      value |= static_cast<std::uint64_t>(at[i]) << (8 * place);
    }
    return value;
  }

  std::uint64_t uleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const std::uint8_t byte = u8();
      if (shift < 64) {
        value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      }
      if (byte < 0x80) {
        return value;
      }
    }
  }

  std::int64_t sleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;;) {
      const std::uint8_t byte = u8();
      if (shift < 64) {
        value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      }
      shift += 7;
      if (byte < 0x80) {
        if (shift < 64 && (byte & 0x40) != 0) {
          value |= ~std::uint64_t{0} << shift;
        }
        return static_cast<std::int64_t>(value);
      }
    }
  }

  // A NUL-terminated string; the view leaves the NUL out.
  std::string_view string() {
    const auto* text = reinterpret_cast<const char*>(bytes_.data() + position_);
    const bool has_bytes = ok_ && !at_end();
    const void* end = has_bytes ? std::memchr(text, 0, bytes_.size() - position_) : nullptr;
    if (end == nullptr) {
      ok_ = false;
      return {};
    }
    const auto length = static_cast<std::size_t>(static_cast<const char*>(end) - text);
    position_ += length + 1;
    return {text, length};
  }

  Bytes take(std::uint64_t count) {
    if (!ok_ || count > bytes_.size() - position_) {
      ok_ = false;
      return {};
    }
    const Bytes taken = bytes_.subspan(position_, count);
    position_ += count;
    return taken;
  }

  void skip(std::uint64_t count) { take(count); }

 private:
  template <typename T>
  T number() {
    const Bytes at = take(sizeof(T));
    return at.empty() ? T{0} : load<T>(at.data(), order_);
  }

  Bytes bytes_;
  ByteOrder order_;
  std::size_t position_ = 0;
  bool ok_ = true;
};

}  // namespace btfloom
