// encode(): DWARF in, BTF out. The whole pipeline, called by plugin/plugin.cc and nobody else.
#pragma once

#include <cstdint>

#include "jobs/slot.h"
#include "options.h"
#include "support/diagnostics.h"
#include "support/result.h"

namespace btfloom {

struct StageTimes {   // seconds of wall time
  double open = 0;    // mapping, sections, symbols, unit list
  double load = 0;    // the parallel part: load, fold and merge
  double write = 0;   // functions, numbering, bytes
  double commit = 0;  // file output
};

struct EncodeResult {
  std::uint64_t units = 0;         // units read
  std::uint64_t broken_units = 0;  // units left out because their structure is broken
  std::uint64_t dies = 0;
  std::uint64_t types_read = 0;     // types met in DWARF
  std::uint64_t types_written = 0;  // types in the output, void not counted
  std::uint64_t functions = 0;      // FUNCs among them
  std::uint64_t variables = 0;      // VARs among them
  std::uint64_t degraded = 0;       // odd types that were replaced by the nearest honest thing
  std::uint64_t bytes = 0;          // size of the BTF
  unsigned peak_workers = 0;
  bool written = false;  // the output is complete and in place
  StageTimes seconds;
};

// Encodes options.inputs, in order, into one BTF. `result` is filled as far as the run came, also
// on error. Thread-safe and re-entrant: no global state. Errors: see ErrorKind; on any error
// nothing is written and the old output is untouched (unless keep_going, for broken units). No
// DWARF in any input: kNoDebug.
Result<> encode(const EncodeOptions& options, SlotSource& slots, Diagnostics& diagnostics,
                EncodeResult& result);

// Encodes every one of options.inputs by itself, as many at once as there are slots, on one base
// that is opened once: the modules of a kernel. options.output is then a folder for NAME.btf, and
// so is options.output_base. A file that fails does not stop the others; all are reported, in
// order, and the first error is returned. `result` holds the sums; written only if all were.
// Otherwise as encode().
Result<> encode_each(const EncodeOptions& options, SlotSource& slots, Diagnostics& diagnostics,
                     EncodeResult& result);

}  // namespace btfloom
