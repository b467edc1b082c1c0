// Names of languages, as pahole's --lang_exclude knows them: DWARF 5 table 7.17, in the order of
// the codes.
#include <cctype>
#include <string_view>

#include "plugin/btfloom.h"

namespace {

constexpr std::string_view kNames[] = {
    "c89",          "c",        "ada83",   "c++",   "cobol74", "cobol85",   "fortran77",
    "fortran90",    "pascal83", "modula2", "java",  "c99",     "ada95",     "fortran95",
    "pli",          "objc",     "objc++",  "upc",   "d",       "python",    "opencl",
    "go",           "modula3",  "haskell", "c++03", "c++11",   "ocaml",     "rust",
    "c11",          "swift",    "julia",   "dylan", "c++14",   "fortran03", "fortran08",
    "renderscript", "bliss"};
static_assert(std::size(kNames) == 0x25);
constexpr std::uint16_t kMipsAssembler = 0x8001;  // DW_LANG_Mips_Assembler, what gas writes

bool same_text(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::tolower(static_cast<unsigned char>(a[i])) != b[i]) {
      return false;
    }
  }
  return true;
}

}  // namespace

extern "C" std::uint16_t btfloom_language_code(const char* name, std::size_t length) {
  const std::string_view wanted(name, length);
  for (std::size_t i = 0; i < std::size(kNames); ++i) {
    if (same_text(wanted, kNames[i])) {
      return static_cast<std::uint16_t>(i + 1);
    }
  }
  return same_text(wanted, "asm") ? kMipsAssembler : std::uint16_t{0};
}
