#include "dedup/base_keys.h"

#include <unordered_map>
#include <utility>

#include "dedup/contested.h"
#include "dedup/forward.h"
#include "dedup/shape.h"
#include "types/base_types.h"

namespace btfloom {

namespace {

struct Tag {
  std::uint32_t primary = 0;  // ids; 0: none
  std::uint32_t last = 0;
  std::uint32_t definitions = 0;
  bool is_declared = false;  // a declaration is left, so the base itself did not bind it
};

class BaseKeys {
 public:
  BaseKeys(Fragment base, const std::vector<std::uint32_t>& ids, FrozenMap::Builder& builder)
      : ids_(ids), builder_(builder) {
    folded_.fragment = std::move(base);
  }

  void run() {
    ShapeScratch scratch;
    fold(table_, scratch, folded_);
    links_ = folded_.shapes.link;  // by name, also of what is set apart below
    contested_.look_at(folded_);
    for (std::uint32_t i = 0; i < ids_.size(); ++i) {
      add_type(i);
    }
    for (std::uint32_t i = 0; i < ids_.size(); ++i) {
      add_tag(i);
    }
  }

 private:
  void add_type(std::uint32_t i) {
    const Type& type = folded_.fragment.types[i];
    const Hash128& content = folded_.shapes.content[i];
    const std::uint64_t flavour = folded_.shapes.flavour[i];
    const std::uint32_t value = kBaseBit | ids_[i];
    if (builder_.add(content, {.value = value, .extra = flavour}).extra != flavour) {
      builder_.add(flavour_key(content, flavour), {.value = value});
    }
    if (!is_tag(type)) {
      return;
    }
    Tag& tag = tags_[links_[i].hash];
    if (!is_definition(type)) {
      tag.is_declared = true;
      return;
    }
    ++tag.definitions;
    tag.last = ids_[i];
    if (tag.primary == 0 && !contested_.is_apart(i)) {
      tag.primary = ids_[i];
    }
  }

  // Once for every tag, at its primary definition.
  void add_tag(std::uint32_t i) {
    const Type& type = folded_.fragment.types[i];
    if (!is_definition(type) || tags_[links_[i].hash].primary != ids_[i]) {
      return;
    }
    const Hash128& link = links_[i].hash;
    const Tag& tag = tags_[link];
    builder_.add(definition_key(link),
                 {.value = kBaseBit | tag.primary, .extra = pack({tag.last, tag.definitions})});
    if (is_enum(type.kind) || tag.definitions != 1 || tag.is_declared) {
      return;
    }
    const TagClass other =
        tag_class(type) == TagClass::kStruct ? TagClass::kUnion : TagClass::kStruct;
    if (!tags_.contains(tag_link(other, type.name, input_))) {
      builder_.add(bound_key(link), {.value = kBaseBit | tag.primary});
    }
  }

  const std::vector<std::uint32_t>& ids_;
  FrozenMap::Builder& builder_;
  Table table_;
  Folded folded_;
  ContestedNames contested_{table_};
  std::vector<Link> links_;
  std::unordered_map<Hash128, Tag, HashOfHash128> tags_;
  HashInput input_;
};

}  // namespace

Hash128 definition_key(const Hash128& link) {
  const std::uint64_t words[] = {0xfa00, link.low,
                                 link.high};  // no content starts with such a kind
  return hash_bytes(words, sizeof words);
}

void add_base_keys(Fragment base, const std::vector<std::uint32_t>& ids,
                   FrozenMap::Builder& builder) {
  BaseKeys(std::move(base), ids, builder).run();
}

}  // namespace btfloom
