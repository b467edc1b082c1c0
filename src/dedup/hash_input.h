// HashInput: bytes to be hashed, gathered in one buffer that keeps its memory.
//
//   input.start(24);             // room for the fixed part
//   input.add(word);  input.add_text(name);
//   const Hash128 hash = input.hash();
//
// Not thread-safe: one per worker.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>

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
  //
  // Names are short, so this is a loop over words instead of strlen and memcpy: a word is read (never across a
  // page, for the byte behind the text may be the last of the mapping), written whole, and searched for a NUL.
  void add_text(const char* text) {
    ensure(fixed_left_ + kWord);
    for (;; text += kWord) {
      if ((reinterpret_cast<std::uintptr_t>(text) & (kPage - 1)) > kPage - kWord) [[unlikely]] {
        return add_text_slowly(text);
      }
      std::uint64_t word;
      std::memcpy(&word, text, kWord);
      std::memcpy(bytes_.get() + size_, &word, kWord);
      // The lowest set bit marks the first NUL (the highest ones may be wrong, beyond it).
      const std::uint64_t zeros =
          (word - 0x0101010101010101ULL) & ~word & 0x8080808080808080ULL;
      if (zeros != 0) {
        size_ += std::endian::native == std::endian::little
                     ? static_cast<unsigned>(std::countr_zero(zeros)) / 8 + 1
                     : std::strlen(text) + 1;
        return;
      }
      size_ += kWord;
      ensure(fixed_left_ + kWord);
    }
  }
  [[nodiscard]] Hash128 hash() const { return hash_bytes(bytes_.get(), size_); }

 private:
  static constexpr std::size_t kWord = sizeof(std::uint64_t);
  static constexpr std::size_t kPage = 4096;  // the smallest that any system has

  void add_text_slowly(const char* text) {
    const std::size_t length = std::strlen(text) + 1;
    ensure(fixed_left_ + length + kWord);
    std::memcpy(bytes_.get() + size_, text, length);
    size_ += length;
  }
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
