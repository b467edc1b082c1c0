// Distilled bases: what a module takes with it of the BTF that it was split from, so that it can be
// joined to another kernel's.
//
//   const DistilledBtf made = TRY(distill(split));           // when the module is built
//   const auto joined = TRY(relocate(split_on_distilled, other_base));   // when it is loaded
//
// The distilled base (section .BTF.base) names the types that the module needs: INT, FLOAT and FWD
// whole, named struct and union without members, named enumerations without values. Whatever else
// of the base the module refers to has no name to be found by and moves into the split BTF. Follows
// Documentation/bpf/btf.rst, ".BTF.base section", and btf__distill_base() and btf__relocate() of
// libbpf. Thread-safe (pure).
#pragma once

#include <cstdint>
#include <vector>

#include "btf/image.h"
#include "support/bytes.h"
#include "support/result.h"

namespace btfloom {

struct DistilledBtf {
  std::vector<std::byte> base;   // for .BTF.base
  std::vector<std::byte> split;  // for .BTF
};

// Precondition: `split` has a base.
Result<DistilledBtf> distill(const BtfImage& split);

// The same split BTF on another base; `split` is parsed on its distilled base. A type is found by
// name and kind; a struct or union that the module holds by value must also have the same size, as
// must any INT (and the same encoding), FLOAT and enumeration. Errors (kInput): a type that `base`
// does not have, or has in several sizes.
Result<std::vector<std::byte>> relocate(const BtfImage& split, const BtfImage& base);

}  // namespace btfloom
