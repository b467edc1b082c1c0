// Every record by itself: btf_check_all_metas() of kernel/bpf/btf.c.
#include "btf/validate.h"

#include "btf/validate_internal.h"

namespace btfloom {

namespace {

constexpr std::uint32_t kInfoMask = 0x9f00ffff;
constexpr std::uint32_t kMaxType = 0xfffff;         // BTF_MAX_TYPE
constexpr std::uint32_t kMaxNameOffset = 0xffffff;  // BTF_MAX_NAME_OFFSET
constexpr std::size_t kMaxNameLength = 512;         // KSYM_NAME_LEN, with its NUL
constexpr std::uint32_t kMaxIntBits = 128;
constexpr std::uint32_t kGlobal = 1;  // BTF_FUNC_GLOBAL and BTF_VAR_GLOBAL_ALLOCATED

// The kernel's own ctype: Latin-1 (lib/ctype.c).
bool is_letter(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= 192 && c != 215 && c != 247);
}

bool is_printable(unsigned char c) {
  return (c >= ' ' && c <= '~') || c >= 160;
}

// btf_name_valid_identifier().
bool is_identifier(const char* name) {
  std::size_t length = 0;
  for (; name[length] != '\0'; ++length) {
    const auto c = static_cast<unsigned char>(name[length]);
    const bool is_digit = c >= '0' && c <= '9';
    if (!(is_letter(c) || c == '_' || c == '.' || (is_digit && length > 0))) {
      return false;
    }
  }
  return length > 0 && length < kMaxNameLength;
}

// btf_name_valid_section().
bool is_section_name(const char* name) {
  std::size_t length = 0;
  for (; name[length] != '\0'; ++length) {
    if (!is_printable(static_cast<unsigned char>(name[length]))) {
      return false;
    }
  }
  return length > 0 && length < kMaxNameLength;
}

constexpr bool is_power_of_two(std::uint32_t value) {
  return value != 0 && (value & (value - 1)) == 0;
}

class RecordChecker {
 public:
  RecordChecker(const BtfImage& image, ViolationReport& report) : image_(image), report_(report) {}

  void check(std::uint32_t id);

 private:
  // Every rule has this form: what must hold, and what is said if it does not.
  void expect(bool holds, const char* otherwise) {
    if (!holds) {
      report_.add(id_, otherwise);
    }
  }
  void expect_no_parts(const BtfRecord& record) {
    expect(record.count == 0, "has a count of parts, which its kind has not");
  }
  void expect_no_flag(const BtfRecord& record) {
    expect(!record.kind_flag, "has kind_flag set, which means nothing for its kind");
  }
  void expect_no_name(const BtfRecord& record) {
    expect(record.name == 0, "has a name, which its kind must not have");
  }
  // The name of the type itself.
  void expect_identifier(const BtfRecord& record) {
    expect(record.name != 0, "has no name, which its kind must have");
    expect(record.name == 0 || is_identifier(image_.text(record.name)),
           "is no identifier: letters, digits, '_' and '.' only, at most 511 bytes");
  }
  void expect_optional_identifier(const BtfRecord& record) {
    expect(record.name == 0 || is_identifier(image_.text(record.name)),
           "is no identifier: letters, digits, '_' and '.' only, at most 511 bytes");
  }
  void expect_type(std::uint32_t type) {
    expect(type != 0, "refers to void, which its kind must not do");
    expect(image_.has(type), "refers to a type that does not exist");
  }
  void expect_part(bool holds, const char* what, std::uint32_t name, std::uint32_t i,
                   const char* otherwise) {
    if (!holds) {
      report_.add(id_, part_text(image_, what, name, i) + " " + otherwise);
    }
  }

  void check_int(const BtfRecord& record);
  void check_reference(const BtfRecord& record);
  void check_array(const BtfRecord& record);
  void check_members(const BtfRecord& record);
  void check_enum(const BtfRecord& record);
  void check_forward(const BtfRecord& record);
  void check_function(const BtfRecord& record);
  void check_prototype(const BtfRecord& record);
  void check_variable(const BtfRecord& record);
  void check_section(const BtfRecord& record);
  void check_float(const BtfRecord& record);
  void check_decl_tag(const BtfRecord& record);

