#include "btf/write.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "btf/assemble.h"
#include "btf/format.h"
#include "btf/record_keys.h"
#include "btf/strings.h"
#include "support/hash.h"

namespace btfloom {

namespace {

class Writer {
 public:
  explicit Writer(const WriteInput& input)
      : input_(input),
        graph_(input.graph),
        start_(input.base != nullptr ? input.base->end_id - 1 : 0),
        next_id_(start_),
        strings_(input.base != nullptr ? &input.base->strings : nullptr) {}

  Result<WrittenBtf> run() {
    number_types();
    write_types();
    if (input_.attributes && !input_.kfuncs.empty()) {
      note_pointers();
    }
    for (const ChosenFunction& chosen : input_.functions) {
      write_function(chosen);
    }
    TRY(write_datasecs());
    return assemble();
  }

 private:
  // --- numbers

  // A type that only stands for another has no number of its own; one of the base has it already.
  void number_types() {
    const std::size_t count = graph_.types.size();
    id_.resize(count);
    auto extra = graph_.extras.begin();
    for (std::uint32_t i = 0; i < count; ++i) {
      for (; extra != graph_.extras.end() && extra->types_before == i; ++extra) {
        count_extra(*extra);
      }
      if (graph_.base_id(i) != 0) {
        id_[i] = graph_.base_id(i);
      } else if (graph_.stands_for[i] == i) {
        id_[i] = ++next_id_;
      }
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      id_[i] = id_[graph_.stands_for[i]];
    }
    next_id_ = start_;
  }

  void count_extra(const Extra& extra) {
    if (extra.kind == Extra::Kind::kVariable) {
      next_id_ += 1 + graph_.variables[extra.index].tag_count;
    } else if (!is_tag_of_base(graph_.type_tags[extra.index])) {
      ++next_id_;
    }
  }

  // A declaration tag that the base has at the same type.
  bool is_tag_of_base(const DeclTag& tag) {
    const std::uint32_t target = graph_.base_id(graph_.stands_for[tag.target]);
    return target != 0 &&
           find_in_base(key_.decl_tag(strings_.add(tag.value), target,
                                      static_cast<std::uint32_t>(tag.component))) != 0;
  }

  // The number of a record that the base has, 0 if it has none.
  [[nodiscard]] std::uint32_t find_in_base(const RecordKey& key) const {
    if (input_.base == nullptr) {
      return 0;
    }
    const FrozenMap::Entry entry = input_.base->known.find(key.hash());
    return entry.exists() ? entry.value : 0;
  }

  [[nodiscard]] std::uint32_t id(TypeRef type) const { return type == kVoid ? 0 : id_[type]; }

  // --- records

  void put(std::uint32_t word) {
    const std::size_t at = types_.size();
    types_.resize(at + sizeof word);
    store(types_.data() + at, word, input_.order);
  }

  std::uint32_t put_header(const char* name, BtfKind kind, std::uint32_t count, bool kind_flag,
                           std::uint32_t size_or_type) {
    return put_header(strings_.add(name), kind, count, kind_flag, size_or_type);
  }
  std::uint32_t put_header(std::uint32_t name, BtfKind kind, std::uint32_t count, bool kind_flag,
                           std::uint32_t size_or_type) {
    put(name);
    put(btf_info(kind, count, kind_flag));
    put(size_or_type);
    return ++next_id_;
  }

  void write_types() {
    types_.reserve(graph_.types.size() * 24 + graph_.members.size() * 12);
    auto extra = graph_.extras.begin();
    for (std::uint32_t i = 0; i < graph_.types.size(); ++i) {
      for (; extra != graph_.extras.end() && extra->types_before == i; ++extra) {
        write_extra(*extra);
      }
      if (graph_.stands_for[i] == i && graph_.base_id(i) == 0) {
        write_type(graph_.types[i]);
      }
    }
    for (; extra != graph_.extras.end(); ++extra) {
      write_extra(*extra);
    }
  }

