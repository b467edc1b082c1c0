// Which functions get a FUNC, and with which prototype.
//
// A function of the symbol table has many candidates: an abstract instance in every unit that
// includes its header, a concrete one where it was compiled. A tracer that attaches to the name
// must find its arguments where the prototype says, so a function is left out when its candidates
// contradict each other, when its parameters are not where the ABI puts them, or when the name has
// several addresses (docs/encoding-choices.md, "Functions"). Thread-safe (pure).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "types/function_symbols.h"
#include "types/graph.h"

namespace btfloom {

struct ChosenFunction {
  std::string_view name;
  std::uint32_t function = 0;  // in Graph::functions
};

// Sorted by name; functions of several files that share a name, by file. `drop_inconsistent` is the
// feature consistent_func.
std::vector<ChosenFunction> choose_functions(const Graph& graph, const FunctionSymbols& symbols,
                                             bool drop_inconsistent);

}  // namespace btfloom
