// BtfImage: a BTF as it lies in memory, base or split, in either byte order. Checked for structure
// only: header, bounds, and that every record is complete; what the records say is validate.h's
// business.
//
//   const BtfImage base = TRY(BtfImage::parse(bytes, nullptr));
//   const BtfImage split = TRY(BtfImage::parse(more, &base));   // its numbers go on where base
//   ends for (std::uint32_t id = split.first_id(); id < split.end_id(); ++id) {
//     const BtfRecord record = split.record(id);
//     std::puts(split.text(record.name));
//   }
//
// A split BTF answers for its base too: record(id) and text(offset) take any number. Format:
// Documentation/bpf/btf.rst, "2. BTF Type and String Encoding". A header longer than ours may add a
// layout section, which is not needed for kinds that are known; anything else that it adds must be
// zero. Views into the bytes, which must outlive it, as must the base. Const after parse(), so any
// thread may read it.
#pragma once

#include <cstdint>
#include <vector>

#include "btf/format.h"
#include "support/bytes.h"
#include "support/result.h"

namespace btfloom {

// One record, decoded up to what its kind says of the rest.
struct BtfRecord {
  std::uint32_t name = 0;  // offset of the name
  BtfKind kind = BtfKind::kVoid;
  bool kind_flag = false;
  std::uint32_t count = 0;           // vlen
  std::uint32_t size_or_type = 0;    // the third word
  std::uint32_t info = 0;            // the second word as it stands
  const std::byte* parts = nullptr;  // what follows the three words
};

struct BtfMember {  // also a parameter: name and type
  std::uint32_t name = 0;
  std::uint32_t type = 0;
  std::uint32_t offset = 0;  // the word as it stands; see member_bit_offset()
};

struct BtfArray {
  std::uint32_t element = 0;
  std::uint32_t index = 0;
  std::uint32_t count = 0;
};

struct BtfEnumerator {
  std::uint32_t name = 0;
  std::int64_t value = 0;  // sign-extended if the kind_flag says signed, else zero-extended
};

struct BtfSectionEntry {  // of a DATASEC
  std::uint32_t type = 0;
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
};

class BtfImage {
 public:
  // Parses `bytes`, of a raw BTF file or a .BTF section; `base` (may be null) is what it was split
  // from. Errors (kInput): not BTF, damaged header, truncated record, unknown kind, strings without
  // end, another byte order than the base's. Messages name the type.
  static Result<BtfImage> parse(Bytes bytes, const BtfImage* base);
  // The same for bytes that were parsed before: `offsets` are what offsets() said then.
  static Result<BtfImage> trust(Bytes bytes, Bytes offsets);

  BtfImage(BtfImage&&) noexcept = default;
  BtfImage& operator=(BtfImage&&) noexcept = default;
  BtfImage(const BtfImage&) = delete;  // offsets_ may point into own_offsets_
  ~BtfImage() = default;

  [[nodiscard]] ByteOrder order() const { return order_; }
  [[nodiscard]] const BtfImage* base() const { return base_; }
  // Numbers of its own types; 1 for a base, for 0 is void.
  [[nodiscard]] std::uint32_t first_id() const { return first_id_; }
  [[nodiscard]] std::uint32_t end_id() const { return first_id_ + count_; }
  [[nodiscard]] bool has(std::uint32_t id) const { return id < end_id(); }
  // Precondition: has(id). Void is a record of kind kVoid.
  [[nodiscard]] BtfRecord record(std::uint32_t id) const;

  // The string at that offset, "" if there is none. Ends with NUL.
  [[nodiscard]] const char* text(std::uint32_t offset) const;
  [[nodiscard]] bool has_text(std::uint32_t offset) const {
    return offset < strings_start_ + strings_.size();
  }
  // Offsets of its own strings begin where those of the base end.
  [[nodiscard]] std::uint32_t strings_start() const { return strings_start_; }
  [[nodiscard]] Bytes strings() const { return strings_; }
  [[nodiscard]] Bytes bytes() const { return bytes_; }
  [[nodiscard]] Bytes types() const { return types_; }

