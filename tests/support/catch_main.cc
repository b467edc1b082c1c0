// The only file with a main(): compiled once, for all test programs.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
