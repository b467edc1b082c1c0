#include "jobs/processors.h"

#include <sched.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <catch2/catch.hpp>

namespace btfloom {
namespace {

// A file system below a folder of its own: what /proc and /sys would say.
class FakeRoot {
 public:
  FakeRoot() {
    std::string name = (std::filesystem::temp_directory_path() / "btfloom-root-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~FakeRoot() { std::filesystem::remove_all(path_); }
  FakeRoot(const FakeRoot&) = delete;
  FakeRoot& operator=(const FakeRoot&) = delete;
  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = path_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

constexpr const char* kVersion2 =
    "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
    "30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr const char* kVersion1 =
    "31 25 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
    "32 25 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";

TEST_CASE("At least one processor is usable, and no more than the affinity mask has",
          "[unit][jobs]") {
  cpu_set_t before;
  REQUIRE(::sched_getaffinity(0, sizeof before, &before) == 0);
  CHECK(usable_processors() >= 1);
  CHECK(usable_processors() <= static_cast<unsigned>(CPU_COUNT(&before)));
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int i = 0; CPU_COUNT(&one) == 0; ++i) {
    if (CPU_ISSET(i, &before)) {
      CPU_SET(i, &one);
    }
  }
  REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK(usable_processors() == 1);
  ::sched_setaffinity(0, sizeof before, &before);
}

TEST_CASE("A cgroup v2 quota is that of the tightest level", "[unit][jobs]") {
  const FakeRoot root;
  root.write("/proc/self/mountinfo", kVersion2);
  root.write("/proc/self/cgroup", "0::/user.slice/build.scope\n");
  CHECK(!cgroup_quota(root.path()));  // no cpu.max anywhere
  root.write("/sys/fs/cgroup/user.slice/build.scope/cpu.max", "max 100000\n");
  CHECK(!cgroup_quota(root.path()));
  root.write("/sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n");
  CHECK(cgroup_quota(root.path()) == 1.5);
  root.write("/sys/fs/cgroup/user.slice/build.scope/cpu.max", "800000 100000\n");
  CHECK(cgroup_quota(root.path()) == 1.5);
  root.write("/sys/fs/cgroup/user.slice/build.scope/cpu.max", "20000 100000\n");
  CHECK(cgroup_quota(root.path()) == 0.2);
}

TEST_CASE("A cgroup v1 quota is that of the cpu controller", "[unit][jobs]") {
  const FakeRoot root;
  root.write("/proc/self/mountinfo", kVersion1);
  root.write("/proc/self/cgroup", "5:cpuset:/other\n3:cpu,cpuacct:/docker/77\n1:name=systemd:/x\n");
  CHECK(!cgroup_quota(root.path()));
  root.write("/sys/fs/cgroup/cpu,cpuacct/docker/77/cpu.cfs_quota_us", "-1\n");
  root.write("/sys/fs/cgroup/cpu,cpuacct/docker/77/cpu.cfs_period_us", "100000\n");
  CHECK(!cgroup_quota(root.path()));
  root.write("/sys/fs/cgroup/cpu,cpuacct/docker/77/cpu.cfs_quota_us", "300000\n");
  CHECK(cgroup_quota(root.path()) == 3.0);
}

TEST_CASE("In a container the mounted part of the hierarchy counts", "[unit][jobs]") {
  const FakeRoot root;
  root.write("/proc/self/mountinfo",
             "32 25 0:28 /docker/77 /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n");
  const std::string group = GENERATE(as<std::string>(), "/docker/77", "/", "/elsewhere");
  root.write("/proc/self/cgroup", "3:cpu:" + group + "\n");
  root.write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n");
  root.write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  CHECK(cgroup_quota(root.path()) == 2.0);
}

TEST_CASE("Without /proc or with nonsense in it there is no quota", "[unit][jobs]") {
  const FakeRoot root;
  CHECK(!cgroup_quota(root.path()));
  root.write("/proc/self/mountinfo", "nonsense\n - \n1 2 - cgroup2\n");
  root.write("/proc/self/cgroup", "nonsense\n0:\n0::\n::::\n");
  CHECK(!cgroup_quota(root.path()));
  root.write("/proc/self/mountinfo", kVersion2);
  root.write("/sys/fs/cgroup/cpu.max", "0 0\n");
  CHECK(!cgroup_quota(root.path()));
}

}  // namespace
}  // namespace btfloom
