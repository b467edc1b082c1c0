// BTF on disk: kinds, header and records (Documentation/bpf/btf.rst, "2. BTF Type and String
// Encoding"; include/uapi/ linux/btf.h). Spelled out here because the kinds that matter are newer
// than the headers of older systems.
#pragma once

#include <cstddef>
#include <cstdint>

namespace btfloom {

enum class BtfKind : std::uint8_t {
  kVoid = 0,  // no record says so; the kind of id 0
  kInt = 1,
  kPtr = 2,
  kArray = 3,
  kStruct = 4,
  kUnion = 5,
  kEnum = 6,
  kFwd = 7,
  kTypedef = 8,
  kVolatile = 9,
  kConst = 10,
  kRestrict = 11,
  kFunc = 12,
  kFuncProto = 13,
  kVar = 14,
  kDatasec = 15,
  kFloat = 16,
  kDeclTag = 17,
  kTypeTag = 18,
  kEnum64 = 19,
};

inline constexpr std::uint8_t kBtfKindEnd = 20;  // one past the last

// What bpftool and the kernel's log call a kind: "INT", "PTR", ...
const char* btf_kind_name(BtfKind kind);
// Bytes that follow the three words of a record with `count` parts.
std::size_t btf_parts_size(BtfKind kind, std::uint32_t count);

inline constexpr std::uint16_t kBtfMagic = 0xeb9f;
inline constexpr std::uint8_t kBtfVersion = 1;
inline constexpr std::uint32_t kBtfHeaderSize = 24;
inline constexpr std::uint32_t kBtfLayoutHeaderSize = 32;  // with layout_off and layout_len
inline constexpr std::size_t kBtfRecordSize = 12;          // struct btf_type
inline constexpr std::size_t kBtfStringSizeAt = 20;        // of btf_header.str_len
inline constexpr std::uint32_t kBtfMaxCount = 0xffff;      // vlen

// struct btf_type.info: vlen in bits 0-15, kind in bits 24-28, kind_flag in bit 31.
constexpr std::uint32_t btf_info(BtfKind kind, std::uint32_t count, bool kind_flag) {
  return count | static_cast<std::uint32_t>(kind) << 24 |
         static_cast<std::uint32_t>(kind_flag) << 31;
}

}  // namespace btfloom
