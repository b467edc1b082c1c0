// What records say of each other: btf_check_type_tags() and the btf_*_resolve() and
// btf_*_check_member() functions of kernel/bpf/btf.c.
#include <algorithm>
#include <cstring>
#include <optional>

#include "btf/validate_internal.h"

namespace btfloom {

namespace {

constexpr unsigned kMaxModifiers = 32;  // chain_limit of btf_check_type_tags()
constexpr std::uint32_t kMaxBitfield = 128;

// Kinds that only sections and tags may refer to.
constexpr bool is_declaration(BtfKind kind) {
  return kind == BtfKind::kVar || kind == BtfKind::kDatasec || kind == BtfKind::kDeclTag;
}

class ReferenceChecker {
 public:
  ReferenceChecker(const BtfImage& image, std::uint32_t pointer_size, ViolationReport& report)
      : image_(image),
        report_(report),
        pointer_size_(pointer_size != 0 ? pointer_size : find_pointer_size()) {}

  void run() {
    const auto for_each_type = [&](auto&& check) {
      for (std::uint32_t id = image_.first_id(); id < image_.end_id() && !report_.is_full(); ++id) {
        check(id, image_.record(id));
      }
    };
    // Sizes can be looked for only where nothing runs in circles.
    for_each_type([&](std::uint32_t id, const BtfRecord& record) { check_chain(id, record); });
    if (report_.is_empty()) {
      find_pointer_cycles();
      find_value_cycles();
    }
    if (report_.is_empty()) {
      for_each_type([&](std::uint32_t id, const BtfRecord& record) { check(id, record); });
    }
  }

 private:
  enum class State : std::uint8_t { kNew, kOpen, kDone };

  [[nodiscard]] bool is_own(std::uint32_t id) const { return id >= image_.first_id(); }
  State& state_of(std::uint32_t id) { return states_[id - image_.first_id()]; }
  void forget_states() { states_.assign(image_.end_id() - image_.first_id(), State::kNew); }

  [[nodiscard]] std::uint32_t find_pointer_size() const;
  void check_chain(std::uint32_t id, const BtfRecord& record);
  void find_pointer_cycles();
  void find_value_cycles();
  void open_value(std::uint32_t id);

  [[nodiscard]] std::uint32_t behind_modifiers(std::uint32_t id) const;
  [[nodiscard]] std::optional<std::uint64_t> size_of(std::uint32_t id) const;
  [[nodiscard]] bool is_regular_int(const BtfRecord& record) const;

  void check(std::uint32_t id, const BtfRecord& record);
  void check_target(std::uint32_t id, std::uint32_t target);
  void check_array(std::uint32_t id, const BtfRecord& record);
  void check_member(std::uint32_t id, const BtfRecord& record, std::uint32_t i);
  [[nodiscard]] const char* misplaced(const BtfRecord& record, const BtfMember& member) const;
  [[nodiscard]] const char* misplaced_int(const BtfRecord& record, const BtfMember& member,
                                          const BtfRecord& type) const;
  void check_prototype(std::uint32_t id, const BtfRecord& record);
  void check_function(std::uint32_t id, const BtfRecord& record);
  void check_section(std::uint32_t id, const BtfRecord& record);
  void check_decl_tag(std::uint32_t id, const BtfRecord& record);

