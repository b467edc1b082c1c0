#include "elf/machines.h"

#include <elf.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <vector>

namespace btfloom {

namespace {

struct Row {
  std::uint32_t type;
  RelocationRule rule;
};

using enum RelocationAction;

// clang-format off
constexpr Row kX86_64[] = {
    {R_X86_64_NONE, {kNone, 0}},     {R_X86_64_64, {kSet, 8}},        {R_X86_64_PC32, {kRelative, 4}},
    {R_X86_64_32, {kSet, 4}},        {R_X86_64_32S, {kSet, 4}},       {R_X86_64_16, {kSet, 2}},
    {R_X86_64_8, {kSet, 1}},         {R_X86_64_DTPOFF64, {kSet, 8}},  {R_X86_64_DTPOFF32, {kSet, 4}},
    {R_X86_64_TPOFF64, {kSet, 8}},   {R_X86_64_TPOFF32, {kSet, 4}},   {R_X86_64_PC64, {kRelative, 8}},
    {R_X86_64_PC16, {kRelative, 2}}, {R_X86_64_PC8, {kRelative, 1}},
};
constexpr Row kI386[] = {
    {R_386_NONE, {kNone, 0}},        {R_386_32, {kSet, 4}},           {R_386_PC32, {kRelative, 4}},
    {R_386_16, {kSet, 2}},           {R_386_8, {kSet, 1}},            {R_386_TLS_LDO_32, {kSet, 4}},
    {R_386_TLS_DTPOFF32, {kSet, 4}}, {R_386_TLS_LE, {kSet, 4}},
};
constexpr Row kAarch64[] = {
    {R_AARCH64_NONE, {kNone, 0}},    {R_AARCH64_ABS64, {kSet, 8}},    {R_AARCH64_ABS32, {kSet, 4}},
    {R_AARCH64_ABS16, {kSet, 2}},    {R_AARCH64_PREL64, {kRelative, 8}}, {R_AARCH64_PREL32, {kRelative, 4}},
    {R_AARCH64_PREL16, {kRelative, 2}}, {R_AARCH64_TLS_DTPREL, {kSet, 8}},
};
constexpr Row kArm[] = {
    {R_ARM_NONE, {kNone, 0}},        {R_ARM_ABS32, {kSet, 4}},        {R_ARM_REL32, {kRelative, 4}},
    {R_ARM_ABS16, {kSet, 2}},        {R_ARM_ABS8, {kSet, 1}},         {R_ARM_TLS_LDO32, {kSet, 4}},
    {R_ARM_TLS_DTPOFF32, {kSet, 4}}, {R_ARM_PREL31, {kNone, 0}},
};
constexpr Row kRiscv[] = {
    {R_RISCV_NONE, {kNone, 0}},      {R_RISCV_32, {kSet, 4}},         {R_RISCV_64, {kSet, 8}},
    {R_RISCV_TLS_DTPREL32, {kSet, 4}}, {R_RISCV_TLS_DTPREL64, {kSet, 8}}, {R_RISCV_RELAX, {kNone, 0}},
    {R_RISCV_ADD8, {kAdd, 1}},       {R_RISCV_ADD16, {kAdd, 2}},      {R_RISCV_ADD32, {kAdd, 4}},
    {R_RISCV_ADD64, {kAdd, 8}},      {R_RISCV_SUB8, {kSubtract, 1}},  {R_RISCV_SUB16, {kSubtract, 2}},
    {R_RISCV_SUB32, {kSubtract, 4}}, {R_RISCV_SUB64, {kSubtract, 8}}, {R_RISCV_SUB6, {kSubtractLow6, 1}},
    {R_RISCV_SET6, {kSetLow6, 1}},   {R_RISCV_SET8, {kSet, 1}},       {R_RISCV_SET16, {kSet, 2}},
    {R_RISCV_SET32, {kSet, 4}},      {R_RISCV_32_PCREL, {kRelative, 4}},
    {60 /* SET_ULEB128 */, {kSetUleb, 0}}, {61 /* SUB_ULEB128 */, {kSubtractUleb, 0}},
};
constexpr Row kPpc64[] = {
    {R_PPC64_NONE, {kNone, 0}},      {R_PPC64_ADDR64, {kSet, 8}},     {R_PPC64_ADDR32, {kSet, 4}},
    {R_PPC64_ADDR16, {kSet, 2}},     {R_PPC64_UADDR64, {kSet, 8}},    {R_PPC64_UADDR32, {kSet, 4}},
    {R_PPC64_REL32, {kRelative, 4}}, {R_PPC64_REL64, {kRelative, 8}}, {R_PPC64_DTPREL64, {kSet, 8}},
    {R_PPC64_TOC, {kNone, 0}},
};
constexpr Row kPpc[] = {
    {R_PPC_NONE, {kNone, 0}},        {R_PPC_ADDR32, {kSet, 4}},       {R_PPC_UADDR32, {kSet, 4}},
    {R_PPC_ADDR16, {kSet, 2}},       {R_PPC_REL32, {kRelative, 4}},   {R_PPC_DTPREL32, {kSet, 4}},
};
constexpr Row kS390[] = {
    {R_390_NONE, {kNone, 0}},        {R_390_8, {kSet, 1}},            {R_390_16, {kSet, 2}},
    {R_390_32, {kSet, 4}},           {R_390_64, {kSet, 8}},           {R_390_PC32, {kRelative, 4}},
    {R_390_PC64, {kRelative, 8}},    {R_390_TLS_LDO32, {kSet, 4}},    {R_390_TLS_LDO64, {kSet, 8}},
};
constexpr Row kMips[] = {
    {R_MIPS_NONE, {kNone, 0}},       {R_MIPS_32, {kSet, 4}},          {R_MIPS_64, {kSet, 8}},
    {R_MIPS_16, {kSet, 2}},          {R_MIPS_TLS_DTPREL32, {kSet, 4}}, {R_MIPS_TLS_DTPREL64, {kSet, 8}},
    {248 /* R_MIPS_PC32 */, {kRelative, 4}},
};
constexpr Row kLoongarch[] = {
    {0 /* NONE */, {kNone, 0}},      {1 /* 32 */, {kSet, 4}},         {2 /* 64 */, {kSet, 8}},
    {8 /* TLS_DTPREL32 */, {kSet, 4}}, {9 /* TLS_DTPREL64 */, {kSet, 8}},
    {47 /* ADD8 */, {kAdd, 1}},      {48 /* ADD16 */, {kAdd, 2}},     {49 /* ADD24 */, {kAdd, 3}},
    {50 /* ADD32 */, {kAdd, 4}},     {51 /* ADD64 */, {kAdd, 8}},     {52 /* SUB8 */, {kSubtract, 1}},
    {53 /* SUB16 */, {kSubtract, 2}}, {54 /* SUB24 */, {kSubtract, 3}}, {55 /* SUB32 */, {kSubtract, 4}},
    {56 /* SUB64 */, {kSubtract, 8}}, {99 /* 32_PCREL */, {kRelative, 4}}, {100 /* RELAX */, {kNone, 0}},
    {102 /* ALIGN */, {kNone, 0}},   {105 /* ADD6 */, {kAddLow6, 1}}, {106 /* SUB6 */, {kSubtractLow6, 1}},
    {107 /* ADD_ULEB128 */, {kAddUleb, 0}}, {108 /* SUB_ULEB128 */, {kSubtractUleb, 0}},
    {109 /* 64_PCREL */, {kRelative, 8}},
};
constexpr Row kSparc[] = {
    {R_SPARC_NONE, {kNone, 0}},      {R_SPARC_8, {kSet, 1}},          {R_SPARC_16, {kSet, 2}},
    {R_SPARC_32, {kSet, 4}},         {R_SPARC_64, {kSet, 8}},         {R_SPARC_UA16, {kSet, 2}},
    {R_SPARC_UA32, {kSet, 4}},       {R_SPARC_UA64, {kSet, 8}},       {R_SPARC_DISP32, {kRelative, 4}},
    {R_SPARC_TLS_DTPOFF32, {kSet, 4}}, {R_SPARC_TLS_DTPOFF64, {kSet, 8}},
};
constexpr Row kM68k[] = {
    {R_68K_NONE, {kNone, 0}},        {R_68K_32, {kSet, 4}},           {R_68K_16, {kSet, 2}},
    {R_68K_8, {kSet, 1}},            {R_68K_PC32, {kRelative, 4}},    {R_68K_TLS_LDO32, {kSet, 4}},
};
constexpr Row kSh[] = {
    {R_SH_NONE, {kNone, 0}},         {R_SH_DIR32, {kSet, 4}},         {R_SH_REL32, {kRelative, 4}},
    {R_SH_TLS_LDO_32, {kSet, 4}},
};
constexpr Row kParisc[] = {
    {R_PARISC_NONE, {kNone, 0}},     {R_PARISC_DIR32, {kSet, 4}},     {R_PARISC_DIR64, {kSet, 8}},
    {R_PARISC_SECREL32, {kSet, 4}},  {R_PARISC_SECREL64, {kSet, 8}},  {R_PARISC_PCREL32, {kRelative, 4}},
    {R_PARISC_PCREL64, {kRelative, 8}},
};
// clang-format on

constexpr std::uint16_t kLoongarchMachine =
    258;  // EM_LOONGARCH, newer than the <elf.h> of older systems

struct Machine {
  std::uint16_t number;
  const char* name;
  std::span<const Row> rows;
};
constexpr Machine kMachines[] = {
    {EM_X86_64, "x86-64", kX86_64},
    {EM_386, "i386", kI386},
    {EM_AARCH64, "aarch64", kAarch64},
    {EM_ARM, "arm", kArm},
    {EM_RISCV, "riscv", kRiscv},
    {EM_PPC64, "ppc64", kPpc64},
    {EM_PPC, "ppc", kPpc},
    {EM_S390, "s390", kS390},
    {EM_MIPS, "mips", kMips},
    {kLoongarchMachine, "loongarch", kLoongarch},
    {EM_SPARC, "sparc", kSparc},
    {EM_SPARC32PLUS, "sparc32plus", kSparc},
    {EM_SPARCV9, "sparc64", kSparc},
    {EM_68K, "m68k", kM68k},
    {EM_SH, "sh", kSh},
    {EM_PARISC, "parisc", kParisc},
};

const Machine* find_machine(std::uint16_t number) {
  const auto* found = std::find_if(std::begin(kMachines), std::end(kMachines),
                                   [&](const Machine& m) { return m.number == number; });
  return found != std::end(kMachines) ? found : nullptr;
}

}  // namespace

RelocationRule relocation_rule(std::uint16_t machine, std::uint32_t type) {
  const std::vector<RelocationRule> rules = relocation_rules(machine);
  return type < rules.size() ? rules[type] : RelocationRule{};
}

std::vector<RelocationRule> relocation_rules(std::uint16_t machine) {
  std::vector<RelocationRule> rules;
  const Machine* known = find_machine(machine);
  if (known == nullptr) {
    return rules;
  }
  for (const Row& row : known->rows) {
    if (row.type >= rules.size()) {
      rules.resize(row.type + 1);
    }
    rules[row.type] = row.rule;
  }
  return rules;
}

std::string machine_name(std::uint16_t machine) {
  const Machine* known = find_machine(machine);
  return known != nullptr ? known->name : "machine " + std::to_string(machine);
}

}  // namespace btfloom
