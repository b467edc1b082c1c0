#include "btf/distill.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>

#include "btf/assemble.h"

namespace btfloom {

namespace {

bool has_name(const BtfImage& image, const BtfRecord& record) {
  return *image.text(record.name) != '\0';
}

bool is_struct(BtfKind kind) {
  return kind == BtfKind::kStruct || kind == BtfKind::kUnion;
}

bool is_enumeration(BtfKind kind) {
  return kind == BtfKind::kEnum || kind == BtfKind::kEnum64;
}

// Found again by its name, so its parts stay behind.
bool is_shell(const BtfImage& image, const BtfRecord& record) {
  return (is_struct(record.kind) || is_enumeration(record.kind)) && has_name(image, record);
}

bool is_whole_in_base(BtfKind kind) {
  return kind == BtfKind::kInt || kind == BtfKind::kFloat || kind == BtfKind::kFwd;
}

class Distillation {
 public:
  explicit Distillation(const BtfImage& split)
      : split_(split), base_(*split.base()), new_id_(split.end_id(), 0) {}

  Result<DistilledBtf> run() {
    find_needed();
    RecordCopier base(split_.order(), nullptr);
    for (std::uint32_t id = 1; id < split_.first_id(); ++id) {
      const BtfRecord record = base_.record(id);
      if (new_id_[id] == 0) {
        continue;
      }
      if (is_whole_in_base(record.kind)) {
        base.copy(base_, record, [](std::uint32_t) { return 0U; });
      } else if (is_shell(base_, record)) {
        base.copy_shell(base_, record, is_enumeration(record.kind) ? BtfKind::kEnum : record.kind);
      } else {
        moved_.push_back(id);
        continue;
      }
      new_id_[id] = base.count();
    }
    number_split(base.count());
    return DistilledBtf{.base = TRY(base.assemble()), .split = TRY(copy_split(base.strings()))};
  }

 private:
  // Marks what of the base the split types reach, members of named structs left out.
  void find_needed() {
    std::vector<std::uint32_t> pending;
    const auto need = [&](std::uint32_t id) {
      if (id != 0 && id < split_.first_id() && new_id_[id] == 0) {
        new_id_[id] = 1;  // its number comes later
        pending.push_back(id);
      }
    };
    for (std::uint32_t id = split_.first_id(); id < split_.end_id(); ++id) {
      for_each_btf_reference(split_, split_.record(id), need);
    }
    while (!pending.empty()) {
      const BtfRecord record = base_.record(pending.back());
      pending.pop_back();
      if (!is_shell(base_, record)) {
        for_each_btf_reference(base_, record, need);
      }
    }
  }

  void number_split(std::uint32_t base_count) {
    std::uint32_t next = base_count;
    for (std::uint32_t id = split_.first_id(); id < split_.end_id(); ++id) {
      new_id_[id] = ++next;
    }
    for (const std::uint32_t id : moved_) {
      new_id_[id] = ++next;
    }
  }

  [[nodiscard]] Result<std::vector<std::byte>> copy_split(Bytes base_strings) const {
    const std::vector<std::uint32_t> slots = StringIndex::build(base_strings);
    const StringIndex known(base_strings, slots);
    RecordCopier split(split_.order(), &known);
    const auto map = [&](std::uint32_t id) { return id < new_id_.size() ? new_id_[id] : 0; };
    for (std::uint32_t id = split_.first_id(); id < split_.end_id(); ++id) {
      split.copy(split_, split_.record(id), map);
    }
    for (const std::uint32_t id : moved_) {
      split.copy(split_, base_.record(id), map);
    }
    return split.assemble();
  }

  const BtfImage& split_;
  const BtfImage& base_;
  std::vector<std::uint32_t> new_id_;  // by old id; 0: not needed
  std::vector<std::uint32_t> moved_;   // ids of the base that become split types
};

// --- relocation

class Relocation {
 public:
  Relocation(const BtfImage& split, const BtfImage& base)
      : split_(split), distilled_(*split.base()), base_(base) {}

  Result<std::vector<std::byte>> run() {
    find_embedded();
    index_base();
    target_.assign(distilled_.end_id(), 0);
    for (std::uint32_t id = 1; id < distilled_.end_id(); ++id) {
      target_[id] = TRY(find(id));
    }
    const std::uint32_t shift = base_.end_id() - split_.first_id();
    const std::vector<std::uint32_t> slots = StringIndex::build(base_.strings());
    const StringIndex known(base_.strings(), slots);
    RecordCopier copier(split_.order(), &known);
    for (std::uint32_t id = split_.first_id(); id < split_.end_id(); ++id) {
      copier.copy(split_, split_.record(id), [&](std::uint32_t old) {
        return old < target_.size() ? target_[old] : old + shift;
      });
    }
    return copier.assemble();
  }

