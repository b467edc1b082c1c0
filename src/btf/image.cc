#include "btf/image.h"

#include <string>

#include "support/reader.h"

namespace btfloom {

namespace {

constexpr const char* kWayOut = "; make the BTF anew";

Error damaged(std::string text) {
  return Error{.kind = ErrorKind::kInput, .text = std::move(text) + kWayOut};
}

// struct btf_header, and what later versions put behind it.
struct Header {
  std::uint32_t size = 0;
  std::uint32_t type_offset = 0;
  std::uint32_t type_size = 0;
  std::uint32_t string_offset = 0;
  std::uint32_t string_size = 0;
};

bool is_inside(Bytes bytes, std::uint64_t offset, std::uint64_t size) {
  return offset <= bytes.size() && size <= bytes.size() - offset;
}

}  // namespace

Result<> BtfImage::read_header(Bytes bytes) {
  if (bytes.size() < kBtfHeaderSize) {
    return damaged("too short to be BTF");
  }
  const auto magic = load<std::uint16_t>(bytes.data(), ByteOrder::little);
  if (magic != kBtfMagic && byte_swap(magic) != kBtfMagic) {
    return damaged("not BTF: it does not begin with the magic number 0xeb9f");
  }
  order_ = magic == kBtfMagic ? ByteOrder::little : ByteOrder::big;
  Reader reader(bytes.subspan(2), order_);
  const std::uint8_t version = reader.u8();
  const std::uint8_t flags = reader.u8();
  if (version != kBtfVersion || flags != 0) {
    return damaged("BTF of version " + std::to_string(version) + " with flags " +
                   std::to_string(flags) + ", only version 1 without flags is known");
  }
  Header header;
  header.size = reader.u32();
  header.type_offset = reader.u32();
  header.type_size = reader.u32();
  header.string_offset = reader.u32();
  header.string_size = reader.u32();
  if (header.size < kBtfHeaderSize || header.size > bytes.size()) {
    return damaged("BTF with a header of " + std::to_string(header.size) + " bytes");
  }
  std::uint32_t layout_offset = 0;
  std::uint32_t layout_size = 0;
  if (header.size >= kBtfLayoutHeaderSize) {
    layout_offset = reader.u32();
    layout_size = reader.u32();
  }
  while (reader.position() + 2 < header.size) {
    if (reader.u8() != 0) {
      return damaged("BTF whose header says more than this program understands");
    }
  }
  const Bytes body = bytes.subspan(header.size);
  if (!is_inside(body, header.type_offset, header.type_size) ||
      !is_inside(body, header.string_offset, header.string_size) ||
      !is_inside(body, layout_offset, layout_size)) {
    return damaged("BTF whose header points behind its end; it was cut off, or is not whole yet");
  }
  types_ = body.subspan(header.type_offset, header.type_size);
  strings_ = body.subspan(header.string_offset, header.string_size);
  bytes_ = bytes;
  if ((strings_.empty() && base_ == nullptr) ||
      (!strings_.empty() && strings_.back() != std::byte{0})) {
    return damaged("BTF whose strings do not end");
  }
  if (base_ == nullptr && strings_.front() != std::byte{0}) {
    return damaged("BTF whose first string is not empty; is it a split BTF? name its base");
  }
  return {};
}

// Kinds that only a layout section explains are left to a later version of this program: the
// kernel refuses them too.
Result<> BtfImage::find_records() {
  std::size_t at = 0;
  while (at < types_.size()) {
    const std::string number = std::to_string(first_id_ + own_offsets_.size());
    if (types_.size() - at < kBtfRecordSize) {
      return damaged("type " + number + " is cut off");
    }
    const auto info = load<std::uint32_t>(types_.data() + at + 4, order_);
    const std::uint32_t kind = info >> 24 & 0x1f;
    if (kind == 0 || kind >= kBtfKindEnd) {
      return damaged("type " + number + " is of the unknown kind " + std::to_string(kind));
    }
    const std::size_t size =
        kBtfRecordSize + btf_parts_size(static_cast<BtfKind>(kind), info & 0xffff);
    if (types_.size() - at < size) {
      return damaged("type " + number + " is cut off");
    }
    own_offsets_.push_back(static_cast<std::uint32_t>(at));
    at += size;
  }
  count_ = static_cast<std::uint32_t>(own_offsets_.size());
  offsets_ = std::as_bytes(std::span<const std::uint32_t>(own_offsets_));
  return {};
}

Result<BtfImage> BtfImage::parse(Bytes bytes, const BtfImage* base) {
  BtfImage image;
  image.base_ = base;
  TRY(image.read_header(bytes));
  if (base != nullptr) {
    if (base->order() != image.order_) {
      return Error{.kind = ErrorKind::kArgument,
                   .text =
                       "the BTF has another byte order than its base; name the base that it "
                       "was made with"};
    }
    image.first_id_ = base->end_id();
    image.strings_start_ = base->strings_start_ + static_cast<std::uint32_t>(base->strings_.size());
  }
  TRY(image.find_records());
  return image;
}

Result<BtfImage> BtfImage::trust(Bytes bytes, Bytes offsets) {
  BtfImage image;
  TRY(image.read_header(bytes));
  image.offsets_ = offsets;
  image.count_ = static_cast<std::uint32_t>(offsets.size() / sizeof(std::uint32_t));
  return image;
}

BtfRecord BtfImage::decode(const std::byte* at) const {
  const auto info = load<std::uint32_t>(at + 4, order_);
  return {.name = load<std::uint32_t>(at, order_),
          .kind = static_cast<BtfKind>(info >> 24 & 0x1f),
          .kind_flag = info >> 31 != 0,
          .count = info & 0xffff,
          .size_or_type = load<std::uint32_t>(at + 8, order_),
          .info = info,
          .parts = at + kBtfRecordSize};
}

BtfRecord BtfImage::record(std::uint32_t id) const {
  const BtfImage* image = this;
  while (image->base_ != nullptr && id < image->first_id_) {
    image = image->base_;
  }
  if (id == 0) {
    return {};
  }
  const std::size_t place = std::size_t{id - image->first_id_} * sizeof(std::uint32_t);
  const auto offset = load<std::uint32_t>(image->offsets_.data() + place, ByteOrder::native);
  return image->decode(image->types_.data() + offset);
}

const char* BtfImage::text(std::uint32_t offset) const {
  const BtfImage* image = this;
  while (image->base_ != nullptr && offset < image->strings_start_) {
    image = image->base_;
  }
  const std::size_t place = offset - image->strings_start_;
  return place < image->strings_.size()
             ? reinterpret_cast<const char*>(image->strings_.data() + place)
             : "";
}

BtfMember BtfImage::member(const BtfRecord& record, std::uint32_t i) const {
  return {.name = word(record, std::size_t{i} * 3),
          .type = word(record, std::size_t{i} * 3 + 1),
          .offset = word(record, std::size_t{i} * 3 + 2)};
}

BtfMember BtfImage::parameter(const BtfRecord& record, std::uint32_t i) const {
  return {.name = word(record, std::size_t{i} * 2), .type = word(record, std::size_t{i} * 2 + 1)};
}

BtfEnumerator BtfImage::enumerator(const BtfRecord& record, std::uint32_t i) const {
  if (record.kind == BtfKind::kEnum) {
    const std::uint32_t value = word(record, std::size_t{i} * 2 + 1);
    return {.name = word(record, std::size_t{i} * 2),
            .value = record.kind_flag ? std::int64_t{static_cast<std::int32_t>(value)}
                                      : std::int64_t{value}};
  }
  const std::uint64_t low = word(record, std::size_t{i} * 3 + 1);
  const std::uint64_t high = word(record, std::size_t{i} * 3 + 2);
  return {.name = word(record, std::size_t{i} * 3),
          .value = static_cast<std::int64_t>(high << 32 | low)};
}

BtfSectionEntry BtfImage::section_entry(const BtfRecord& record, std::uint32_t i) const {
  return {.type = word(record, std::size_t{i} * 3),
          .offset = word(record, std::size_t{i} * 3 + 1),
          .size = word(record, std::size_t{i} * 3 + 2)};
}

BtfArray BtfImage::array(const BtfRecord& record) const {
  return {.element = word(record, 0), .index = word(record, 1), .count = word(record, 2)};
}

}  // namespace btfloom
