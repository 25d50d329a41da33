#include "host/cgroup.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tri::host {
namespace {

// A pretend file system under which the control group files lie.
class fake_root {
 public:
  fake_root() {
    std::string name = (std::filesystem::temp_directory_path() / "trireme-cgroup-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~fake_root() { std::filesystem::remove_all(path_); }
  void file(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path_ + path).parent_path());
    std::ofstream(path_ + path) << text << "\n";
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(cgroup, no_groups_no_limit) {
  const fake_root root;
  EXPECT_FALSE(cpu_quota(root.path()).has_value());
}

TEST(cgroup, version_2_smallest_of_all_enclosing_groups) {
  const fake_root root;
  root.file("/proc/self/cgroup", "0::/machine/job");
  root.file("/sys/fs/cgroup/machine/job/cpu.max", "max 100000");
  EXPECT_FALSE(cpu_quota(root.path()).has_value());
  root.file("/sys/fs/cgroup/machine/cpu.max", "150000 100000");
  EXPECT_DOUBLE_EQ(cpu_quota(root.path()).value(), 1.5);
  root.file("/sys/fs/cgroup/machine/job/cpu.max", "50000 100000");
  EXPECT_DOUBLE_EQ(cpu_quota(root.path()).value(), 0.5);
}

TEST(cgroup, version_1) {
  const fake_root root;
  root.file("/proc/self/cgroup", "5:memory:/docker/x\n4:cpu,cpuacct:/docker/x");
  root.file("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1");  // inside the container the group is the mount itself
  root.file("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000");
  EXPECT_FALSE(cpu_quota(root.path()).has_value());
  root.file("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "300000");
  EXPECT_DOUBLE_EQ(cpu_quota(root.path()).value(), 3);
}

}  // namespace
}  // namespace tri::host
