// The relocations that occur in debug sections, by machine, reduced to what they do to the bytes.
//
// From the psABI of each machine: only absolute ones and those that assemblers use for differences and thread-local
// offsets. Plain data, thread-safe.
#pragma once

#include <cstdint>

namespace btfloom {

enum class RelocationAction : std::uint8_t {
  kUnknown,
  kNone,
  kSet,         // value of symbol plus addend
  kRelative,    // the same, minus the address of the place
  kAdd,         // added to what is there (RISC-V, LoongArch: differences come as ADD and SUB pairs)
  kSubtract,
  kSetLow6,     // the low six bits only
  kSubtractLow6,
  kSetUleb,     // a ULEB128 of the length that is there
  kSubtractUleb,
};

struct RelocationRule {
  RelocationAction action = RelocationAction::kUnknown;
  std::uint8_t bytes = 0;
};

// What relocation `type` does on `machine` (EM_*).
RelocationRule relocation_rule(std::uint16_t machine, std::uint32_t type);

}  // namespace btfloom
