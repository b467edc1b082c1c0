// StringSection: the strings of a BTF, each once, in the order in which they were first asked for
// (btf.rst, "String encoding"). Offset 0 is the empty string. Not thread-safe.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "support/bytes.h"

namespace btfloom {

class StringSection {
 public:
  StringSection();

  // Offset of `text`, which must not hold a NUL.
  std::uint32_t add(std::string_view text);
  [[nodiscard]] Bytes bytes() const {
    return {reinterpret_cast<const std::byte*>(bytes_.data()), bytes_.size()};
  }

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t offset = 0;  // 0: free
    std::uint32_t length = 0;
  };
  void grow();

  std::vector<char> bytes_;
  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace btfloom
