#include "btf/strings.h"

#include "support/hash.h"

namespace btfloom {

StringSection::StringSection() : bytes_(1, '\0'), slots_(1 << 12) {}

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
  if ((count_ + 1) * 2 > slots_.size()) {
    grow();
  }
  const std::uint64_t hash = hash_text(text);
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  while (slots_[at].offset != 0) {
    const Slot& slot = slots_[at];
    if (slot.hash == hash && slot.length == text.size() &&
        text == std::string_view(bytes_.data() + slot.offset, slot.length)) {
      return slot.offset;
    }
    at = (at + 1) & mask;
  }
  slots_[at] = {hash, static_cast<std::uint32_t>(bytes_.size()),
                static_cast<std::uint32_t>(text.size())};
  ++count_;
  bytes_.insert(bytes_.end(), text.begin(), text.end());
  bytes_.push_back('\0');
  return slots_[at].offset;
}

}  // namespace btfloom
