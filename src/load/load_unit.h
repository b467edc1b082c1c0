// load_unit(): one unit of DWARF becomes one fragment. The only folder that knows DWARF and the
// type graph.
//
//   LoadScratch scratch;                      // one per worker, used again for every unit
//   TRY(load_unit(unit, context, scratch, fragment));
//
// What becomes what, and in which order, follows docs/encoding-choices.md. Thread-safe as long as
// scratch and fragment belong to the caller.
#pragma once

#include <cstdint>
#include <memory>

#include "dwarf/unit.h"
#include "load/machine_abi.h"
#include "support/name_pool.h"
#include "support/result.h"
#include "types/fragment.h"
#include "types/function_symbols.h"
#include "types/variable_sections.h"

namespace btfloom {

// What load_unit() may look at besides the unit. Const while workers run.
struct LoadContext {
  std::uint32_t file = 0;  // index of the input file, for the two tables
  const FunctionSymbols* symbols = nullptr;
  const VariableSections* sections = nullptr;
  MachineAbi abi;
  bool floats = true;
  bool decl_tags = true;
  bool type_tags = true;
  bool enum64 = true;
  bool skip_odd_variables = true;  // encode_force: leave out variables with odd names or types
  bool true_signature = false;     // prototypes as functions are called, not as they were written
  NamePool* names = nullptr;       // for names that true_signature makes
};

// What a worker keeps from unit to unit: abbreviation programs and vectors. Opaque; not
// thread-safe.
class LoadScratch {
 public:
  LoadScratch();
  LoadScratch(LoadScratch&&) noexcept;
  LoadScratch& operator=(LoadScratch&&) noexcept;
  ~LoadScratch();
  struct Parts;
  [[nodiscard]] Parts& parts() const { return *parts_; }

 private:
  std::unique_ptr<Parts> parts_;
};

// Reads the whole unit into `fragment` (cleared first). Odd types are degraded with a diagnostic in
// fragment.diagnostics. Errors (kInput; file, unit and DIE set): broken structure, and DIEs that
// are elsewhere (split DWARF, supplementary files, type units, other units): the unit cannot be
// trusted as a whole.
Result<> load_unit(const Unit& unit, const LoadContext& context, const LoadScratch& scratch,
                   Fragment& fragment);

}  // namespace btfloom
