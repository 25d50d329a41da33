// Limits of CPU time and memory from cgroups of version 1 and 2.
#include "os/cgroup.hpp"

#include <gtest/gtest.h>

#include "support/fake_root.hpp"

namespace tri::os {
namespace {

using testing::fake_root;

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

TEST(cgroup, numbers_that_are_no_quota_are_no_limit) {
  const fake_root root;
  root.file("/proc/self/cgroup", "0::/");
  for (const char* const text :
       {"nan 100000", "inf 100000", "1e308 1e-308", "-1 100000", "1 0", "10 inf", "1e-308 1e308", ""}) {
    root.file("/sys/fs/cgroup/cpu.max", text);
    EXPECT_FALSE(cpu_quota(root.path()).has_value()) << text;
  }
}

// Each line counts, and none is taken for a part of another: without either of them the quota would not be this one.
TEST(cgroup, lines_with_zero_bytes_are_read_like_others) {
  using std::string_literals::operator""s;
  const fake_root root;
  root.file("/sys/fs/cgroup/cpu.max", "50000 100000");
  root.file("/sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "25000");
  root.file("/sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000");
  for (const std::string& before : {"\0"s, "4\0"s, ""s}) {
    root.file("/proc/self/cgroup", before + ":cpu:/x\n0::/"s);
    EXPECT_DOUBLE_EQ(cpu_quota(root.path()).value(), 0.25);
    root.file("/proc/self/cgroup", before + "nothing\n0::/");
    EXPECT_DOUBLE_EQ(cpu_quota(root.path()).value(), 0.5);
  }
  root.file("/proc/self/cgroup", "0::/\0\n4:cpu:/x"s);  // no group has that path, but those above it
  EXPECT_DOUBLE_EQ(cpu_quota(root.path()).value(), 0.25);
  root.file("/sys/fs/cgroup/cpu.max",
            "5\0"
            "0000 100000"s);  // ends before its period
  root.file("/proc/self/cgroup", "0::/");
  EXPECT_FALSE(cpu_quota(root.path()).has_value());
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

TEST(cgroup, memory_version_2_smallest_of_all_enclosing_groups) {
  const fake_root root;
  EXPECT_FALSE(memory_limit(root.path()).has_value());
  root.file("/proc/self/cgroup", "0::/machine/job");
  root.file("/sys/fs/cgroup/machine/job/memory.max", "max");
  EXPECT_FALSE(memory_limit(root.path()).has_value());
  root.file("/sys/fs/cgroup/machine/memory.max", "8589934592");
  EXPECT_EQ(memory_limit(root.path()), std::size_t{8} << 30);
  root.file("/sys/fs/cgroup/machine/job/memory.max", "1073741824");
  EXPECT_EQ(memory_limit(root.path()), std::size_t{1} << 30);
}

TEST(cgroup, memory_version_1) {
  const fake_root root;
  root.file("/proc/self/cgroup", "5:memory:/docker/x\n4:cpu,cpuacct:/docker/x");
  root.file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");  // what version 1 calls no limit
  root.file("/sys/fs/cgroup/cpu/memory.limit_in_bytes", "1");                       // not the controller of memory
  EXPECT_FALSE(memory_limit(root.path()).has_value());
  root.file("/sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes", "4294967296");
  EXPECT_EQ(memory_limit(root.path()), std::size_t{4} << 30);
}

}  // namespace
}  // namespace tri::os
