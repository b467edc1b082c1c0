// Functions: names, parameters, and whether a function takes them where its prototype says.
//
// A function appears in DWARF as an abstract instance (DW_AT_inline: name, types), as concrete
// instances (DW_AT_low_pc, locations, DW_AT_abstract_origin), or as both in one. A tracer reads
// arguments from the registers that the ABI gives them, by the prototype; the compiler may have
// dropped, moved or replaced parameters of a static function. What this file finds out about that
// goes into flags; btf/functions.h decides with them.
#include <algorithm>

#include "dwarf/constants.h"
#include "dwarf/location.h"
#include "load/for_each_child.h"
#include "load/load_unit_internal.h"

namespace btfloom {

void UnitLoader::load_function() {
  LoadedFunction function{
      .name = die_.name(),
      .type = reference_of(Attribute::kType),
      .origin = reference_of(Attribute::kAbstractOrigin),
      .specification = reference_of(Attribute::kSpecification),
      .die = relative(die_.offset),
      .is_declaration = die_.has(Attribute::kDeclaration),
      .is_inline = die_.has(Attribute::kInline),
      .is_nocall = die_.constant(Attribute::kCallingConvention) == DW_CC_nocall};
  if (die_.has(Attribute::kLowPc)) {
    const Value& low_pc = die_[Attribute::kLowPc];
    function.address = low_pc.form_class == FormClass::kAddressIndex
                           ? address_at_index(unit_.forms, low_pc.number)
                           : low_pc.number;
  }
  const DieRef chain = reference_of(Attribute::kAnnotation);
  const std::size_t place = scratch_.entries.add(function.die);
  const std::size_t parameter_mark = scratch_.function_parameter_stack.size();
  const std::size_t tag_mark = scratch_.tag_stack.size();
  if (die_.has_children) {
    std::uint32_t position = 0;
    for_each_child([&] {
      if (die_.tag == DW_TAG_formal_parameter) {
        load_function_parameter(position++);
      } else if (die_.tag == DW_TAG_unspecified_parameters) {
        function.is_variadic = true;
        skip_children();
      } else if (die_.tag == kTagLlvmAnnotation || die_.tag == kTagGnuAnnotation) {
        load_decl_tag(-1);
      } else {
        load_die(Scope::kFunction);
      }
    });
  }
  load_gnu_decl_tags(chain, -1);
  finish_function(place, parameter_mark, tag_mark, function);
}

void UnitLoader::load_function_parameter(std::uint32_t position) {
  PlacedParameter placed;
  placed.place = scratch_.entries.add(relative(die_.offset));
  LoadedParameter& parameter = placed.parameter;
  parameter.name = die_.name();
  parameter.type = reference_of(Attribute::kType);
  parameter.origin = reference_of(Attribute::kAbstractOrigin);
  parameter.position = position;
  parameter.has_constant = die_.has(Attribute::kConstValue);
  parameter.has_location = die_.has(Attribute::kLocation);
  if (parameter.has_location) {
    parameter.location = die_[Attribute::kLocation];
  }
  load_tag_children(static_cast<std::int32_t>(position));
  scratch_.function_parameter_stack.push_back(placed);
}

// Gives the function and its parameters, which are on the stacks, their places.
void UnitLoader::finish_function(std::size_t place, std::size_t parameter_mark,
                                 std::size_t tag_mark, LoadedFunction& function) {
  const auto index = static_cast<std::uint32_t>(scratch_.functions.size());
  scratch_.entries.set(place, Entry::Kind::kFunction, index);
  function.first_parameter = static_cast<std::uint32_t>(scratch_.parameters.size());
  for (std::size_t i = parameter_mark; i < scratch_.function_parameter_stack.size(); ++i) {
    PlacedParameter& placed = scratch_.function_parameter_stack[i];
    placed.parameter.function = index;
    scratch_.entries.set(placed.place, Entry::Kind::kParameter,
                         static_cast<std::uint32_t>(scratch_.parameters.size()));
    scratch_.parameters.push_back(placed.parameter);
  }
  function.parameter_count =
      static_cast<std::uint32_t>(scratch_.parameters.size()) - function.first_parameter;
  scratch_.function_parameter_stack.resize(parameter_mark);
  function.first_tag = static_cast<std::uint32_t>(fragment_.function_tags.size());
  function.tag_count = static_cast<std::uint32_t>(scratch_.tag_stack.size() - tag_mark);
  fragment_.function_tags.insert(fragment_.function_tags.end(),
                                 scratch_.tag_stack.begin() + static_cast<std::ptrdiff_t>(tag_mark),
                                 scratch_.tag_stack.end());
  scratch_.tag_stack.resize(tag_mark);
  scratch_.functions.push_back(function);
}

// Pass 2: names first, then what concrete instances say about their abstract ones, then the
// judgement.
void UnitLoader::settle_functions() {
  if (context_.symbols == nullptr) {
    return;
  }
  for (LoadedFunction& function : scratch_.functions) {
    settle_name(function);
  }
  for (LoadedFunction& function : scratch_.functions) {
    if (function.symbol != FunctionSymbols::kNotFound) {
      settle_parameters(function);
    }
  }
  for (const LoadedFunction& function : scratch_.functions) {
    if (function.symbol != FunctionSymbols::kNotFound && !function.is_declaration) {
      emit_function(function);
    }
  }
}

const LoadedFunction* UnitLoader::origin_of(const LoadedFunction& function) const {
  const Entry entry = scratch_.entries.find(function.origin);
  return function.origin != kVoid && entry.kind() == Entry::Kind::kFunction
             ? &scratch_.functions[entry.index]
             : nullptr;
}

// DWARF 5 sections 3.3.8.1 and 2.13.2: a concrete instance takes its name from the abstract one, a
// definition outside of its class from the declaration.
void UnitLoader::settle_name(LoadedFunction& function) {
  const LoadedFunction* named = &function;
  for (unsigned step = 0; *named->name == '\0' && step < 8; ++step) {
    const DieRef link = named->origin != kVoid ? named->origin : named->specification;
    const Entry entry = scratch_.entries.find(link);
    if (link == kVoid || entry.kind() != Entry::Kind::kFunction) {
      return;
    }
    named = &scratch_.functions[entry.index];
  }
  function.name = named->name;
  if (*function.name != '\0') {
    function.symbol = context_.symbols->find(context_.file, function.name);
  }
  if (const LoadedFunction* origin = origin_of(function); origin != nullptr) {
    function.type = origin->type;
  }
}

void UnitLoader::settle_parameters(LoadedFunction& function) {
  for (std::uint32_t i = 0; i < function.parameter_count; ++i) {
    LoadedParameter& parameter = scratch_.parameters[function.first_parameter + i];
    LoadedParameter* origin = nullptr;
    if (parameter.origin != kVoid) {
      const Entry entry = scratch_.entries.find(parameter.origin);
      if (entry.kind() == Entry::Kind::kParameter) {
        origin = &scratch_.parameters[entry.index];
      }
    }
    if (origin != nullptr) {
      parameter.name = origin->name;
      parameter.type = origin->type;
    }
    if (parameter.has_location) {
      locate(parameter);
    }
    if (origin == nullptr) {
      continue;
    }
    function.is_reordered = function.is_reordered || parameter.position != origin->position;
    origin->has_location = origin->has_location || parameter.has_location;
    origin->has_constant = origin->has_constant || parameter.has_constant;
    if (parameter.register_number >= 0) {
      origin->register_number = parameter.register_number;
    }
    origin->is_on_stack = origin->is_on_stack || parameter.is_on_stack;
    origin->is_constant = origin->is_constant || parameter.is_constant;
    origin->pieces[0] |= parameter.pieces[0];
    origin->pieces[1] |= parameter.pieces[1];
  }
}

namespace {

bool is_literal(const Operation& operation) {
  return (operation.code >= DW_OP_lit0 && operation.code <= DW_OP_lit31) ||
         operation.code == DW_OP_constu || operation.code == DW_OP_consts;
}

struct ExpressionSummary {
  Operation first;
  unsigned count = 0;  // operations; one last DW_OP_stack_value behind a single one left out
  bool has_stack_value = false;
  int register_of_first_word = -1;  // in a composite location
  std::uint8_t pieces[2] = {0, 0};  // of it: LoadedParameter::pieces
};

ExpressionSummary summarize(Bytes expression, const FormContext& context) {
  ExpressionSummary summary;
  Reader reader(expression, context.sections->order);
  Operation operation;
  std::uint64_t piece_start = 0;
  bool has_location = false;  // of the next piece
  while (next_operation(reader, context, operation)) {
    if (summary.count++ == 0) {
      summary.first = operation;
    }
    summary.has_stack_value |= operation.code == DW_OP_stack_value;
    const int number = register_of(operation);
    if (operation.code == DW_OP_piece) {
      const std::uint64_t word = piece_start / context.address_size;
      // A piece with no location before it is not there at all (DWARF 5 section 2.6.1.2).
      if (has_location && word < 2) {
        summary.pieces[word] |= static_cast<std::uint8_t>(1U << piece_start % context.address_size);
      }
      piece_start += operation.number;
      has_location = false;
      continue;
    }
    has_location = true;
    if (number >= 0 && (piece_start < context.address_size || summary.register_of_first_word < 0)) {
      summary.register_of_first_word = number;
    }
  }
  if (summary.count == 2 && operation.code == DW_OP_stack_value) {
    --summary.count;
  }
  return summary;
}

}  // namespace

// Finds out in which register the parameter is when the function starts (DWARF 5 section 2.6).
void UnitLoader::locate(LoadedParameter& parameter) {
  const std::uint64_t size = size_of(resolve(parameter.type, 0));
  const unsigned word = unit_.forms.address_size;
  const bool fits_register = size <= word || !context_.abi.splits_structs;
  const auto set_register = [&](int number) {
    if (parameter.register_number < 0) {
      parameter.register_number = number;
    }
  };
  for_each_location(unit_, parameter.location, [&](Bytes expression, unsigned entry) {
    const ExpressionSummary summary = summarize(expression, unit_.forms);
    const Operation& first = summary.first;
    if (entry == 0) {
      parameter.is_on_stack = summary.count == 1 && first.code == DW_OP_fbreg;
      parameter.is_constant = summary.count != 0 && is_literal(first);
    }
    if (summary.count == 1 &&
        (first.code == DW_OP_entry_value || first.code == DW_OP_GNU_entry_value)) {
      const ExpressionSummary inner = summarize(first.block, unit_.forms);
      if (inner.count == 1) {
        set_register(register_of(inner.first));
      }
    } else if (entry == 0 && (summary.count == 1 || fits_register)) {
      set_register(summary.has_stack_value && base_register_of(first) >= 0 ? base_register_of(first)
                                                                           : register_of(first));
    } else if (summary.count > 1 && !fits_register) {
      set_register(summary.register_of_first_word);
      parameter.pieces[0] |= summary.pieces[0];
      parameter.pieces[1] |= summary.pieces[1];
    }
  });
}

// The verdict on one parameter; `next` is the first register not yet given away. True: it is in a
// register that the ABI does not use for it.
bool UnitLoader::judge_parameter(LoadedParameter& parameter, bool signature_changed,
                                 unsigned& next) {
  const MachineAbi& abi = context_.abi;
  const unsigned word = unit_.forms.address_size;
  const std::uint64_t size = size_of(resolve(parameter.type, 0));
  const bool in_memory = abi.is_in_memory(size, word);
  const unsigned slots = abi.slots_of(size, word);
  const int number = parameter.register_number;
  if (unit_.is_clang() && !signature_changed) {
    if (in_memory || next >= abi.register_count) {
      return false;
    }
    bool is_expected = number < 0;
    for (unsigned i = next; i < next + slots && i < abi.register_count; ++i) {
      is_expected = is_expected || abi.registers[i] < 0 || abi.registers[i] == number;
    }
    next += slots;
    return !is_expected;
  }
  bool is_unexpected = false;
  if (parameter.has_location) {
    if (next >= abi.register_count) {
      return false;
    }
    if (number < 0) {
      parameter.is_optimized = true;
    } else if (abi.registers[next] >= 0 && abi.registers[next] != number) {
      is_unexpected = true;
    }
  } else if (parameter.has_constant && !unit_.is_clang()) {
    parameter.is_optimized = true;
  }
  next += in_memory ? 1 : slots;
  return is_unexpected;
}

std::uint8_t UnitLoader::judge(const LoadedFunction& function, bool signature_changed) {
  std::uint8_t flags = signature_changed ? kFunctionSignatureChanged : std::uint8_t{0};
  bool is_unexpected = false;
  unsigned next = 0;
  const bool is_true = signature_changed && context_.true_signature;
  for (std::uint32_t i = 0; i < function.parameter_count; ++i) {
    LoadedParameter& parameter = scratch_.parameters[function.first_parameter + i];
    const LoadedParameter* following = i + 1 < function.parameter_count ? &parameter + 1 : nullptr;
    const bool is_elsewhere = is_true ? judge_true_parameter(parameter, following, next)
                                      : judge_parameter(parameter, signature_changed, next);
    is_unexpected = is_elsewhere || is_unexpected;
    if (parameter.is_optimized || !parameter.has_location) {
      flags |= kFunctionOptimizedParameters;
    }
  }
  if (is_unexpected && !takes_struct(function)) {
    flags |= kFunctionUnexpectedRegister;
  }
  if (has_packed_stack_struct(function)) {
    flags |= kFunctionUncertainLocation;
  }
  if (function.is_reordered) {
    flags |= kFunctionReordered;
  }
  return flags;
}

bool UnitLoader::takes_struct(const LoadedFunction& function) const {
  for (std::uint32_t i = 0; i < function.parameter_count; ++i) {
    const Entry entry =
        scratch_.entries.find(scratch_.parameters[function.first_parameter + i].type);
    const TypeRef type = entry.kind() == Entry::Kind::kType ? strip_qualifiers(entry.index) : kVoid;
    if (type != kVoid && fragment_.types[type].kind == Kind::kStruct) {
      return true;
    }
  }
  return false;
}

// Packed structs lie on the stack where nobody can tell. As the peer, only a parameter whose type
// is the struct itself counts, not a typedef of it.
bool UnitLoader::has_packed_stack_struct(const LoadedFunction& function) const {
  for (std::uint32_t i = context_.abi.register_count; i < function.parameter_count; ++i) {
    const Entry entry =
        scratch_.entries.find(scratch_.parameters[function.first_parameter + i].type);
    if (entry.kind() != Entry::Kind::kType) {
      continue;
    }
    const Type& type = fragment_.types[entry.index];
    if (type.kind == Kind::kStruct && *type.name != '\0' && is_inferred_packed(type)) {
      return true;
    }
  }
  return false;
}

void UnitLoader::emit_function(const LoadedFunction& function) {
  for (std::uint32_t i = 0; i < function.parameter_count; ++i) {
    if (*scratch_.parameters[function.first_parameter + i].name == '\0') {
      return;  // a prototype with nameless parameters is no use, and no kernel would take it
    }
  }
  const LoadedFunction* origin = origin_of(function);
  const bool signature_changed = unit_.is_clang() && !function.is_inline &&
                                 (function.is_nocall || (origin != nullptr && origin->is_nocall));
  const std::uint8_t flags = judge(function, signature_changed);
  // The tags of an out-of-line instance stand at its abstract instance.
  const LoadedFunction& tagged = function.tag_count == 0 && origin != nullptr ? *origin : function;
  Function result{.symbol = function.symbol,
                  .address = function.address,
                  .return_type = resolve(function.type, function.die),
                  .first_parameter = static_cast<std::uint32_t>(fragment_.parameters.size()),
                  .first_tag = tagged.first_tag,
                  .tag_count = tagged.tag_count,
                  .flags = flags};
  for (std::uint32_t i = 0; i < function.parameter_count; ++i) {
    emit_parameter(function, scratch_.parameters[function.first_parameter + i], flags);
  }
  if (function.is_variadic) {
    fragment_.parameters.push_back({});
  }
  result.parameter_count =
      static_cast<std::uint32_t>(fragment_.parameters.size()) - result.first_parameter;
  fragment_.functions.push_back(result);
}

// Appends the parameter, as it is passed, to the prototype of the function that is being emitted.
void UnitLoader::emit_parameter(const LoadedFunction& function, const LoadedParameter& parameter,
                                std::uint8_t flags) {
  const bool is_true = context_.true_signature && (flags & kFunctionSignatureChanged) != 0;
  if ((is_true && parameter.is_optimized) ||
      (function.is_reordered && (parameter.is_optimized || !parameter.has_location))) {
    return;
  }
  Parameter passed{.name = parameter.name, .type = resolve(parameter.type, function.die)};
  if (is_true && parameter.member != kNoMember) {
    const Member& member = fragment_.members[parameter.member];
    passed.name = context_.names->keep(std::string(parameter.name) + "__" + member.name);
    passed.type = member.type;
  }
  fragment_.parameters.push_back(passed);
}

}  // namespace btfloom
