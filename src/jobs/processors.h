// usable_processors(): how many threads can run at once here, when nobody grants slots: the
// affinity mask, and no more than the cgroup's quota (v1 and v2; of all levels up to the root the
// smallest counts), rounded up.
//
// Thread-safe. sched_setaffinity(2), cgroups(7), Documentation/admin-guide/cgroup-v2.rst "cpu.max".
#pragma once

#include <optional>
#include <string>

namespace btfloom {

// At least 1.
unsigned usable_processors();

// The quota in processors, or nothing if there is none or it cannot be found out. `root` is put
// before all paths, for tests.
std::optional<double> cgroup_quota(const std::string& root = "");

}  // namespace btfloom
