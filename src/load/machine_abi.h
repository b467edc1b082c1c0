// MachineAbi: which registers carry a function's parameters, by machine. Plain data, thread-safe.
#pragma once

#include <array>
#include <cstdint>

namespace btfloom {

struct MachineAbi {
  unsigned register_count = 0;     // parameters passed in registers
  std::array<int, 8> registers{};  // their DWARF numbers in order; -1: not known
  bool splits_structs = true;      // a struct of two words takes two registers (all but s390)
};

// By EM_* number; a machine that is not known passes nothing in registers.
MachineAbi machine_abi(std::uint16_t machine);

}  // namespace btfloom
