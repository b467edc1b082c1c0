#include "btf/record_keys.h"

#include <string_view>

namespace btfloom {

void add_record_keys(const BtfImage& base, const StringIndex& strings,
                     FrozenMap::Builder& builder) {
  RecordKey key;
  // Other tools may have stored a string twice; the writer asks for the one that the index knows.
  const bool are_unique = strings.are_unique();
  const auto canonical = [&](std::uint32_t offset) {
    return are_unique ? offset : strings.find(base.text(offset));
  };
  for (std::uint32_t id = base.first_id(); id < base.end_id(); ++id) {
    const BtfRecord record = base.record(id);
    if (record.kind == BtfKind::kFuncProto) {
      key.prototype(record.size_or_type);
      for (std::uint32_t i = 0; i < record.count; ++i) {
        const BtfMember parameter = base.parameter(record, i);
        key.parameter(canonical(parameter.name), parameter.type);
      }
    } else if (record.kind == BtfKind::kFunc) {
      key.function(canonical(record.name), record.size_or_type);
    } else if (record.kind == BtfKind::kDeclTag) {
      key.decl_tag(canonical(record.name), record.size_or_type, base.extra_word(record));
    } else if (record.kind == BtfKind::kPtr && base.has(record.size_or_type)) {
      const BtfRecord tag = base.record(record.size_or_type);
      if (tag.kind != BtfKind::kTypeTag || !tag.kind_flag ||
          std::string_view(base.text(tag.name)) != kArenaTag) {
        continue;
      }
      key.arena_pointer(tag.size_or_type);
    } else {
      continue;
    }
    builder.add(key.hash(), {.value = id});
  }
}

}  // namespace btfloom
