// StringSection: the strings of a BTF, each once, in the order in which they were first asked for
// (btf.rst, "String encoding"). Offset 0 is the empty string. Those of a split BTF go on where the
// base's end, and what the base has is not stored again. Not thread-safe.
//
// StringIndex: where the strings of a finished section are; its words can lie in a mapped file.
// Thread-safe (const).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "support/bytes.h"

namespace btfloom {

class StringIndex {
 public:
  // The slots that find() needs: a power of two of them, 0 for a free one. Of equal strings the
  // first counts.
  static std::vector<std::uint32_t> build(Bytes strings);

  // `slots` are what build() made of `strings`.
  StringIndex(Bytes strings, std::span<const std::uint32_t> slots)
      : strings_(strings), slots_(slots) {}

  // Offset of `text`; 0 if it is empty or not there.
  [[nodiscard]] std::uint32_t find(std::string_view text) const;
  // Whether no string stands at two places. Looks at all of them.
  [[nodiscard]] bool are_unique() const;
  // One past the last offset.
  [[nodiscard]] std::uint32_t end() const { return static_cast<std::uint32_t>(strings_.size()); }

 private:
  Bytes strings_;
  std::span<const std::uint32_t> slots_;
};

class StringSection {
 public:
  // `base` (may be null) outlives it.
  explicit StringSection(const StringIndex* base = nullptr);

  // Offset of `text`, which must not hold a NUL.
  std::uint32_t add(std::string_view text);
  // Its own strings.
  [[nodiscard]] Bytes bytes() const {
    return {reinterpret_cast<const std::byte*>(bytes_.data()), bytes_.size()};
  }

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t offset = 0;  // as it stands in records; 0: free
    std::uint32_t length = 0;
  };
  void grow();

  const StringIndex* base_;
  std::uint32_t start_;  // offset of its first string
  std::vector<char> bytes_;
  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace btfloom