  const BtfImage& image_;
  ViolationReport& report_;
  std::uint32_t pointer_size_;
  std::vector<State> states_;  // by own type, of one search
  struct Step {
    std::uint32_t id = 0;
    std::uint32_t next = 0;  // member to look at
  };
  std::vector<Step> path_;
};

// As libbpf does it: the size of `long`. Without one, the smallest that there is, so that nothing
// sound is refused.
std::uint32_t ReferenceChecker::find_pointer_size() const {
  for (std::uint32_t id = 1; id < image_.end_id(); ++id) {
    const BtfRecord record = image_.record(id);
    if (record.kind == BtfKind::kInt) {
      const char* name = image_.text(record.name);
      const bool may_be = record.size_or_type == 4 || record.size_or_type == 8;
      if (!may_be) {
        continue;
      }
      if (std::strcmp(name, "long int") == 0 || std::strcmp(name, "long unsigned int") == 0 ||
          std::strcmp(name, "long") == 0 || std::strcmp(name, "unsigned long") == 0) {
        return record.size_or_type;
      }
    }
  }
  return 4;
}

// Tags stand in front of typedefs and qualifiers, and there are not too many of all.
void ReferenceChecker::check_chain(std::uint32_t id, const BtfRecord& record) {
  if (!is_modifier(record.kind)) {
    return;
  }
  bool in_tags = record.kind == BtfKind::kTypeTag;
  BtfRecord at = record;
  for (unsigned count = 0; is_modifier(at.kind); ++count) {
    if (count == kMaxModifiers) {
      report_.add(id,
                  "is more than 32 typedefs, qualifiers and tags in a row, or goes in a circle");
      return;
    }
    if (at.kind != BtfKind::kTypeTag) {
      in_tags = false;
    } else if (!in_tags) {
      report_.add(id, "has a type tag behind a typedef or qualifier");
      return;
    }
    at = image_.record(at.size_or_type);
  }
}

// Pointers and modifiers that lead to each other and nowhere else.
void ReferenceChecker::find_pointer_cycles() {
  forget_states();
  for (std::uint32_t start = image_.first_id(); start < image_.end_id(); ++start) {
    const auto walk = [&](State from, State to) {
      std::uint32_t id = start;
      while (is_own(id) && state_of(id) == from) {
        const BtfRecord record = image_.record(id);
        if (record.kind != BtfKind::kPtr && !is_modifier(record.kind)) {
          break;
        }
        state_of(id) = to;
        id = record.size_or_type;
      }
      return id;
    };
    const std::uint32_t end = walk(State::kNew, State::kOpen);
    if (is_own(end) && state_of(end) == State::kOpen) {
      report_.add(end, "leads back to itself through pointers only");
    }
    walk(State::kOpen, State::kDone);
  }
}

void ReferenceChecker::open_value(std::uint32_t id) {
  if (!is_own(id) || state_of(id) == State::kDone) {
    return;
  }
  const BtfKind kind = image_.record(id).kind;
  if (kind != BtfKind::kArray && !is_struct_or_union(kind) && !is_modifier(kind)) {
    return;
  }
  if (state_of(id) == State::kOpen) {
    report_.add(id, "holds itself");
    return;
  }
  state_of(id) = State::kOpen;
  path_.push_back({.id = id, .next = 0});
}

// Structs and arrays that hold each other. Depth first, with a stack of our own.
void ReferenceChecker::find_value_cycles() {
  forget_states();
  for (std::uint32_t start = image_.first_id(); start < image_.end_id(); ++start) {
    if (state_of(start) == State::kNew) {
      open_value(start);
    }
    while (!path_.empty()) {
      Step& step = path_.back();
      const BtfRecord record = image_.record(step.id);
      const std::uint32_t i = step.next++;
      if (is_struct_or_union(record.kind) && i < record.count) {
        open_value(image_.member(record, i).type);
      } else if (!is_struct_or_union(record.kind) && i == 0) {
        open_value(record.kind == BtfKind::kArray ? image_.array(record).element
                                                  : record.size_or_type);
      } else {
        state_of(step.id) = State::kDone;
        path_.pop_back();
      }
    }
  }
}

std::uint32_t ReferenceChecker::behind_modifiers(std::uint32_t id) const {
  BtfRecord record = image_.record(id);
  while (is_modifier(record.kind)) {
    id = record.size_or_type;
    record = image_.record(id);
  }
  return id;
}

// Bytes of a value; nothing for what has no size.
std::optional<std::uint64_t> ReferenceChecker::size_of(std::uint32_t id) const {
  std::uint64_t elements = 1;
  while (true) {
    const BtfRecord record = image_.record(behind_modifiers(id));
    switch (record.kind) {
      case BtfKind::kInt:
      case BtfKind::kFloat:
      case BtfKind::kStruct:
      case BtfKind::kUnion:
      case BtfKind::kEnum:
      case BtfKind::kEnum64:
        return elements * record.size_or_type;
      case BtfKind::kPtr:
        return elements * pointer_size_;
      case BtfKind::kArray: {
        const BtfArray array = image_.array(record);
        elements *= array.count;
        if (elements > UINT32_MAX) {
          return std::nullopt;
        }
        id = array.element;
        break;
      }
      default:
        return std::nullopt;
    }
  }
}

bool ReferenceChecker::is_regular_int(const BtfRecord& record) const {
  const std::uint32_t place =
      record.kind == BtfKind::kInt ? image_.extra_word(record) & 0xff00ff : 0;
  // Bits and offset alone, as btf_type_int_is_regular() does it; the size may be larger.
  return place == 8 || place == 16 || place == 32 || place == 64 || place == 128;
}

// Of pointers and modifiers. The kernel lets a function pass for its prototype if its number is the
// lower one, which nobody can mean.
void ReferenceChecker::check_target(std::uint32_t id, std::uint32_t target) {
  const BtfKind kind = image_.record(behind_modifiers(target)).kind;
  if (is_declaration(image_.record(target).kind) || is_declaration(kind)) {
    report_.add(id, "refers to a variable, section or declaration tag");
  } else if (kind == BtfKind::kFunc) {
    report_.add(id, "refers to a function instead of its prototype");
  }
}

void ReferenceChecker::check_array(std::uint32_t id, const BtfRecord& record) {
  const BtfArray array = image_.array(record);
  if (!is_regular_int(image_.record(behind_modifiers(array.index)))) {
    report_.add(id, "has an index that is no plain integer");
  }
  const BtfRecord element = image_.record(behind_modifiers(array.element));
  const std::optional<std::uint64_t> size = size_of(array.element);
  if (!size) {
    report_.add(id, "has elements without a size");
  } else if (element.kind == BtfKind::kInt && !is_regular_int(element)) {
    report_.add(id, "has integers for elements that do not fill their bytes");
  } else if (array.count != 0 && *size > UINT32_MAX / array.count) {
    report_.add(id, "is larger than 4 GiB");
  }
}

// What is wrong with the place of an integer; null if nothing is.
const char* ReferenceChecker::misplaced_int(const BtfRecord& record, const BtfMember& member,
                                            const BtfRecord& type) const {
  const std::uint32_t word = image_.extra_word(type);
  std::uint64_t offset = member_bit_offset(record, member);
  std::uint32_t bits = word & 0xff;
  if (record.kind_flag) {
    if (!is_regular_int(type)) {
      return "is an integer that does not fill its bytes";
    }
    const std::uint32_t bitfield = member_bitfield_size(record, member);
    if (bitfield == 0 && offset % 8 != 0) {
      return "is no bitfield and not at a whole byte";
    }
    if (bitfield > bits) {
      return "has more bits than its type";
    }
    bits = bitfield != 0 ? bitfield : bits;
  } else {
    offset += word >> 16 & 0xff;
  }
  const std::uint64_t copied = bits + offset % 8;
  if (copied > kMaxBitfield) {
    return "lies over more than 128 bits";
  }
  return offset / 8 + (copied + 7) / 8 > record.size_or_type ? "ends behind the struct" : nullptr;
}

const char* ReferenceChecker::misplaced(const BtfRecord& record, const BtfMember& member) const {
  const std::uint32_t type_id = behind_modifiers(member.type);
  const BtfRecord type = image_.record(type_id);
  const std::optional<std::uint64_t> size = size_of(type_id);
  if (!size || is_declaration(image_.record(member.type).kind)) {
    return "has a type without a size";
  }
  if (type.kind == BtfKind::kInt) {
    return misplaced_int(record, member, type);
  }
  const std::uint64_t offset = member_bit_offset(record, member);
  const std::uint32_t bitfield = member_bitfield_size(record, member);
  if (bitfield != 0) {
    if (type.kind != BtfKind::kEnum && type.kind != BtfKind::kEnum64) {
      return "is a bitfield of a type that has none";
    }
    if (bitfield > 32) {
      return "has more bits than its type";
    }
    return offset / 8 + (bitfield + offset % 8 + 7) / 8 > record.size_or_type
               ? "ends behind the struct"
               : nullptr;
  }
  if (offset % 8 != 0) {
    return "is not at a whole byte";
  }
  if (type.kind == BtfKind::kFloat &&
      offset / 8 % std::min<std::uint64_t>(pointer_size_, type.size_or_type) != 0) {
    return "is a float that is not aligned";
  }
  // btf_enum_check_kflag_member() takes every enumeration for 32 bits wide.
  const std::uint64_t checked_size =
      record.kind_flag && type.kind == BtfKind::kEnum64 ? sizeof(std::int32_t) : *size;
  return offset / 8 + checked_size > record.size_or_type ? "ends behind the struct" : nullptr;
}

void ReferenceChecker::check_member(std::uint32_t id, const BtfRecord& record, std::uint32_t i) {
  const BtfMember member = image_.member(record, i);
  if (const char* wrong = misplaced(record, member)) {
    report_.add(id, part_text(image_, "member", member.name, i) + " " + wrong);
  }
}

void ReferenceChecker::check_prototype(std::uint32_t id, const BtfRecord& record) {
  if (record.size_or_type != 0 && !size_of(record.size_or_type)) {
    report_.add(id, "returns a type without a size");
  }
  for (std::uint32_t i = 0; i < record.count; ++i) {
    const BtfMember parameter = image_.parameter(record, i);
    if (parameter.type != 0 && !size_of(parameter.type)) {
      report_.add(id,
                  part_text(image_, "parameter", parameter.name, i) + " has a type without a size");
    }
  }
}

void ReferenceChecker::check_function(std::uint32_t id, const BtfRecord& record) {
  const BtfRecord prototype = image_.record(record.size_or_type);
  if (prototype.kind != BtfKind::kFuncProto) {
    report_.add(id, "has no prototype but something else");
    return;
  }
  for (std::uint32_t i = 0; i < prototype.count; ++i) {
    const BtfMember parameter = image_.parameter(prototype, i);
    if (parameter.name == 0 && parameter.type != 0) {
      report_.add(id, "has a parameter without a name");
      return;
    }
  }
}

void ReferenceChecker::check_section(std::uint32_t id, const BtfRecord& record) {
  for (std::uint32_t i = 0; i < record.count; ++i) {
    const BtfSectionEntry entry = image_.section_entry(record, i);
    const BtfRecord variable = image_.record(entry.type);
    if (variable.kind != BtfKind::kVar) {
      report_.add(id, part_text(image_, "variable", 0, i) + " is no variable");
    } else if (size_of(variable.size_or_type).value_or(0) > entry.size) {
      report_.add(id, part_text(image_, "variable", variable.name, i) +
                          " has less room than its type takes");
    }
  }
}

void ReferenceChecker::check_decl_tag(std::uint32_t id, const BtfRecord& record) {
  const BtfRecord target = image_.record(record.size_or_type);
  const auto component = static_cast<std::int32_t>(image_.extra_word(record));
  std::uint32_t components = 0;
  switch (target.kind) {
    case BtfKind::kStruct:
    case BtfKind::kUnion:
      components = target.count;
      break;
    case BtfKind::kFunc:
      components = image_.record(target.size_or_type).count;
      break;
    case BtfKind::kVar:
    case BtfKind::kTypedef:
      break;
    default:
      report_.add(id, "is of something that has no declaration");
      return;
  }
  if (component >= 0 && static_cast<std::uint32_t>(component) >= components) {
    report_.add(id, "is of member or parameter " + std::to_string(component) + ", of " +
                        std::to_string(components));
  }
}

void ReferenceChecker::check(std::uint32_t id, const BtfRecord& record) {
  switch (record.kind) {
    case BtfKind::kPtr:
    case BtfKind::kTypedef:
    case BtfKind::kVolatile:
    case BtfKind::kConst:
    case BtfKind::kRestrict:
    case BtfKind::kTypeTag:
      return check_target(id, record.size_or_type);
    case BtfKind::kArray:
      return check_array(id, record);
    case BtfKind::kStruct:
    case BtfKind::kUnion:
      for (std::uint32_t i = 0; i < record.count && !report_.is_full(); ++i) {
        check_member(id, record, i);
      }
      return;
    case BtfKind::kFuncProto:
      return check_prototype(id, record);
    case BtfKind::kFunc:
      return check_function(id, record);
    case BtfKind::kVar:
      if (!size_of(record.size_or_type)) {
        report_.add(id, "has a type without a size");
      }
      return;
    case BtfKind::kDatasec:
      return check_section(id, record);
    case BtfKind::kDeclTag:
      return check_decl_tag(id, record);
    case BtfKind::kVoid:
    case BtfKind::kInt:
    case BtfKind::kEnum:
    case BtfKind::kEnum64:
    case BtfKind::kFwd:
    case BtfKind::kFloat:
      return;
  }
}

}  // namespace

void check_references(const BtfImage& image, std::uint32_t pointer_size, ViolationReport& report) {
  ReferenceChecker(image, pointer_size, report).run();
}

}  // namespace btfloom
