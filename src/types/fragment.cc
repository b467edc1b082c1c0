#include "types/fragment.h"

namespace btfloom {

void Fragment::clear() {
  unit = UnitIndex();
  types.clear();
  members.clear();
  enumerators.clear();
  parameters.clear();
  type_tags.clear();
  functions.clear();
  function_tags.clear();
  variables.clear();
  variable_tags.clear();
  int_type = kVoid;
  has_array = false;
  diagnostics.clear();
  dies = 0;
  degraded = 0;
}

}  // namespace btfloom
