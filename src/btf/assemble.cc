#include "btf/assemble.h"

#include <algorithm>

#include "btf/format.h"

namespace btfloom {

Result<std::vector<std::byte>> assemble_btf(Bytes types, Bytes layout, Bytes strings,
                                            ByteOrder order) {
  const std::uint32_t header_size = layout.empty() ? kBtfHeaderSize : kBtfLayoutHeaderSize;
  const std::size_t body = types.size() + layout.size() + strings.size();
  if (body > 0xffffffff - header_size) {
    return Error{.kind = ErrorKind::kInput, .text = "the BTF would be larger than 4 GiB"};
  }
  std::vector<std::byte> bytes(header_size + body);
  std::byte* at = bytes.data();
  const auto type_size = static_cast<std::uint32_t>(types.size());
  const auto layout_size = static_cast<std::uint32_t>(layout.size());
  store(at, kBtfMagic, order);
  store(at + 2, kBtfVersion, order);
  store(at + 3, std::uint8_t{0}, order);
  store(at + 4, header_size, order);
  store(at + 8, std::uint32_t{0}, order);
  store(at + 12, type_size, order);
  store(at + 16, type_size + layout_size, order);
  store(at + kBtfStringSizeAt, static_cast<std::uint32_t>(strings.size()), order);
  if (!layout.empty()) {
    store(at + 24, type_size, order);
    store(at + 28, layout_size, order);
  }
  at = std::copy(types.begin(), types.end(), at + header_size);
  at = std::copy(layout.begin(), layout.end(), at);
  std::copy(strings.begin(), strings.end(), at);
  return bytes;
}

std::vector<std::byte> btf_layout(ByteOrder order) {
  std::vector<std::byte> layout;
  for (std::uint8_t number = 0; number < kBtfKindEnd; ++number) {
    const auto kind = static_cast<BtfKind>(number);
    const std::size_t fixed = btf_parts_size(kind, 0);
    layout.push_back(static_cast<std::byte>(fixed));
    layout.push_back(static_cast<std::byte>(btf_parts_size(kind, 1) - fixed));
    layout.resize(layout.size() + sizeof(std::uint16_t));
    store(layout.data() + layout.size() - sizeof(std::uint16_t), std::uint16_t{0}, order);
  }
  return layout;
}

void RecordCopier::put(std::uint32_t word) {
  types_.resize(types_.size() + sizeof word);
  store(types_.data() + types_.size() - sizeof word, word, order_);
}

void RecordCopier::copy_shell(const BtfImage& image, const BtfRecord& record, BtfKind kind) {
  put_text(image, record.name);
  put(btf_info(kind, 0, false));
  put(record.size_or_type);
  ++count_;
}

void RecordCopier::copy(const BtfImage& image, const BtfRecord& record,
                        FunctionRef<std::uint32_t(std::uint32_t id)> map) {
  put_text(image, record.name);
  put(record.info);
  ++count_;
  switch (record.kind) {
    case BtfKind::kVoid:
    case BtfKind::kFwd:
    case BtfKind::kFloat:
      put(record.size_or_type);
      return;
    case BtfKind::kInt:
      put(record.size_or_type);
      put(image.extra_word(record));
      return;
    case BtfKind::kPtr:
    case BtfKind::kTypedef:
    case BtfKind::kVolatile:
    case BtfKind::kConst:
    case BtfKind::kRestrict:
    case BtfKind::kFunc:
    case BtfKind::kTypeTag:
      put(map(record.size_or_type));
      return;
    case BtfKind::kVar:
    case BtfKind::kDeclTag:
      put(map(record.size_or_type));
      put(image.extra_word(record));
      return;
    case BtfKind::kArray: {
      const BtfArray array = image.array(record);
      put(record.size_or_type);
      put(map(array.element));
      put(map(array.index));
      put(array.count);
      return;
    }
    case BtfKind::kStruct:
    case BtfKind::kUnion:
      put(record.size_or_type);
      for (std::uint32_t i = 0; i < record.count; ++i) {
        const BtfMember member = image.member(record, i);
        put_text(image, member.name);
        put(map(member.type));
        put(member.offset);
      }
      return;
    case BtfKind::kEnum:
    case BtfKind::kEnum64:
      put(record.size_or_type);
      for (std::uint32_t i = 0; i < record.count; ++i) {
        const BtfEnumerator enumerator = image.enumerator(record, i);
        const auto value = static_cast<std::uint64_t>(enumerator.value);
        put_text(image, enumerator.name);
        put(static_cast<std::uint32_t>(value));
        if (record.kind == BtfKind::kEnum64) {
          put(static_cast<std::uint32_t>(value >> 32));
        }
      }
      return;
    case BtfKind::kFuncProto:
      put(map(record.size_or_type));
      for (std::uint32_t i = 0; i < record.count; ++i) {
        const BtfMember parameter = image.parameter(record, i);
        put_text(image, parameter.name);
        put(map(parameter.type));
      }
      return;
    case BtfKind::kDatasec:
      put(record.size_or_type);
      for (std::uint32_t i = 0; i < record.count; ++i) {
        const BtfSectionEntry entry = image.section_entry(record, i);
        put(map(entry.type));
        put(entry.offset);
        put(entry.size);
      }
      return;
  }
}

}  // namespace btfloom
