// The relocations that occur in debug sections, by machine, reduced to what they do to the bytes.
//
// From the psABI of each machine: only absolute ones and those that assemblers use for differences
// and thread-local offsets. Plain data, thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace btfloom {

enum class RelocationAction : std::uint8_t {
  kUnknown,
  kNone,
  kSet,       // value of symbol plus addend
  kRelative,  // the same, minus the address of the place
  kAdd,       // added to what is there (RISC-V, LoongArch: differences come as ADD and SUB pairs)
  kSubtract,
  kSetLow6,  // the low six bits only
  kAddLow6,
  kSubtractLow6,
  kSetUleb,  // a ULEB128 of the length that is there
  kAddUleb,
  kSubtractUleb,
};

struct RelocationRule {
  RelocationAction action = RelocationAction::kUnknown;
  std::uint8_t bytes = 0;
};

// What relocation `type` does on `machine` (EM_*).
RelocationRule relocation_rule(std::uint16_t machine, std::uint32_t type);

// The rules of a machine by type, for the loop over the relocations. No type beyond the end is
// known.
std::vector<RelocationRule> relocation_rules(std::uint16_t machine);

// For messages: "x86-64", or "machine 1234".
std::string machine_name(std::uint16_t machine);

}  // namespace btfloom