  // Parts of a record; precondition: `i` below its count (0 where there is one).
  [[nodiscard]] BtfMember member(const BtfRecord& record, std::uint32_t i) const;
  [[nodiscard]] BtfMember parameter(const BtfRecord& record, std::uint32_t i) const;
  [[nodiscard]] BtfEnumerator enumerator(const BtfRecord& record, std::uint32_t i) const;
  [[nodiscard]] BtfSectionEntry section_entry(const BtfRecord& record, std::uint32_t i) const;
  [[nodiscard]] BtfArray array(const BtfRecord& record) const;
  // The word behind an INT (encoding, offset, bits), a VAR (linkage) or a DECL_TAG (component).
  [[nodiscard]] std::uint32_t extra_word(const BtfRecord& record) const { return word(record, 0); }

  // Where each of its own records starts, for trust(): words in the byte order of the host.
  [[nodiscard]] Bytes offsets() const { return offsets_; }

 private:
  BtfImage() = default;
  Result<> read_header(Bytes bytes);
  Result<> find_records();
  [[nodiscard]] std::uint32_t word(const BtfRecord& record, std::size_t i) const {
    return load<std::uint32_t>(record.parts + 4 * i, order_);
  }
  [[nodiscard]] BtfRecord decode(const std::byte* at) const;

  const BtfImage* base_ = nullptr;
  Bytes bytes_;  // header and sections, without what may follow
  Bytes types_;
  Bytes strings_;
  Bytes offsets_;  // a view of own_offsets_, or what trust() was given
  std::vector<std::uint32_t> own_offsets_;
  ByteOrder order_ = ByteOrder::native;
  std::uint32_t first_id_ = 1;
  std::uint32_t count_ = 0;
  std::uint32_t strings_start_ = 0;
};

// The offset of a member in bits, and the size of a bitfield (0: none), as the kind_flag says.
constexpr std::uint32_t member_bit_offset(const BtfRecord& record, const BtfMember& member) {
  return record.kind_flag ? member.offset & 0xffffff : member.offset;
}
constexpr std::uint32_t member_bitfield_size(const BtfRecord& record, const BtfMember& member) {
  return record.kind_flag ? member.offset >> 24 : 0;
}

// Calls f(id) for every reference of a record to a type, in the order of its words.
template <typename F>
void for_each_btf_reference(const BtfImage& image, const BtfRecord& record, F&& f) {
  switch (record.kind) {
    case BtfKind::kVoid:
    case BtfKind::kInt:
    case BtfKind::kFloat:
    case BtfKind::kFwd:
    case BtfKind::kEnum:
    case BtfKind::kEnum64:
      return;
    case BtfKind::kPtr:
    case BtfKind::kTypedef:
    case BtfKind::kVolatile:
    case BtfKind::kConst:
    case BtfKind::kRestrict:
    case BtfKind::kFunc:
    case BtfKind::kVar:
    case BtfKind::kDeclTag:
    case BtfKind::kTypeTag:
      f(record.size_or_type);
      return;
    case BtfKind::kArray: {
      const BtfArray array = image.array(record);
      f(array.element);
      f(array.index);
      return;
    }
    case BtfKind::kStruct:
    case BtfKind::kUnion:
      for (std::uint32_t i = 0; i < record.count; ++i) {
        f(image.member(record, i).type);
      }
      return;
    case BtfKind::kFuncProto:
      f(record.size_or_type);
      for (std::uint32_t i = 0; i < record.count; ++i) {
        f(image.parameter(record, i).type);
      }
      return;
    case BtfKind::kDatasec:
      for (std::uint32_t i = 0; i < record.count; ++i) {
        f(image.section_entry(record, i).type);
      }
      return;
  }
}

}  // namespace btfloom