  const BtfImage& image_;
  ViolationReport& report_;
  std::uint32_t id_ = 0;
};

void RecordChecker::check_int(const BtfRecord& record) {
  expect_no_parts(record);
  expect_no_flag(record);
  const std::uint32_t word = image_.extra_word(record);
  const std::uint32_t encoding = word >> 24;
  const std::uint32_t bits = (word & 0xff) + (word >> 16 & 0xff);
  expect((word & 0xf0000000) == 0, "sets bits of its encoding that mean nothing");
  expect(bits <= kMaxIntBits, "has more than 128 bits");
  expect((bits + 7) / 8 <= record.size_or_type, "has more bits than bytes to hold them");
  expect((encoding & (encoding - 1)) == 0, "is more than one of signed, char and bool");
  expect(encoding != 8, "has an unknown encoding");
}

// PTR, TYPEDEF, CONST, VOLATILE, RESTRICT, TYPE_TAG.
void RecordChecker::check_reference(const BtfRecord& record) {
  expect_no_parts(record);
  if (record.kind != BtfKind::kTypeTag) {
    expect_no_flag(record);
  }
  expect(image_.has(record.size_or_type), "refers to a type that does not exist");
  if (record.kind == BtfKind::kTypedef) {
    expect_identifier(record);
  } else if (record.kind == BtfKind::kTypeTag) {
    expect(*image_.text(record.name) != '\0', "has no value");
  } else {
    expect_no_name(record);
  }
}

void RecordChecker::check_array(const BtfRecord& record) {
  expect_no_name(record);
  expect_no_parts(record);
  expect_no_flag(record);
  expect(record.size_or_type == 0, "has a size, which its kind has not");
  const BtfArray array = image_.array(record);
  expect_type(array.element);
  expect_type(array.index);
}

void RecordChecker::check_members(const BtfRecord& record) {
  expect_optional_identifier(record);
  std::uint32_t last = 0;
  for (std::uint32_t i = 0; i < record.count && !report_.is_full(); ++i) {
    const BtfMember member = image_.member(record, i);
    const auto expect_member = [&](bool holds, const char* otherwise) {
      expect_part(holds, "member", member.name, i, otherwise);
    };
    const std::uint32_t offset = member_bit_offset(record, member);
    expect_member(image_.has_text(member.name), "has its name outside of the strings");
    expect_member(member.name == 0 || is_identifier(image_.text(member.name)),
                  "has a name that is no identifier");
    expect_member(member.type != 0, "is void");
    expect_member(image_.has(member.type), "has a type that does not exist");
    expect_member(record.kind == BtfKind::kStruct || offset == 0, "of a union is not at bit 0");
    expect_member(offset >= last, "is before the one in front of it");
    expect_member(offset <= std::uint64_t{record.size_or_type} * 8,
                  "begins behind the end of the struct");
    last = offset;
  }
}

void RecordChecker::check_enum(const BtfRecord& record) {
  expect(is_power_of_two(record.size_or_type) && record.size_or_type <= 8,
         "has a size that is not 1, 2, 4 or 8");
  expect_optional_identifier(record);
  for (std::uint32_t i = 0; i < record.count && !report_.is_full(); ++i) {
    const std::uint32_t name = image_.enumerator(record, i).name;
    expect_part(image_.has_text(name), "enumerator", 0, i, "has its name outside of the strings");
    expect_part(!image_.has_text(name) || is_identifier(image_.text(name)), "enumerator", name, i,
                "has a name that is no identifier");
  }
}

void RecordChecker::check_forward(const BtfRecord& record) {
  expect_no_parts(record);
  expect(record.size_or_type == 0, "refers to a type, which its kind does not");
  expect_identifier(record);
}

void RecordChecker::check_function(const BtfRecord& record) {
  expect_identifier(record);
  expect(record.count <= kGlobal, "has a linkage that is neither static nor global");
  expect_no_flag(record);
  expect_type(record.size_or_type);
}

void RecordChecker::check_prototype(const BtfRecord& record) {
  expect_no_name(record);
  expect_no_flag(record);
  expect(image_.has(record.size_or_type), "returns a type that does not exist");
  for (std::uint32_t i = 0; i < record.count && !report_.is_full(); ++i) {
    const BtfMember parameter = image_.parameter(record, i);
    const bool is_last = i + 1 == record.count;
    const auto expect_parameter = [&](bool holds, const char* otherwise) {
      expect_part(holds, "parameter", parameter.name, i, otherwise);
    };
    expect_parameter(image_.has_text(parameter.name), "has its name outside of the strings");
    expect_parameter(parameter.name == 0 || is_identifier(image_.text(parameter.name)),
                     "has a name that is no identifier");
    expect_parameter(image_.has(parameter.type), "has a type that does not exist");
    expect_parameter(parameter.type != 0 || is_last,
                     "is void, which only the last one may be (variable arguments)");
    expect_parameter(parameter.type != 0 || parameter.name == 0,
                     "stands for variable arguments and has a name");
  }
}

void RecordChecker::check_variable(const BtfRecord& record) {
  expect_no_parts(record);
  expect_no_flag(record);
  expect_identifier(record);
  expect_type(record.size_or_type);
  expect(image_.extra_word(record) <= kGlobal, "has a linkage that is neither static nor global");
}

void RecordChecker::check_section(const BtfRecord& record) {
  expect_no_flag(record);
  expect(record.size_or_type != 0, "has a size of 0");
  expect(is_section_name(image_.text(record.name)), "has a name with unprintable bytes, or none");
  std::uint64_t end = 0;
  for (std::uint32_t i = 0; i < record.count && !report_.is_full(); ++i) {
    const BtfSectionEntry entry = image_.section_entry(record, i);
    const auto expect_entry = [&](bool holds, const char* otherwise) {
      expect_part(holds, "variable", 0, i, otherwise);
    };
    expect_entry(entry.type != 0 && image_.has(entry.type), "does not exist");
    expect_entry(entry.offset >= end, "overlaps the one in front of it");
    expect_entry(entry.size != 0, "has a size of 0");
    end = std::uint64_t{entry.offset} + entry.size;
    expect_entry(end <= record.size_or_type, "ends behind the section");
  }
}

void RecordChecker::check_float(const BtfRecord& record) {
  expect_no_parts(record);
  expect_no_flag(record);
  const std::uint32_t size = record.size_or_type;
  expect(size == 2 || size == 4 || size == 8 || size == 12 || size == 16,
         "has a size that is not 2, 4, 8, 12 or 16");
}

// kind_flag says that it is an attribute (since 6.16).
void RecordChecker::check_decl_tag(const BtfRecord& record) {
  expect(*image_.text(record.name) != '\0', "has no value");
  expect_no_parts(record);
  expect_type(record.size_or_type);
  expect(static_cast<std::int32_t>(image_.extra_word(record)) >= -1,
         "has a negative component_idx that is not -1");
}

void RecordChecker::check(std::uint32_t id) {
  id_ = id;
  const BtfRecord record = image_.record(id);
  expect((record.info & ~kInfoMask) == 0, "sets bits of its info word that mean nothing");
  if (!image_.has_text(record.name)) {
    report_.add(id, "has its name outside of the strings");
    return;
  }
  switch (record.kind) {
    case BtfKind::kVoid:
      return;  // no record says so
    case BtfKind::kInt:
      return check_int(record);
    case BtfKind::kPtr:
    case BtfKind::kTypedef:
    case BtfKind::kVolatile:
    case BtfKind::kConst:
    case BtfKind::kRestrict:
    case BtfKind::kTypeTag:
      return check_reference(record);
    case BtfKind::kArray:
      return check_array(record);
    case BtfKind::kStruct:
    case BtfKind::kUnion:
      return check_members(record);
    case BtfKind::kEnum:
    case BtfKind::kEnum64:
      return check_enum(record);
    case BtfKind::kFwd:
      return check_forward(record);
    case BtfKind::kFunc:
      return check_function(record);
    case BtfKind::kFuncProto:
      return check_prototype(record);
    case BtfKind::kVar:
      return check_variable(record);
    case BtfKind::kDatasec:
      return check_section(record);
    case BtfKind::kFloat:
      return check_float(record);
    case BtfKind::kDeclTag:
      return check_decl_tag(record);
  }
}

}  // namespace

