// true_signature: the prototype by which a function is called after the compiler changed it.
//
// clang drops arguments that nobody uses and passes single members of structs (dead argument
// elimination, argument promotion), and marks such functions with DW_CC_nocall. The parameters that
// are left are in the registers of the ABI, one after the other, so where each one is says which
// are left:
//
//   static int f(int unused, struct pair p, int b)      // rdi: p.second, rsi: b
//   -> int f(long p__second, int b)
//
// A parameter without a location is gone, unless the one behind it still leaves its registers free.
#include <bit>

#include "load/load_unit_internal.h"

namespace btfloom {

// The verdict on one parameter of such a function; `next` is the first register not yet given away,
// `following` the parameter behind it, if there is one. True: it is where no prototype of C can say
// it is.
bool UnitLoader::judge_true_parameter(LoadedParameter& parameter, const LoadedParameter* following,
                                      unsigned& next) {
  const MachineAbi& abi = context_.abi;
  const unsigned word = unit_.forms.address_size;
  const std::uint64_t size = size_of(resolve(parameter.type, 0));
  const bool in_memory = abi.is_in_memory(size, word);
  const unsigned slots = abi.slots_of(size, word);
  // Whether the next parameter is where it would be if this one took all its registers.
  const unsigned behind = next + slots;
  const bool keeps_slots = following != nullptr && following->has_location &&
                           following->register_number >= 0 && behind < abi.register_count &&
                           abi.registers[behind] == following->register_number;
  if (!parameter.has_location) {
    if (parameter.has_constant || !keeps_slots) {
      parameter.is_optimized = true;
      return false;
    }
    next += slots;
    return false;
  }
  if (parameter.is_constant) {
    parameter.is_optimized = true;
    return false;
  }
  if (next >= abi.register_count) {
    return false;
  }
  if (parameter.is_on_stack) {
    return !in_memory;
  }
  const int number = parameter.register_number;
  const bool is_elsewhere =
      number < 0 || (abi.registers[next] >= 0 && abi.registers[next] != number);
  const bool has_pieces = parameter.pieces[0] != 0 || parameter.pieces[1] != 0;
  const bool has_both = parameter.pieces[0] != 0 && parameter.pieces[1] != 0;
  if (has_pieces && !has_both && !keeps_slots) {
    parameter.member = passed_member(parameter);
    if (parameter.member != kNoMember) {
      next += 1;
      return is_elsewhere;
    }
  }
  next += in_memory ? 1 : slots;
  return is_elsewhere;
}

// The member of the struct that the only piece in a register starts at, if there is one.
std::uint32_t UnitLoader::passed_member(const LoadedParameter& parameter) {
  const unsigned used = parameter.pieces[0] != 0 ? 0 : 1;
  const std::uint8_t piece = parameter.pieces[used];
  TypeRef type = resolve(parameter.type, 0);
  for (unsigned step = 0; type != kVoid && fragment_.types[type].kind != Kind::kStruct; ++step) {
    if (!is_qualifier_like(fragment_.types[type].kind) ||
        fragment_.types[type].kind == Kind::kPointer || step == 64) {
      return kNoMember;
    }
    type = fragment_.types[type].target;
  }
  if (type == kVoid || !std::has_single_bit(piece)) {
    return kNoMember;
  }
  const std::uint32_t start =
      used * unit_.forms.address_size + static_cast<std::uint32_t>(std::countr_zero(piece));
  const Type& record = fragment_.types[type];
  for (std::uint32_t i = record.first; i < record.first + record.count; ++i) {
    if (fragment_.members[i].bit_offset == start * 8) {
      return i;
    }
  }
  return kNoMember;
}

}  // namespace btfloom
