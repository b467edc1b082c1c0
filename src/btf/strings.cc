#include "btf/strings.h"

#include <algorithm>
#include <bit>

#include "support/hash.h"

namespace btfloom {

std::vector<std::uint32_t> StringIndex::build(Bytes strings) {
  const std::string_view text = as_text(strings);
  std::size_t count = 0;
  for (const char c : text) {
    count += c == '\0' ? 1 : 0;
  }
  std::vector<std::uint32_t> slots(std::bit_ceil(count * 2 + 1));
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view string(text.data() + at);
    std::size_t slot = hash_text(string) & (slots.size() - 1);
    while (slots[slot] != 0 && string != text.data() + slots[slot]) {
      slot = (slot + 1) & (slots.size() - 1);
    }
    if (slots[slot] == 0) {
      slots[slot] = static_cast<std::uint32_t>(at);  // the empty string, at 0, stays out
    }
    at += string.size() + 1;
  }
  return slots;
}

std::uint32_t StringIndex::find(std::string_view text) const {
  if (text.empty()) {
    return 0;
  }
  for (std::size_t slot = hash_text(text) & (slots_.size() - 1);;
       slot = (slot + 1) & (slots_.size() - 1)) {
    if (slots_[slot] == 0 || text == reinterpret_cast<const char*>(&strings_[slots_[slot]])) {
      return slots_[slot];
    }
  }
}

bool StringIndex::are_unique() const {
  const auto ends = std::count(strings_.begin(), strings_.end(), std::byte{0});
  const auto free = std::count(slots_.begin(), slots_.end(), 0U);
  return static_cast<std::size_t>(ends) == slots_.size() - static_cast<std::size_t>(free) + 1;
}

StringSection::StringSection(const StringIndex* base)
    : base_(base), start_(base != nullptr ? base->end() : 0), slots_(1 << 12) {
  if (base == nullptr) {
    bytes_.push_back('\0');
  }
}

void StringSection::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.offset == 0) {
      continue;
    }
    std::size_t at = slot.hash & mask;
    while (slots_[at].offset != 0) {
      at = (at + 1) & mask;
    }
    slots_[at] = slot;
  }
}

std::uint32_t StringSection::add(std::string_view text) {
  if (text.empty()) {
    return 0;
  }
  if (base_ != nullptr) {
    if (const std::uint32_t known = base_->find(text); known != 0) {
      return known;
    }
  }
  if ((count_ + 1) * 2 > slots_.size()) {
    grow();
  }
  const std::uint64_t hash = hash_text(text);
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  while (slots_[at].offset != 0) {
    const Slot& slot = slots_[at];
    if (slot.hash == hash && slot.length == text.size() &&
        text == std::string_view(bytes_.data() + slot.offset - start_, slot.length)) {
      return slot.offset;
    }
    at = (at + 1) & mask;
  }
  slots_[at] = {hash, start_ + static_cast<std::uint32_t>(bytes_.size()),
                static_cast<std::uint32_t>(text.size())};
  ++count_;
  bytes_.insert(bytes_.end(), text.begin(), text.end());
  bytes_.push_back('\0');
  return slots_[at].offset;
}

}  // namespace btfloom
