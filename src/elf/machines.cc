#include "elf/machines.h"

#include <elf.h>

#include <algorithm>
#include <span>

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
};
constexpr Row kI386[] = {
    {R_386_NONE, {kNone, 0}},        {R_386_32, {kSet, 4}},           {R_386_PC32, {kRelative, 4}},
    {R_386_16, {kSet, 2}},           {R_386_8, {kSet, 1}},            {R_386_TLS_LDO_32, {kSet, 4}},
    {R_386_TLS_DTPOFF32, {kSet, 4}}, {R_386_TLS_LE, {kSet, 4}},
};
constexpr Row kAarch64[] = {
    {R_AARCH64_NONE, {kNone, 0}},    {R_AARCH64_ABS64, {kSet, 8}},    {R_AARCH64_ABS32, {kSet, 4}},
    {R_AARCH64_ABS16, {kSet, 2}},    {R_AARCH64_PREL64, {kRelative, 8}}, {R_AARCH64_PREL32, {kRelative, 4}},
    {R_AARCH64_TLS_DTPREL, {kSet, 8}},
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
    {102 /* ALIGN */, {kNone, 0}},   {105 /* ADD6 */, {kSetLow6, 1}}, {106 /* SUB6 */, {kSubtractLow6, 1}},
    {107 /* ADD_ULEB128 */, {kSetUleb, 0}}, {108 /* SUB_ULEB128 */, {kSubtractUleb, 0}},
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
// clang-format on

std::span<const Row> rows_of(std::uint16_t machine) {
  switch (machine) {
    case EM_X86_64:
      return kX86_64;
    case EM_386:
      return kI386;
    case EM_AARCH64:
      return kAarch64;
    case EM_ARM:
      return kArm;
    case EM_RISCV:
      return kRiscv;
    case EM_PPC64:
      return kPpc64;
    case EM_PPC:
      return kPpc;
    case EM_S390:
      return kS390;
    case EM_MIPS:
      return kMips;
    case 258:  // EM_LOONGARCH
      return kLoongarch;
    case EM_SPARC:
    case EM_SPARC32PLUS:
    case EM_SPARCV9:
      return kSparc;
    case EM_68K:
      return kM68k;
    default:
      return {};
  }
}

}  // namespace

RelocationRule relocation_rule(std::uint16_t machine, std::uint32_t type) {
  const std::span<const Row> rows = rows_of(machine);
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.type == type; });
  return found != rows.end() ? found->rule : RelocationRule{};
}

}  // namespace btfloom
