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
  bool is_variant = false;     // under the name of a variant (foo.isra.0), with its own prototype
};

struct FunctionRules {
  bool drop_inconsistent = true;  // the feature consistent_func
  // The feature true_signature: a variant that the compiler made of a function is taken for what it
  // is, under its own name.
  bool keep_variants = false;
};

// Sorted by name, variants by the name of what they were made of; functions of several files that
// share a name, by file.
std::vector<ChosenFunction> choose_functions(const Graph& graph, const FunctionSymbols& symbols,
                                             const FunctionRules& rules);

}  // namespace btfloom