  void write_type(const Type& type) {
    switch (type.kind) {
      case Kind::kInt:
        put_header(type.name, BtfKind::kInt, 0, false, type.size);
        put(std::uint32_t{type.flags} << 24 | type.size * 8);
        break;
      case Kind::kFloat:
        put_header(type.name, BtfKind::kFloat, 0, false, type.size);
        break;
      case Kind::kPointer:
        put_header(type.name, BtfKind::kPtr, 0, false, id(type.target));
        break;
      case Kind::kConst:
        put_header(type.name, BtfKind::kConst, 0, false, id(type.target));
        break;
      case Kind::kVolatile:
        put_header(type.name, BtfKind::kVolatile, 0, false, id(type.target));
        break;
      case Kind::kRestrict:
        put_header(type.name, BtfKind::kRestrict, 0, false, id(type.target));
        break;
      case Kind::kTypedef:
        put_header(type.name, BtfKind::kTypedef, 0, false, id(type.target));
        break;
      case Kind::kTypeTag:
        put_header(type.name, BtfKind::kTypeTag, 0, type.flags != 0, id(type.target));
        break;
      case Kind::kForward:
        put_header(type.name, BtfKind::kFwd, 0, type.flags == kOfUnion, 0);
        break;
      case Kind::kArray:
        put_header(type.name, BtfKind::kArray, 0, false, 0);
        put(id(type.target));
        put(id(graph_.int_type));
        put(type.size);
        break;
      case Kind::kStruct:
      case Kind::kUnion:
        write_members(type);
        break;
      case Kind::kEnum:
      case Kind::kEnum64:
        write_enumerators(type);
        break;
      case Kind::kFunctionProto:
        write_prototype_type(type);
        break;
      case Kind::kAlias:
        break;
    }
  }

  void write_prototype_type(const Type& type) {
    const Prototype& prototype = gather(type.target, type.first, type.count);
    prototypes_.emplace(key_of(prototype).hash(), write_prototype(prototype));
  }

  void write_members(const Type& type) {
    const bool has_bitfields = (type.flags & kHasBitfields) != 0;
    put_header(type.name, type.kind == Kind::kStruct ? BtfKind::kStruct : BtfKind::kUnion,
               type.count, has_bitfields, type.size);
    for (std::uint32_t i = 0; i < type.count; ++i) {
      const Member& member = graph_.members[type.first + i];
      put(strings_.add(member.name));
      put(id(member.type));
      put(has_bitfields ? member.bitfield_size << 24 | member.bit_offset : member.bit_offset);
    }
  }

  void write_enumerators(const Type& type) {
    const bool is_wide = type.kind == Kind::kEnum64;
    put_header(type.name, is_wide ? BtfKind::kEnum64 : BtfKind::kEnum, type.count,
               type.flags == kSignedValues, type.size);
    for (std::uint32_t i = 0; i < type.count; ++i) {
      const Enumerator& enumerator = graph_.enumerators[type.first + i];
      const auto value = static_cast<std::uint64_t>(enumerator.value);
      put(strings_.add(enumerator.name));
      put(static_cast<std::uint32_t>(value));
      if (is_wide) {
        put(static_cast<std::uint32_t>(value >> 32));
      }
    }
  }

  // A prototype with references and names as they stand in its record.
  struct Prototype {
    std::uint32_t result = 0;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> parameters;  // name, type
  };

  Prototype& gather(TypeRef result, std::uint32_t first, std::uint32_t count) {
    prototype_.result = id(result);
    prototype_.parameters.clear();
    for (std::uint32_t i = 0; i < count; ++i) {
      const Parameter& parameter = graph_.parameters[first + i];
      prototype_.parameters.emplace_back(strings_.add(parameter.name), id(parameter.type));
    }
    return prototype_;
  }

  const RecordKey& key_of(const Prototype& prototype) {
    key_.prototype(prototype.result);
    for (const auto& [name, type] : prototype.parameters) {
      key_.parameter(name, type);
    }
    return key_;
  }

  std::uint32_t write_prototype(const Prototype& prototype) {
    const auto count = static_cast<std::uint32_t>(prototype.parameters.size());
    const std::uint32_t own_id =
        put_header("", BtfKind::kFuncProto, count, false, prototype.result);
    for (const auto& [name, type] : prototype.parameters) {
      put(name);
      put(type);
    }
    return own_id;
  }

  void write_decl_tag(const char* value, std::uint32_t target, std::int32_t component) {
    put_header(value, BtfKind::kDeclTag, 0, false, target);
    put(static_cast<std::uint32_t>(component));
  }