 private:
  // Types that the split BTF holds by value: their size matters.
  void find_embedded() {
    is_embedded_.assign(distilled_.end_id(), 0);
    for (std::uint32_t id = split_.first_id(); id < split_.end_id(); ++id) {
      const BtfRecord record = split_.record(id);
      if (is_struct(record.kind)) {
        for (std::uint32_t i = 0; i < record.count; ++i) {
          mark_value(split_.member(record, i).type);
        }
      }
    }
  }

  // Through whatever does not change the size.
  void mark_value(std::uint32_t id) {
    for (std::uint32_t steps = 0; id != 0 && split_.has(id) && steps < split_.end_id(); ++steps) {
      if (id < split_.first_id()) {
        is_embedded_[id] = 1;
        return;
      }
      const BtfRecord record = split_.record(id);
      if (record.kind == BtfKind::kArray) {
        id = split_.array(record).element;
      } else if (record.kind == BtfKind::kTypedef || record.kind == BtfKind::kConst ||
                 record.kind == BtfKind::kVolatile || record.kind == BtfKind::kRestrict ||
                 record.kind == BtfKind::kTypeTag) {
        id = record.size_or_type;
      } else {
        return;
      }
    }
  }

  void index_base() {
    for (std::uint32_t id = 1; id < base_.end_id(); ++id) {
      const BtfRecord record = base_.record(id);
      if ((is_struct(record.kind) || is_enumeration(record.kind) ||
           is_whole_in_base(record.kind)) &&
          has_name(base_, record)) {
        by_name_[base_.text(record.name)].push_back(id);
      }
    }
  }

  [[nodiscard]] bool fits(const BtfRecord& wanted, bool is_embedded, const BtfRecord& found) const {
    const bool same_size = wanted.size_or_type == found.size_or_type;
    switch (wanted.kind) {
      case BtfKind::kInt:
        return found.kind == BtfKind::kInt && same_size &&
               distilled_.extra_word(wanted) == base_.extra_word(found);
      case BtfKind::kFloat:
        return found.kind == BtfKind::kFloat && same_size;
      case BtfKind::kFwd:
        return found.kind == BtfKind::kFwd
                   ? found.kind_flag == wanted.kind_flag
                   : found.kind == (wanted.kind_flag ? BtfKind::kUnion : BtfKind::kStruct);
      case BtfKind::kEnum:
        return is_enumeration(found.kind) && same_size;
      default:
        if (found.kind == BtfKind::kFwd) {
          return !is_embedded && found.kind_flag == (wanted.kind == BtfKind::kUnion);
        }
        return found.kind == wanted.kind && (!is_embedded || same_size);
    }
  }

  // The type of the base that the distilled one stands for. Several may fit by name: then the one
  // of the same size is meant.
  Result<std::uint32_t> find(std::uint32_t id) {
    const BtfRecord wanted = distilled_.record(id);
    const char* name = distilled_.text(wanted.name);
    std::uint32_t first = 0;
    std::uint32_t of_same_size = 0;
    std::uint32_t fitting = 0;
    std::uint32_t fitting_in_size = 0;
    for (const std::uint32_t candidate : by_name_[name]) {
      const BtfRecord found = base_.record(candidate);
      if (!fits(wanted, is_embedded_[id] != 0, found)) {
        continue;
      }
      first = fitting++ == 0 ? candidate : first;
      if (found.size_or_type == wanted.size_or_type && found.kind != BtfKind::kFwd) {
        of_same_size = fitting_in_size++ == 0 ? candidate : of_same_size;
      }
    }
    const bool is_decided = fitting == 1 || fitting_in_size == 1 || is_whole_in_base(wanted.kind);
    if (first != 0 && is_decided) {
      return of_same_size != 0 ? of_same_size : first;
    }
    return Error{.kind = ErrorKind::kInput,
                 .text = std::string(btf_kind_name(wanted.kind)) + " '" + name +
                         (first == 0 ? "' is not in this base, or has another size there"
                                     : "' is in this base several times") +
                         "; build the module for this kernel"};
  }

  const BtfImage& split_;
  const BtfImage& distilled_;
  const BtfImage& base_;
  std::vector<std::uint8_t> is_embedded_;  // by id of the distilled base
  std::vector<std::uint32_t> target_;
  std::unordered_map<std::string_view, std::vector<std::uint32_t>> by_name_;
};

}  // namespace

Result<DistilledBtf> distill(const BtfImage& split) {
  return Distillation(split).run();
}

Result<std::vector<std::byte>> relocate(const BtfImage& split, const BtfImage& base) {
  return Relocation(split, base).run();
}

}  // namespace btfloom
