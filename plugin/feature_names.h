// Names of the features, in pahole's order, and how the bits of the C ABI become Features.
// Thread-safe.
#pragma once

#include <cstdint>

#include "options.h"

namespace btfloom {

Features features_of(std::uint64_t bits);

}  // namespace btfloom
