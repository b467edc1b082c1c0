// Variables: which of them get a VAR, and where they lie.
#include <string_view>

#include "dwarf/constants.h"
#include "dwarf/location.h"
#include "load/for_each_child.h"
#include "load/load_unit_internal.h"

namespace btfloom {

namespace {

// What the kernel's macros generate; not variables that anybody declared.
bool is_generated_name(std::string_view name) {
  for (const std::string_view prefix :
       {"__UNIQUE_ID", "__tpstrtab_", "__exitcall_", "__gendwarfksyms_ptr_",
        "__func_stack_frame_non_standard_"}) {
    if (name.starts_with(prefix)) {
      return true;
    }
  }
  return false;
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.';
}

// The kernel's rule for names of variables (kernel/bpf/btf.c, btf_name_valid_section).
bool is_valid_name(std::string_view name) {
  if (name.empty() || name.size() > 128 || !is_letter(name[0])) {
    return false;
  }
  for (const char c : name) {
    if (!is_letter(c) && (c < '0' || c > '9')) {
      return false;
    }
  }
  return true;
}

}  // namespace

void UnitLoader::load_variable(Scope scope) {
  const bool is_top_level = scope == Scope::kUnit;
  const bool is_declaration = die_.flag(Attribute::kDeclaration);
  // Only what lies directly in the unit is encoded; a declaration elsewhere may be what it
  // completes.
  if (context_.sections == nullptr || (scope == Scope::kFunction && !is_declaration)) {
    return skip_children();
  }
  LoadedVariable variable{.name = die_.name(),
                          .type = reference_of(Attribute::kType),
                          .specification = reference_of(Attribute::kSpecification),
                          .die = relative(die_.offset),
                          .location = {},
                          .has_location = die_.has(Attribute::kLocation),
                          .is_declaration = is_declaration,
                          .is_external = die_.has(Attribute::kExternal),
                          .is_artificial = die_.has(Attribute::kArtificial),
                          .is_top_level = is_top_level};
  if (variable.has_location) {
    variable.location = die_[Attribute::kLocation];
  }
  scratch_.entries.set(scratch_.entries.add(variable.die), Entry::Kind::kVariable,
                       static_cast<std::uint32_t>(scratch_.variables.size()));
  const std::size_t mark = scratch_.tag_stack.size();
  load_tag_children(-1);
  variable.first_tag = static_cast<std::uint32_t>(fragment_.variable_tags.size());
  variable.tag_count = static_cast<std::uint32_t>(scratch_.tag_stack.size() - mark);
  fragment_.variable_tags.insert(fragment_.variable_tags.end(),
                                 scratch_.tag_stack.begin() + static_cast<std::ptrdiff_t>(mark),
                                 scratch_.tag_stack.end());
  scratch_.tag_stack.resize(mark);
  scratch_.variables.push_back(variable);
}

void UnitLoader::settle_variables() {
  for (const LoadedVariable& variable : scratch_.variables) {
    if (variable.is_top_level && variable.has_location && !variable.is_artificial) {
      settle_variable(variable);
    }
  }
}

namespace {

// The address in an expression that is DW_OP_addr or DW_OP_addrx, perhaps with DW_OP_plus_uconst
// behind it.
bool read_address(const Unit& unit, const Value& location, std::uint64_t& address) {
  if (location.form_class != FormClass::kBlock) {
    return false;
  }
  Reader reader(location.block(), unit.forms.sections->order);
  Operation operation;
  if (!next_operation(reader, unit.forms, operation)) {
    return false;
  }
  if (operation.code == DW_OP_addr) {
    address = operation.number;
  } else if (operation.code == DW_OP_addrx || operation.code == DW_OP_GNU_addr_index) {
    address = address_at_index(unit.forms, operation.number);
  } else {
    return false;
  }
  if (next_operation(reader, unit.forms, operation)) {
    if (operation.code != DW_OP_plus_uconst) {
      return false;
    }
    address += operation.number;
  }
  return reader.ok() && reader.at_end();
}

}  // namespace

void UnitLoader::settle_variable(const LoadedVariable& variable) {
  std::uint64_t address = 0;
  if (!read_address(unit_, variable.location, address)) {
    return;  // thread-local, in a register, optimized out
  }
  const auto place = context_.sections->find(context_.file, address);
  if (!place) {
    return;
  }
  const LoadedVariable* declared = &variable;
  if (variable.specification != kVoid) {
    const Entry entry = scratch_.entries.find(variable.specification);
    if (entry.kind() == Entry::Kind::kVariable) {
      declared = &scratch_.variables[entry.index];
    }
  }
  if (variable.is_declaration && declared == &variable) {
    return;
  }
  const std::string_view name = declared->name;
  if (name.empty() || is_generated_name(name) ||
      (place->offset == 0 && !context_.sections->has_object(place->section, name))) {
    return;
  }
  const TypeRef type = resolve(declared->type, variable.die);
  if (!is_encodable(variable, declared->name, type)) {
    return;
  }
  const std::uint64_t size = variable_size(type);
  if (size == 0 || size > 0xffffffff || place->offset > 0xffffffff) {
    return;
  }
  fragment_.variables.push_back({.name = declared->name,
                                 .type = type,
                                 .section = place->section,
                                 .offset = static_cast<std::uint32_t>(place->offset),
                                 .size = static_cast<std::uint32_t>(size),
                                 .is_external = declared->is_external,
                                 .first_tag = declared->first_tag,
                                 .tag_count = declared->tag_count});
}

bool UnitLoader::is_encodable(const LoadedVariable& variable, const char* name, TypeRef type) {
  if (!is_valid_name(name)) {
    if (!context_.skip_odd_variables) {
      degrade(variable.die, std::string("the variable's name '") + name +
                                "' is none that BTF may hold; left out");
    }
    return false;
  }
  if (type == kVoid) {
    if (!context_.skip_odd_variables) {
      degrade(variable.die, std::string("the variable ") + name + " has no type; left out");
    }
    return false;
  }
  return true;
}

}  // namespace btfloom
