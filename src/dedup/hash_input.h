// HashInput: bytes to be hashed, gathered in one buffer that keeps its memory.
//
//   input.start(24);             // room for the fixed part
//   input.add(word);  input.add_text(name);
//   const Hash128 hash = input.hash();
//
// Not thread-safe: one per worker.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "support/hash.h"

namespace btfloom {

class HashInput {
 public:
  // Begins anew, with room for `fixed` bytes besides texts.
  void start(std::size_t fixed) {
    size_ = 0;
    fixed_left_ = fixed;
    ensure(fixed);
  }
  // Precondition: within what start() made room for.
  void add(std::uint64_t word) {
    std::memcpy(bytes_.get() + size_, &word, sizeof word);
    size_ += sizeof word;
  }
  void add(const Hash128& hash) {
    add(hash.low);
    add(hash.high);
  }
  // With its terminating NUL, so that two texts in a row cannot be mistaken for another pair.
  void add_text(const char* text) {
    const std::size_t length = std::strlen(text) + 1;
    ensure(fixed_left_ + length);
    std::memcpy(bytes_.get() + size_, text, length);
    size_ += length;
  }
  [[nodiscard]] Hash128 hash() const { return hash_bytes(bytes_.get(), size_); }

 private:
  void ensure(std::size_t more) {
    if (size_ + more > capacity_) [[unlikely]] {
      grow(more);
    }
  }
  void grow(std::size_t more) {
    const std::size_t capacity = (size_ + more) * 2 + 256;
    auto larger = std::make_unique_for_overwrite<std::byte[]>(capacity);
    if (size_ != 0) {
      std::memcpy(larger.get(), bytes_.get(), size_);
    }
    bytes_ = std::move(larger);
    capacity_ = capacity;
  }

  std::unique_ptr<std::byte[]> bytes_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  std::size_t fixed_left_ = 0;  // room that texts must leave; never less than what is still to come
};

}  // namespace btfloom
