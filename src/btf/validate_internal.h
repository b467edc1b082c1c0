// What the two halves of validate() share: violations found so far, and names for messages.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "btf/validate.h"

namespace btfloom {

class ViolationReport {
 public:
  ViolationReport(const BtfImage& image, std::size_t most) : image_(image), most_(most) {}

  // Of the type `id`; 0: of the BTF as a whole.
  void add(std::uint32_t id, const std::string& what);
  [[nodiscard]] bool is_full() const { return found_.size() >= most_; }
  [[nodiscard]] bool is_empty() const { return found_.empty(); }
  std::vector<Violation> take() { return std::move(found_); }

 private:
  const BtfImage& image_;
  std::size_t most_;
  std::vector<Violation> found_;
};

// "member 'name'", or "member 3" (counted from 0) if it has no name.
std::string part_text(const BtfImage& image, const char* what, std::uint32_t name, std::uint32_t i);

constexpr bool is_struct_or_union(BtfKind kind) {
  return kind == BtfKind::kStruct || kind == BtfKind::kUnion;
}

// typedef, qualifiers and type tags: what the kernel calls a modifier.
constexpr bool is_modifier(BtfKind kind) {
  return kind == BtfKind::kTypedef || kind == BtfKind::kConst || kind == BtfKind::kVolatile ||
         kind == BtfKind::kRestrict || kind == BtfKind::kTypeTag;
}

// What the records say of each other. `pointer_size` as in ValidateOptions. Precondition: every
// record by itself is sound.
void check_references(const BtfImage& image, std::uint32_t pointer_size, ViolationReport& report);

}  // namespace btfloom
