// BTF by hand, record by record: for tests of what no compiler makes.
//
//   BtfBuilder b;
//   const auto i = b.add(BtfKind::kInt, "int", {.size_or_type = 4, .words = {1U << 24 | 32}});
//   b.add(BtfKind::kPtr, "", {.size_or_type = i});
//   const std::vector<std::byte> bytes = b.bytes();
//
// Names inside `words` are offsets: text("name"). Numbers and offsets of a split BTF go on where
// its base ends.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "btf/image.h"

namespace btfloom::test {

// What a record says besides its kind and name; `words` are its parts.
struct BtfRest {
  std::uint32_t size_or_type = 0;
  std::uint32_t count = 0;
  bool kind_flag = false;
  std::vector<std::uint32_t> words = {};
};

class BtfBuilder {
 public:
  explicit BtfBuilder(const BtfImage* base = nullptr)
      : next_(base != nullptr ? base->end_id() : 1),
        strings_start_(base != nullptr ? base->strings_start() +
                                             static_cast<std::uint32_t>(base->strings().size())
                                       : 0) {
    if (base == nullptr) {
      strings_.push_back('\0');
    }
  }

  // The offset of a string; the same one for the same text. 0 for "".
  std::uint32_t text(const std::string& text) {
    if (text.empty()) {
      return 0;
    }
    const auto [at, is_new] =
        offsets_.try_emplace(text, strings_start_ + static_cast<std::uint32_t>(strings_.size()));
    if (is_new) {
      strings_ += text;
      strings_ += '\0';
    }
    return at->second;
  }

  // Appends a record and returns its number.
  std::uint32_t add(BtfKind kind, const std::string& name, const BtfRest& rest = {}) {
    return add_words(text(name), btf_info(kind, rest.count, rest.kind_flag), rest.size_or_type,
                     rest.words);
  }
  std::uint32_t add_words(std::uint32_t name, std::uint32_t info, std::uint32_t size_or_type,
                          const std::vector<std::uint32_t>& words = {}) {
    types_.insert(types_.end(), {name, info, size_or_type});
    types_.insert(types_.end(), words.begin(), words.end());
    return next_++;
  }

  // The number that the next record will have: for references forwards.
  [[nodiscard]] std::uint32_t next() const { return next_; }

  // Shorthands for what most tests need.
  std::uint32_t add_int(const std::string& name = "int", std::uint32_t size = 4) {
    return add(BtfKind::kInt, name, {.size_or_type = size, .words = {1U << 24 | size * 8}});
  }
  struct Field {
    std::string name;
    std::uint32_t type = 0;
    std::uint32_t offset = 0;
  };
  std::uint32_t add_struct(const std::string& name, std::uint32_t size,
                           const std::vector<Field>& fields, BtfKind kind = BtfKind::kStruct,
                           bool kind_flag = false) {
    BtfRest rest{.size_or_type = size,
                 .count = static_cast<std::uint32_t>(fields.size()),
                 .kind_flag = kind_flag};
    for (const Field& field : fields) {
      rest.words.insert(rest.words.end(), {text(field.name), field.type, field.offset});
    }
    return add(kind, name, rest);
  }
  std::uint32_t add_prototype(std::uint32_t result, const std::vector<Field>& parameters) {
    BtfRest rest{.size_or_type = result, .count = static_cast<std::uint32_t>(parameters.size())};
    for (const Field& parameter : parameters) {
      rest.words.insert(rest.words.end(), {text(parameter.name), parameter.type});
    }
    return add(BtfKind::kFuncProto, "", rest);
  }

  // Header, types, strings, in the byte order of this machine.
  [[nodiscard]] std::vector<std::byte> bytes() const {
    const auto types_size = static_cast<std::uint32_t>(types_.size() * 4);
    const std::vector<std::uint32_t> header = {
        kBtfMagic | std::uint32_t{kBtfVersion} << 16, kBtfHeaderSize, 0, types_size, types_size,
        static_cast<std::uint32_t>(strings_.size())};
    std::vector<std::byte> bytes;
    const auto append = [&](const auto& values) {
      const auto view = std::as_bytes(std::span(values));
      bytes.insert(bytes.end(), view.begin(), view.end());
    };
    append(header);
    append(types_);
    append(strings_);
    return bytes;
  }

 private:
  std::uint32_t next_;
  std::uint32_t strings_start_;
  std::vector<std::uint32_t> types_;
  std::string strings_;
  std::map<std::string, std::uint32_t> offsets_;
};

}  // namespace btfloom::test