  void write_extra(const Extra& extra) {
    if (extra.kind == Extra::Kind::kTypeTag) {
      const DeclTag& tag = graph_.type_tags[extra.index];
      if (!is_tag_of_base(tag)) {
        write_decl_tag(tag.value, id(tag.target), tag.component);
      }
      return;
    }
    const Variable& variable = graph_.variables[extra.index];
    const std::uint32_t own_id =
        put_header(variable.name, BtfKind::kVar, 0, false, id(variable.type));
    put(variable.is_external ? 1 : 0);  // BTF_VAR_GLOBAL_ALLOCATED, BTF_VAR_STATIC
    for (std::uint32_t i = 0; i < variable.tag_count; ++i) {
      const DeclTag& tag = graph_.variable_tags[variable.first_tag + i];
      write_decl_tag(tag.value, own_id, tag.component);
    }
    variables_.push_back({variable.section, variable.offset, variable.size, own_id});
  }

  // --- functions

  void write_function(const ChosenFunction& chosen) {
    const std::uint32_t prototype = prototype_of(chosen);
    const std::uint32_t name = strings_.add(chosen.name);
    // Two files may hold the same function; functions come sorted by name.
    if (name != last_name_) {
      funcs_of_name_.clear();
      last_name_ = name;
    }
    if (std::find(funcs_of_name_.begin(), funcs_of_name_.end(), prototype) !=
        funcs_of_name_.end()) {
      return;
    }
    funcs_of_name_.push_back(prototype);
    std::uint32_t own_id = find_in_base(key_.function(name, prototype));
    if (own_id == 0) {
      own_id = put_header(name, BtfKind::kFunc, 0, false, prototype);
      ++function_count_;
    }
    write_function_tags(chosen, own_id);
  }

  // The number of its prototype, which is written if it is new.
  std::uint32_t prototype_of(const ChosenFunction& chosen) {
    const Function& function = graph_.functions[chosen.function];
    Prototype& prototype =
        gather(function.return_type, function.first_parameter, function.parameter_count);
    if (input_.attributes) {
      tag_arena_pointers(kfunc_flags(chosen), prototype);
    }
    const RecordKey& key = key_of(prototype);
    if (const std::uint32_t in_base = find_in_base(key); in_base != 0) {
      return in_base;
    }
    const auto [known, is_new] = prototypes_.emplace(key.hash(), 0);
    if (is_new) {
      known->second = write_prototype(prototype);
    }
    return known->second;
  }

  // What the kernel's sets say of the function; a variant is no kfunc.
  [[nodiscard]] std::optional<std::uint32_t> kfunc_flags(const ChosenFunction& chosen) const {
    const auto kfunc = input_.kfuncs.find(graph_.functions[chosen.function].symbol);
    if (kfunc == input_.kfuncs.end() || chosen.is_variant) {
      return std::nullopt;
    }
    return kfunc->second;
  }

  void tag_arena_pointers(std::optional<std::uint32_t> flags, Prototype& prototype) {
    if (!flags) {
      return;
    }
    if ((*flags & kKfuncArenaReturn) != 0) {
      prototype.result = arena_pointer(prototype.result);
    }
    for (std::size_t i = 0; i < 2 && i < prototype.parameters.size(); ++i) {
      if ((*flags & kKfuncArenaFirst << i) != 0) {
        prototype.parameters[i].second = arena_pointer(prototype.parameters[i].second);
      }
    }
  }

  // The pointer `type` as one into an arena; what is no pointer stays as it is.
  std::uint32_t arena_pointer(std::uint32_t type) {
    const auto pointer = pointee_.find(type);
    if (pointer == pointee_.end()) {
      return type;
    }
    std::uint32_t& made = arena_pointers_[pointer->second];
    if (made == 0) {
      made = find_in_base(key_.arena_pointer(pointer->second));
    }
    if (made == 0) {
      const std::uint32_t tag = put_header(kArenaTag, BtfKind::kTypeTag, 0, true, pointer->second);
      made = put_header("", BtfKind::kPtr, 0, false, tag);
    }
    return made;
  }

  // Which pointers there are, for arena_pointer().
  void note_pointers() {
    for (TypeRef i = 0; i < graph_.types.size(); ++i) {
      if (graph_.types[i].kind == Kind::kPointer) {
        pointee_.emplace(id(i), id(graph_.types[i].target));
      }
    }
  }

