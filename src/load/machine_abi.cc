#include "load/machine_abi.h"

#include <elf.h>

namespace btfloom {

MachineAbi machine_abi(std::uint16_t machine) {
  constexpr std::array<int, 8> kUnknown = {-1, -1, -1, -1, -1, -1, -1, -1};
  switch (machine) {
    case EM_X86_64:  // rdi rsi rdx rcx r8 r9 (x86-64 psABI figure 3.36)
      return {6, {5, 4, 1, 2, 8, 9, -1, -1}, true};
    case EM_S390:  // r2 to r6
      return {5, {2, 3, 4, 5, 6, -1, -1, -1}, false};
    case EM_ARM:
    case EM_AARCH64:  // r0/x0 to r7/x7
      return {8, {0, 1, 2, 3, 4, 5, 6, 7}, true};
    case EM_PPC:
    case EM_PPC64:
    case EM_RISCV:
    case EM_MIPS:
    case EM_ARC_COMPACT:
      return {8, kUnknown, true};
    case EM_SPARC:
    case EM_SPARCV9:
      return {6, kUnknown, true};
    default:
      return {0, kUnknown, true};
  }
}

}  // namespace btfloom
