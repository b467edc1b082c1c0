// Fragment: everything that one unit contributes, in flat arrays. What flows from load/ to dedup/.
//
// Types stand in DIE post-order (children before their parent, siblings in file order); that order
// decides the numbering of the output. Members, enumerators and parameters of one type are
// contiguous. References are indices into `types`. A fragment is filled by one worker, read by the
// merger, cleared and used again: its vectors keep their memory. Not thread-safe.
#pragma once

#include <cstdint>
#include <vector>

#include "support/diagnostics.h"
#include "support/index.h"
#include "types/type.h"

namespace btfloom {

// A function of the unit that may become a FUNC (a definition or an inline one, found in the symbol
// table).
struct Function {
  std::uint32_t symbol = 0;   // index in FunctionSymbols
  std::uint64_t address = 0;  // DW_AT_low_pc, 0 if none
  TypeRef return_type = kVoid;
  std::uint32_t first_parameter = 0;  // in Fragment::parameters
  std::uint32_t parameter_count = 0;
  std::uint32_t first_tag = 0;  // in Fragment::function_tags
  std::uint32_t tag_count = 0;
  std::uint8_t flags = 0;  // kFunction...
};
inline constexpr std::uint8_t kFunctionUnexpectedRegister =
    1;  // a parameter is not where the ABI says
inline constexpr std::uint8_t kFunctionUncertainLocation =
    2;                                                 // a packed struct among stack parameters
inline constexpr std::uint8_t kFunctionReordered = 4;  // parameters in another order than declared
inline constexpr std::uint8_t kFunctionOptimizedParameters = 8;
inline constexpr std::uint8_t kFunctionSignatureChanged = 16;

struct Variable {
  const char* name = "";
  TypeRef type = kVoid;
  std::uint32_t section = 0;  // index in VariableSections
  std::uint32_t offset = 0;   // in that section
  std::uint32_t size = 0;
  bool is_external = false;
  std::uint32_t first_tag = 0;  // in Fragment::variable_tags
  std::uint32_t tag_count = 0;
};

struct Fragment {
  UnitIndex unit;
  std::vector<Type> types;
  std::vector<Member> members;
  std::vector<Enumerator> enumerators;
  std::vector<Parameter> parameters;
  std::vector<DeclTag> type_tags;   // in order of their target
  std::vector<Function> functions;  // in DIE order
  std::vector<DeclTag> function_tags;
  std::vector<Variable> variables;  // in DIE order
  std::vector<DeclTag> variable_tags;
  TypeRef int_type = kVoid;  // the first base type named "int"
  bool has_array = false;
  DiagnosticList diagnostics;
  std::uint64_t dies = 0;
  std::uint64_t degraded = 0;  // odd types replaced by the nearest honest thing

  void clear();
};

}  // namespace btfloom
