// for_each_child(): the loop over a chain of siblings (DWARF 5 section 2.3), used by every file of
// load/.
#pragma once

#include "load/load_unit_internal.h"

namespace btfloom {

// Calls f() with each child of the current DIE in die_; f must consume the child's own children.
// Call only if the current DIE has children. The chain ends with a null entry; a unit that just
// ends closes it too.
template <typename F>
void UnitLoader::for_each_child(F&& f) {
  if (!enter()) {
    return;
  }
  while (!failed_ && cursor_.next(die_)) {
    ++fragment_.dies;
    if (die_.is_null()) {
      break;
    }
    f();
  }
  leave();
}

}  // namespace btfloom
