#include "jobs/processors.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <sstream>
#include <string_view>
#include <thread>

namespace btfloom {
namespace {

unsigned affinity() {
  // The kernel refuses a mask that is shorter than its own, which may be longer than cpu_set_t.
  for (std::size_t processors = 1024; processors <= std::size_t{1} << 20; processors *= 4) {
    cpu_set_t* const set = CPU_ALLOC(processors);
    if (set == nullptr) {
      break;
    }
    const std::size_t size = CPU_ALLOC_SIZE(processors);
    const int count = sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
    CPU_FREE(set);
    if (count > 0) {
      return static_cast<unsigned>(count);
    }
  }
  return std::thread::hardware_concurrency();
}

bool has_item(std::string_view list, std::string_view item) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (list.substr(0, comma) == item) {
      return true;
    }
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return false;
}

// Where a hierarchy is mounted, and which of its groups is seen there.
struct Mount {
  std::string top;  // group at the mount point: / unless in a container
  std::string point;
};

// proc(5), /proc/[pid]/mountinfo: id parent device root point options [fields] - type source
// super-options
std::optional<Mount> find_mount(const std::string& root, bool second_version) {
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) {
      continue;
    }
    std::istringstream front(line.substr(0, dash));
    std::istringstream back(line.substr(dash + 3));
    std::string skipped;
    Mount mount;
    std::string type;
    std::string options;
    front >> skipped >> skipped >> skipped >> mount.top >> mount.point;
    back >> type >> skipped >> options;
    if (second_version ? type == "cgroup2" : type == "cgroup" && has_item(options, "cpu")) {
      return mount;
    }
  }
  return std::nullopt;
}

std::optional<double> quota_of_group(const std::string& folder, bool second_version) {
  double quota = 0;
  double period = 0;
  if (second_version) {
    std::ifstream file(folder + "/cpu.max");  // "max 100000" does not read as a number: no quota
    file >> quota >> period;
  } else {
    std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;  // -1: no quota
    std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  }
  return quota > 0 && period > 0 ? std::optional(quota / period) : std::nullopt;
}

// The smallest quota of `group` and all groups above it that can be seen.
std::optional<double> quota_up_from(const std::string& root, std::string group,
                                    bool second_version) {
  const std::optional<Mount> mount = find_mount(root, second_version);
  if (!mount) {
    return std::nullopt;
  }
  if (mount->top != "/") {
    // In a container the group may be named from the host's view while only the part below `top` is
    // mounted.
    group = group.starts_with(mount->top) ? group.substr(mount->top.size()) : "";
  }
  std::optional<double> smallest;
  while (true) {
    const std::optional<double> quota =
        quota_of_group(root + mount->point + "/" + group, second_version);
    if (quota && (!smallest || *quota < *smallest)) {
      smallest = quota;
    }
    if (group.empty()) {
      return smallest;
    }
    const std::size_t slash = group.rfind('/');
    group.resize(slash == std::string::npos ? 0 : slash);
  }
}

}  // namespace

std::optional<double> cgroup_quota(const std::string& root) {
  // cgroups(7), /proc/[pid]/cgroup: "0::/path" (v2) or "4:cpu,cpuacct:/path" (v1); both in hybrid
  // systems.
  std::ifstream file(root + "/proc/self/cgroup");
  std::optional<double> smallest;
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) {
      continue;
    }
    const std::string_view controllers =
        std::string_view(line).substr(first + 1, second - first - 1);
    const bool second_version = controllers.empty();
    if (!second_version && !has_item(controllers, "cpu")) {
      continue;
    }
    const std::optional<double> quota =
        quota_up_from(root, line.substr(second + 1), second_version);
    if (quota && (!smallest || *quota < *smallest)) {
      smallest = quota;
    }
  }
  return smallest;
}

unsigned usable_processors() {
  const unsigned allowed = std::max(affinity(), 1U);
  const std::optional<double> quota = cgroup_quota();
  // Rounded up: with a quota of 1.5 a second thread is of use. A quota below 1 is one thread.
  return quota && *quota < allowed ? std::max(static_cast<unsigned>(std::ceil(*quota)), 1U)
                                   : allowed;
}

}  // namespace btfloom
