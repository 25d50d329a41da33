// The NUMA domain of a rank: from the affinity mask on this machine, from the rank's number on another one.
#include "exec/numa_domain.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "os/cpu/cpu_list.hpp"
#include "os/cpu/pinning.hpp"
#include "os/cpu/topology.hpp"
#include "support/command_runner.hpp"

namespace tri::tools {
namespace {

// A machine's folder of NUMA domains with these lists of CPUs.
class machine_files {
 public:
  explicit machine_files(const std::vector<std::string>& domains) {
    const std::filesystem::path nodes = folder_.path() / "sys/devices/system/node";
    std::filesystem::create_directories(nodes);
    testing::write_file(nodes / "online",
                        domains.size() > 1 ? "0-" + std::to_string(domains.size() - 1) + "\n" : "0\n");
    for (std::size_t i = 0; i < domains.size(); ++i) {
      std::filesystem::create_directories(nodes / ("node" + std::to_string(i)));
      testing::write_file(nodes / ("node" + std::to_string(i)) / "cpulist", domains[i] + "\n");
    }
  }
  std::string root() const { return folder_.path().string(); }

 private:
  testing::temporary_folder folder_;
};

const std::string mine = os::format_cpu_list(os::cpus_of_this_thread());

TEST(numa_domain, is_the_one_that_has_all_cpus_of_the_process) {
  EXPECT_EQ(domain_of_this_rank("auto", machine_files({"900-910", mine}).root()), 1);
  EXPECT_EQ(domain_of_this_rank("", machine_files({mine + ",900", "901"}).root()), 0);
}

TEST(numa_domain, is_none_for_a_rank_that_may_run_anywhere_and_on_machines_with_one) {
  EXPECT_EQ(domain_of_this_rank("auto", machine_files({"900", "901"}).root()), std::nullopt);
  EXPECT_EQ(domain_of_this_rank("auto", machine_files({mine}).root()), std::nullopt);
  EXPECT_EQ(domain_of_this_rank("auto", machine_files({"", mine}).root()), 1);  // memory without CPUs
}

TEST(numa_domain, of_another_machine_follows_from_the_rank) {
  const std::string machine = "synthetic:numa:2 core:2 pu:1";
  unsetenv("OMPI_COMM_WORLD_LOCAL_RANK");
  unsetenv("MPI_LOCALRANKID");
  unsetenv("PMI_RANK");
  EXPECT_EQ(domain_of_this_rank(machine), std::nullopt) << "no rank";
  const int expected[] = {0, 0, 1, 1};
  for (int rank = 0; rank < 4; ++rank) {
    setenv("MPI_LOCALRANKID", std::to_string(rank).c_str(), 1);
    setenv("MPI_LOCALNRANKS", "4", 1);
    EXPECT_EQ(domain_of_this_rank(machine), expected[rank]) << rank;
  }
  unsetenv("MPI_LOCALRANKID");
  setenv("OMPI_COMM_WORLD_LOCAL_RANK", "3", 1);
  setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "4", 1);
  EXPECT_EQ(domain_of_this_rank(machine), 1);
  EXPECT_THROW(domain_of_this_rank("synthetic:numma:2"), os::topology_error);
}

}  // namespace
}  // namespace tri::tools
