// NEEDS("bpftool"): leaves the test case, reported as skipped with the reason, if the program
// cannot be found.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include <catch2/catch.hpp>

#include "tests/support/command.h"

// Catch2 2.x cannot skip: CTest turns the line into "Skipped" (SKIP_REGULAR_EXPRESSION).
#define NEEDS(program)                          \
  do {                                          \
    if (!btfloom::test::has_program(program)) { \
      std::puts("SKIPPED: needs " program);     \
      SUCCEED();                                \
      return;                                   \
    }                                           \
  } while (false)
