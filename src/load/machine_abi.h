// MachineAbi: which registers carry a function's parameters, by machine. Plain data, thread-safe.
#pragma once

#include <array>
#include <cstdint>

namespace btfloom {

struct MachineAbi {
  unsigned register_count = 0;     // parameters passed in registers
  std::array<int, 8> registers{};  // their DWARF numbers in order; -1: not known
  bool splits_structs = true;      // a struct of two words takes two registers (all but s390)

  // How many registers a parameter of `size` bytes takes, words being `word` bytes.
  [[nodiscard]] unsigned slots_of(std::uint64_t size, unsigned word) const {
    return size > word && splits_structs ? static_cast<unsigned>((size + word - 1) / word) : 1;
  }
  // Whether it is passed in memory, registers left or not.
  [[nodiscard]] bool is_in_memory(std::uint64_t size, unsigned word) const {
    return size > (splits_structs ? 2ULL * word : word);
  }
};

// By EM_* number; a machine that is not known passes nothing in registers.
MachineAbi machine_abi(std::uint16_t machine);

}  // namespace btfloom
