#include "btf/read.h"

#include "types/base_types.h"
#include "types/references.h"

namespace btfloom {

namespace {

Kind kind_of(BtfKind kind) {
  switch (kind) {
    case BtfKind::kInt:
      return Kind::kInt;
    case BtfKind::kFloat:
      return Kind::kFloat;
    case BtfKind::kPtr:
      return Kind::kPointer;
    case BtfKind::kConst:
      return Kind::kConst;
    case BtfKind::kVolatile:
      return Kind::kVolatile;
    case BtfKind::kRestrict:
      return Kind::kRestrict;
    case BtfKind::kTypedef:
      return Kind::kTypedef;
    case BtfKind::kTypeTag:
      return Kind::kTypeTag;
    case BtfKind::kArray:
      return Kind::kArray;
    case BtfKind::kStruct:
      return Kind::kStruct;
    case BtfKind::kUnion:
      return Kind::kUnion;
    case BtfKind::kEnum:
      return Kind::kEnum;
    case BtfKind::kEnum64:
      return Kind::kEnum64;
    case BtfKind::kFwd:
      return Kind::kForward;
    case BtfKind::kFuncProto:
      return Kind::kFunctionProto;
    case BtfKind::kVoid:
    case BtfKind::kFunc:
    case BtfKind::kVar:
    case BtfKind::kDatasec:
    case BtfKind::kDeclTag:
      break;  // excluded by the precondition
  }
  return Kind::kForward;
}

TypeRef reference(const BtfImage& image, std::uint32_t id) {
  return image.has(id) && is_type(image.record(id).kind) ? id : kVoid;
}

// An INT that fills its size, with one of the encodings that C's types have.
std::uint8_t int_flags(std::uint32_t word, std::uint32_t size) {
  const auto encoding = static_cast<std::uint8_t>(word >> 24 & 0xf);
  const bool is_plain = (word & 0xffffff) == size * 8 && (encoding & 2) == 0;
  return is_plain ? encoding : static_cast<std::uint8_t>(encoding | kForeign);
}

void read_parts(const BtfImage& image, const BtfRecord& record, Type& type, Fragment& out) {
  type.count = record.count;
  switch (record.kind) {
    case BtfKind::kStruct:
    case BtfKind::kUnion:
      type.first = static_cast<std::uint32_t>(out.members.size());
      for (std::uint32_t i = 0; i < record.count; ++i) {
        const BtfMember member = image.member(record, i);
        out.members.push_back({.name = image.text(member.name),
                               .type = reference(image, member.type),
                               .bit_offset = member_bit_offset(record, member),
                               .bitfield_size = member_bitfield_size(record, member)});
      }
      break;
    case BtfKind::kEnum:
    case BtfKind::kEnum64:
      type.first = static_cast<std::uint32_t>(out.enumerators.size());
      for (std::uint32_t i = 0; i < record.count; ++i) {
        const BtfEnumerator enumerator = image.enumerator(record, i);
        out.enumerators.push_back({.name = image.text(enumerator.name), .value = enumerator.value});
      }
      break;
    default:  // kFuncProto: nothing else has parts
      type.first = static_cast<std::uint32_t>(out.parameters.size());
      for (std::uint32_t i = 0; i < record.count; ++i) {
        const BtfMember parameter = image.parameter(record, i);
        out.parameters.push_back(
            {.name = image.text(parameter.name), .type = reference(image, parameter.type)});
      }
      break;
  }
}

}  // namespace

void read_type(const BtfImage& image, std::uint32_t id, std::uint32_t int_id, Fragment& out) {
  const BtfRecord record = image.record(id);
  Type type{.name = image.text(record.name), .origin = id, .kind = kind_of(record.kind)};
  type.flags = record.kind_flag ? std::uint8_t{1} : std::uint8_t{0};
  switch (record.kind) {
    case BtfKind::kInt:
      type.size = record.size_or_type;
      type.flags = int_flags(image.extra_word(record), type.size);
      break;
    case BtfKind::kFloat:
      type.size = record.size_or_type;
      break;
    case BtfKind::kArray: {
      const BtfArray array = image.array(record);
      type.target = reference(image, array.element);
      type.size = array.count;
      type.flags = array.index == int_id ? std::uint8_t{0} : kForeign;
      break;
    }
    case BtfKind::kStruct:
    case BtfKind::kUnion:
    case BtfKind::kEnum:
    case BtfKind::kEnum64:
      type.size = record.size_or_type;
      read_parts(image, record, type, out);
      break;
    case BtfKind::kFuncProto:
      type.target = reference(image, record.size_or_type);
      read_parts(image, record, type, out);
      break;
    case BtfKind::kFwd:
      break;
    default:  // one target and nothing else
      type.target = reference(image, record.size_or_type);
      break;
  }
  out.types.push_back(type);
}

void read_types(const BtfImage& image, std::uint32_t int_id, Fragment& out,
                std::vector<std::uint32_t>& ids) {
  std::vector<TypeRef> index_of(image.end_id(), kVoid);
  for (std::uint32_t id = image.first_id(); id < image.end_id(); ++id) {
    if (is_type(image.record(id).kind)) {
      index_of[id] = static_cast<TypeRef>(ids.size());
      ids.push_back(id);
    }
  }
  out.types.reserve(ids.size());
  for (const std::uint32_t id : ids) {
    read_type(image, id, int_id, out);
  }
  for (Type& type : out.types) {
    for_each_reference(
        out, type, [&](TypeRef& target) { target = target == kVoid ? kVoid : index_of[target]; });
  }
}

std::uint32_t array_index_id(const BtfImage& image) {
  for (std::uint32_t id = image.first_id(); id < image.end_id(); ++id) {
    const BtfRecord record = image.record(id);
    if (record.kind == BtfKind::kArray) {
      return image.array(record).index;
    }
  }
  return 0;
}

}  // namespace btfloom