void ViolationReport::add(std::uint32_t id, const std::string& what) {
  if (is_full()) {
    return;
  }
  if (id == 0) {
    found_.push_back({.type = 0, .text = what});
    return;
  }
  const BtfRecord record = image_.record(id);
  std::string text = btf_kind_name(record.kind);
  if (*image_.text(record.name) != '\0') {
    text += std::string(" '") + image_.text(record.name) + "'";
  }
  found_.push_back({.type = id, .text = text + ": " + what});
}

std::string part_text(const BtfImage& image, const char* what, std::uint32_t name,
                      std::uint32_t i) {
  const char* text = image.text(name);
  return std::string(what) + " " +
         (*text != '\0' ? std::string("'") + text + "'" : std::to_string(i));
}

std::vector<Violation> validate(const BtfImage& image, const ValidateOptions& options) {
  ViolationReport report(image, options.most);
  if (image.base() == nullptr && image.end_id() == 1) {
    report.add(0, "there is no type");
  }
  if (image.end_id() - 1 > kMaxType) {
    report.add(0, "there are " + std::to_string(image.end_id() - 1) +
                      " types, more than the kernel's 1,048,575");
  }
  if (!image.strings().empty() && image.strings().size() - 1 > kMaxNameOffset) {
    report.add(0, "there are " + std::to_string(image.strings().size()) +
                      " bytes of strings, more than the kernel's 16,777,216");
  }
  RecordChecker checker(image, report);
  for (std::uint32_t id = image.first_id(); id < image.end_id() && !report.is_full(); ++id) {
    checker.check(id);
  }
  if (report.is_empty()) {
    check_references(image, options.pointer_size, report);
  }
  return report.take();
}

}  // namespace btfloom
