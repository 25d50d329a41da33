// Every rank that a launcher starts has a window of its own, whatever the launcher is, and the MPI libraries work with
// it: with what they keep in the heap, and with what they put before the functions that map memory.
#include <gtest/gtest.h>

#include <string>

#include "support/command_runner.hpp"
#include "support/memory_group.hpp"

namespace {

struct mpi {
  const char* name;
  const char* launcher;
  const char* program;
};
const mpi installed[] = {INSTALLED_MPIS};
const mpi installed_with_forks[] = {INSTALLED_MPIS_WITH_FORKS};

class ranks_of_a_job : public testing::TestWithParam<mpi> {
 protected:
  static std::string run(const std::string& command, int ranks = 3, const std::string& before = "") {
    const mpi& with = GetParam();
    const bool open_mpi = std::string(with.name) == "openmpi";
    // Environment of an outer job must not decide; Open MPI wants to be told about root and about few cores.
    const auto ended = tri::testing::run_command(
        before +
        "unset TRIREME_MPI_JOB TRIREME_MPI TRIREME_MPI_HEAP PMIX_NAMESPACE PMI_FD; "
        "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; " +
        with.launcher + (open_mpi ? " --oversubscribe" : "") + " -n " + std::to_string(ranks) + " " + command);
    EXPECT_EQ(ended.status, 0) << ended.errors;
    EXPECT_EQ(ended.errors.find("trireme"), std::string::npos) << ended.errors;
    return ended.output;
  }
};
INSTANTIATE_TEST_SUITE_P(mpi, ranks_of_a_job, testing::ValuesIn(installed),
                         [](const testing::TestParamInfo<mpi>& which) { return std::string(which.param.name); });

TEST_P(ranks_of_a_job, have_windows_of_their_own) {
  const std::string program = GetParam().program;
  EXPECT_EQ(run("env LD_PRELOAD=" PRELOAD_LIBRARY " " + program), "3 ranks, 3 windows, 0 wrong\n");
  EXPECT_EQ(run(program), "3 ranks, 0 windows, 0 wrong\n");
}

TEST_P(ranks_of_a_job, have_them_behind_a_wrapper_that_forks) {
  EXPECT_EQ(run("sh -c 'LD_PRELOAD=" PRELOAD_LIBRARY " " + std::string(GetParam().program) + "; true'"),
            "3 ranks, 3 windows, 0 wrong\n");
}

// Without the heap, a fork takes next to no memory: so it must not with it where there is none. All ranks fork at the
// same time.
class ranks_that_fork : public ranks_of_a_job {};
INSTANTIATE_TEST_SUITE_P(mpi, ranks_that_fork, testing::ValuesIn(installed_with_forks),
                         [](const testing::TestParamInfo<mpi>& which) { return std::string(which.param.name); });

TEST_P(ranks_that_fork, keep_within_the_memory_of_a_control_group) {
  const tri::testing::memory_group group(std::size_t{500} << 20);
  if (!group.reason().empty()) GTEST_SKIP() << group.reason();
  const std::string program = "env LD_PRELOAD=" PRELOAD_LIBRARY " " + std::string(GetParam().program);
  EXPECT_EQ(run(program + " 300", 1, group.enter()), "1 ranks, 0 wrong\n");
  EXPECT_EQ(run(program + " 75", 4, group.enter()), "4 ranks, 0 wrong\n");
}

TEST_P(ranks_that_fork, where_there_is_memory) {
  EXPECT_EQ(run("env LD_PRELOAD=" PRELOAD_LIBRARY " " + std::string(GetParam().program) + " 100", 2),
            "2 ranks, 0 wrong\n");
}

}  // namespace