  void write_function_tags(const ChosenFunction& chosen, std::uint32_t own_id) {
    const Function& function = graph_.functions[chosen.function];
    std::vector<DeclTag> tags(
        graph_.function_tags.begin() + function.first_tag,
        graph_.function_tags.begin() + function.first_tag + function.tag_count);
    const std::optional<std::uint32_t> flags = kfunc_flags(chosen);
    if (flags && input_.decl_tags) {
      tags.push_back({.value = "bpf_kfunc"});
      if ((*flags & kKfuncFast) != 0) {
        tags.push_back({.value = "bpf_fastcall"});
      }
    }
    for (std::size_t i = 0; i < tags.size(); ++i) {
      const bool is_known = std::any_of(tags.begin(), tags.begin() + static_cast<std::ptrdiff_t>(i),
                                        [&](const DeclTag& other) {
                                          return other.component == tags[i].component &&
                                                 std::string_view(other.value) == tags[i].value;
                                        });
      if (!is_known &&
          find_in_base(key_.decl_tag(strings_.add(tags[i].value), own_id,
                                     static_cast<std::uint32_t>(tags[i].component))) == 0) {
        write_decl_tag(tags[i].value, own_id, tags[i].component);
      }
    }
  }

  // --- sections of variables

  Result<> write_datasecs() {
    std::stable_sort(variables_.begin(), variables_.end(),
                     [](const WrittenVariable& a, const WrittenVariable& b) {
                       return a.section != b.section ? a.section < b.section : a.offset < b.offset;
                     });
    for (std::size_t first = 0; first < variables_.size();) {
      std::size_t last = first + 1;
      while (last < variables_.size() && variables_[last].section == variables_[first].section) {
        ++last;
      }
      const VariableSection& section = input_.sections[variables_[first].section];
      if (last - first > kBtfMaxCount) {
        return Error{.kind = ErrorKind::kInput,
                     .text = "section " + std::string(section.name) +
                             " holds more than 65,535 variables, more than a DATASEC can list; "
                             "encode without the features var and global_var"};
      }
      const std::uint32_t size = variables_[last - 1].offset + variables_[last - 1].size;
      put_header(strings_.add(section.name), BtfKind::kDatasec,
                 static_cast<std::uint32_t>(last - first), false, size);
      for (; first < last; ++first) {
        put(variables_[first].id);
        put(variables_[first].offset);
        put(variables_[first].size);
      }
    }
    return {};
  }

  // --- the whole

  Result<WrittenBtf> assemble() {
    const std::vector<std::byte> layout =
        input_.layout ? btf_layout(input_.order) : std::vector<std::byte>();
    return WrittenBtf{.bytes = TRY(assemble_btf(types_, layout, strings_.bytes(), input_.order)),
                      .types = next_id_ - start_,
                      .functions = function_count_,
                      .variables = static_cast<std::uint32_t>(variables_.size())};
  }

  struct WrittenVariable {
    std::uint32_t section;
    std::uint32_t offset;
    std::uint32_t size;
    std::uint32_t id;
  };
  const WriteInput& input_;
  const Graph& graph_;
  std::vector<std::uint32_t> id_;
  std::uint32_t start_;  // the last number of the base
  std::uint32_t next_id_;
  std::vector<std::byte> types_;
  StringSection strings_;
  RecordKey key_;
  Prototype prototype_;
  std::unordered_map<std::uint32_t, std::uint32_t> pointee_;         // of pointers
  std::unordered_map<std::uint32_t, std::uint32_t> arena_pointers_;  // by pointee
  std::unordered_map<Hash128, std::uint32_t, HashOfHash128> prototypes_;
  std::vector<WrittenVariable> variables_;
  std::vector<std::uint32_t> funcs_of_name_;  // their prototypes
  std::uint32_t last_name_ = 0;
  std::uint32_t function_count_ = 0;
};

}  // namespace

Result<WrittenBtf> write_btf(const WriteInput& input) {
  return Writer(input).run();
}

void pad_btf(WrittenBtf& btf, std::size_t size, ByteOrder order) {
  std::byte* string_size = btf.bytes.data() + kBtfStringSizeAt;
  const std::size_t added = size - btf.bytes.size();
  const std::size_t strings = load<std::uint32_t>(string_size, order) + added;
  store(string_size, static_cast<std::uint32_t>(strings), order);
  btf.bytes.resize(size);
}

}  // namespace btfloom
