// Memory limits of cgroups, in hierarchies of the test's own.
#include "mpi/heap/memory_limits.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "support/command_runner.hpp"

namespace {

using tri::mpi::cgroup_memory_limit;

constexpr std::size_t none = ~std::size_t{0};

class CgroupLimit : public testing::Test {
 protected:
  void group(const std::string& path, const std::string& file, const std::string& limit) {
    std::filesystem::create_directories(folder_.path() / path);
    tri::testing::write_file(folder_.path() / path / file, limit + "\n");
  }
  std::size_t limit(const std::string& groups) { return cgroup_memory_limit(groups, folder_.path().string()); }

  tri::testing::temporary_folder folder_;
};

TEST_F(CgroupLimit, of_version_2_is_the_tightest_on_the_way_up) {
  group("job/step/task", "memory.max", "max");
  group("job/step", "memory.max", "1000000");
  group("job", "memory.max", "5000000");
  EXPECT_EQ(limit("0::/job/step/task\n"), 1000000U);
  EXPECT_EQ(limit("0::/job\n"), 5000000U);
  EXPECT_EQ(limit("0::/\n"), none);
  EXPECT_EQ(limit("0::/other\n"), none);
  EXPECT_EQ(limit(""), none);
  group(".", "memory.max", "300");  // a container sees its own group as the root
  EXPECT_EQ(limit("0::/\n"), 300U);
}

TEST_F(CgroupLimit, of_version_1_is_that_of_the_memory_controller) {
  group("memory/slurm/job_7", "memory.limit_in_bytes", "314572800");
  group("memory", "memory.limit_in_bytes", "9223372036854771712");
  group("cpu/slurm/job_7", "memory.limit_in_bytes", "1");
  EXPECT_EQ(limit("9:name=systemd:/\n4:memory:/slurm/job_7\n1:cpu:/slurm/job_7\n0::/\n"), 314572800U);
  EXPECT_EQ(limit("4:memory:/\n"), 9223372036854771712U);
}

}  // namespace
