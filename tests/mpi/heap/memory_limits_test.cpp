// Memory limits of cgroups, in hierarchies of the test's own.
#include "mpi/heap/memory_limits.hpp"

#include <gtest/gtest.h>
#include <sys/sysinfo.h>

#include <filesystem>
#include <string>

#include "support/command_runner.hpp"

namespace {

using tri::mpi::cgroup_memory_left;
using tri::mpi::cgroup_memory_limit;

constexpr std::size_t none = ~std::size_t{0};

class cgroup_limit : public testing::Test {
 protected:
  void group(const std::string& path, const std::string& file, const std::string& limit) {
    std::filesystem::create_directories(folder_.path() / path);
    tri::testing::write_file(folder_.path() / path / file, limit + "\n");
  }
  std::size_t limit(const std::string& groups) { return cgroup_memory_limit(groups, folder_.path().string()); }
  std::size_t left(const std::string& groups) { return cgroup_memory_left(groups, folder_.path().string()); }

  tri::testing::temporary_folder folder_;
};

TEST_F(cgroup_limit, of_version_2_is_the_tightest_on_the_way_up) {
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

TEST_F(cgroup_limit, of_version_1_is_that_of_the_memory_controller) {
  group("memory/slurm/job_7", "memory.limit_in_bytes", "314572800");
  group("memory", "memory.limit_in_bytes", "9223372036854771712");
  group("cpu/slurm/job_7", "memory.limit_in_bytes", "1");
  EXPECT_EQ(limit("9:name=systemd:/\n4:memory:/slurm/job_7\n1:cpu:/slurm/job_7\n0::/\n"), 314572800U);
  EXPECT_EQ(limit("4:memory:/\n"), 9223372036854771712U);
}

TEST_F(cgroup_limit, and_use_say_what_is_left_in_version_2) {
  group("job/step", "memory.max", "max");
  group("job/step", "memory.current", "400");
  EXPECT_EQ(left("0::/job/step\n"), none);
  group("job", "memory.max", "1000");
  group("job", "memory.current", "700");
  EXPECT_EQ(left("0::/job/step\n"), 300U);
  // Pages of files on disk can be dropped; shared memory, which "file" counts as well, cannot.
  group("job", "memory.stat", "anon 500\nfile 200\nshmem 110\ninactive_anon 10\ninactive_file 60\nactive_file 30");
  EXPECT_EQ(left("0::/job/step\n"), 390U);
  group("job/step", "memory.max", "300");  // was lowered below what is in use
  EXPECT_EQ(left("0::/job/step\n"), 0U);
  EXPECT_EQ(left("0::/elsewhere\n"), none);
}

TEST_F(cgroup_limit, and_use_say_what_is_left_in_version_1) {
  group("memory/slurm", "memory.limit_in_bytes", "1000");
  group("memory/slurm", "memory.usage_in_bytes", "700");
  group("memory/slurm", "memory.stat", "inactive_file 1\nactive_file 2\ntotal_inactive_file 60\ntotal_active_file 30");
  EXPECT_EQ(left("4:memory:/slurm\n"), 390U);
  EXPECT_EQ(left("4:cpu:/slurm\n"), none);
}

TEST(memory_left, is_no_more_than_the_host_has) {
  struct sysinfo host {};
  ASSERT_EQ(sysinfo(&host), 0);
  const std::size_t all = (host.totalram + host.totalswap) * std::size_t{host.mem_unit};
  EXPECT_GT(tri::mpi::memory_left(), all / 1000);  // a unit that is mistaken for another shows
  EXPECT_LE(tri::mpi::memory_left(), all);
}

}  // namespace
