// Location descriptions of variables and parameters: the expressions of an attribute, and their
// operations.
//
// Reads DWARF expressions (DWARF 5 section 2.5, encodings in section 7.7.1) and location lists:
// .debug_loclists (section 7.7.3) and the .debug_loc of DWARF 2 to 4 (DWARF 4 section 7.7.3),
// without libdw, whose location cache must not be used by two threads. Thread-safe (pure functions
// over const sections).
#pragma once

#include <cstdint>

#include "dwarf/unit.h"
#include "support/function_ref.h"
#include "support/reader.h"

namespace btfloom {

struct Operation {
  std::uint8_t code = 0;     // DW_OP_*
  std::uint64_t number = 0;  // first operand, 0 if none
  Bytes block;               // DW_OP_entry_value and the like: the inner expression
};

// Reads the next operation. False at the end of the expression and on an unknown or truncated
// operation (then reader.ok() is false or bytes remain).
bool next_operation(Reader& reader, const FormContext& context, Operation& operation);

// Register named by DW_OP_reg0..31 or DW_OP_regx; -1 for any other operation.
int register_of(const Operation& operation);
// The same for DW_OP_breg0..31 and DW_OP_bregx.
int base_register_of(const Operation& operation);

// Calls f(expression, entry) for every expression of a DW_AT_location: once for an exprloc, else
// for each entry of the list, numbered from 0, entries with an empty range included. A damaged list
// ends early.
void for_each_location(const Unit& unit, const Value& location,
                       FunctionRef<void(Bytes expression, unsigned entry)> f);

}  // namespace btfloom
