// An unmodified MPI+OpenMP program under `trireme exec --omp --schedule slack` (K51, K58): the rank that waits in the
// reduction makes less of its loop dynamic than the one that the others wait for. What is asserted are the fractions of
// the report, not times.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <regex>
#include <string>

#include "support/command_runner.hpp"

namespace {

using testing::HasSubstr;

struct mpi {
  const char* name;
  const char* launcher;
  const char* program;
};
const mpi installed[] = {INSTALLED_MPIS};

using result = tri::testing::command_result;

// Two ranks; an MPI that is careful lets root run it, and more processes than cores, and does not look for networks.
result run(const mpi& with, const std::string& environment, const std::string& command) {
  const bool open_mpi = std::string(with.name) == "openmpi";
  return tri::testing::run_with_one_stream(
      fmt::format("export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_pml=ob1 OMP_NUM_THREADS=2 "
                  "{}; {} {} -n 2 "
                  "{} {}",
                  environment, with.launcher, open_mpi ? "--oversubscribe" : "", command, with.program));
}
std::string under(const std::string& schedule) {
  return fmt::format("{} exec --omp --report --schedule {}", TRIREME_COMMAND, schedule);
}

// Of the report of this rank; negative when it has no such line.
double fraction_of(const std::string& report, int rank) {
  const std::regex pattern(fmt::format("rank {}\\)[^\n]*\n[^\n]*\n[^\n]*dynamic fraction ([0-9.]+)", rank));
  std::smatch found;
  return std::regex_search(report, found, pattern) ? std::stod(found[1].str()) : -1.0;
}

// Microseconds of slack that the report of this rank names; negative when it has no such line.
double slack_of(const std::string& report, int rank) {
  const std::regex pattern(fmt::format("rank {}\\)[^\n]*\n[^\n]*\n[^\n]*slack ([0-9.]+) us", rank));
  std::smatch found;
  return std::regex_search(report, found, pattern) ? std::stod(found[1].str()) : -1.0;
}

class with_mpi : public testing::TestWithParam<mpi> {};
INSTANTIATE_TEST_SUITE_P(mpi, with_mpi, testing::ValuesIn(installed),
                         [](const testing::TestParamInfo<mpi>& which) { return std::string(which.param.name); });

TEST_P(with_mpi, the_rank_with_slack_has_a_smaller_dynamic_fraction_than_the_critical_one) {
  for (const char* schedule : {"slack", "slack,rule=sharp", "combo"}) {
    const result ended = run(GetParam(), "TRIREME_OMP_NOISE=10000", under(schedule));
    ASSERT_EQ(ended.status, 0) << ended.output;
    EXPECT_THAT(ended.output, HasSubstr("2 ranks: 7800\n"));
    EXPECT_THAT(ended.output, HasSubstr("before MPI_Allreduce\n"));
    const double waits = fraction_of(ended.output, 0), critical = fraction_of(ended.output, 1);
    EXPECT_GE(waits, 0.0) << ended.output;
    EXPECT_LT(waits, critical) << schedule << ended.output;
    EXPECT_GT(critical, 0.05) << schedule << ended.output;
  }
}

// Without slack the rank with less work would even need the larger fraction: the same disturbance hits a shorter loop.
TEST_P(with_mpi, without_slack_it_is_the_other_way_round) {
  for (const char* environment : {"TRIREME_OMP_NOISE=10000 TRIREME_SLACK=off", "TRIREME_OMP_NOISE=10000"}) {
    const bool off = std::string(environment).ends_with("off");
    const result ended = run(GetParam(), environment, under(off ? "slack" : "static-hybrid"));
    ASSERT_EQ(ended.status, 0) << ended.output;
    EXPECT_GT(fraction_of(ended.output, 0), fraction_of(ended.output, 1)) << ended.output;
    EXPECT_GT(fraction_of(ended.output, 1), 0.05) << ended.output;
    EXPECT_THAT(ended.output, testing::Not(HasSubstr("before MPI_")));
  }
}

TEST_P(with_mpi, waits_may_be_kept_by_operation_or_be_one_number) {
  const result operation = run(GetParam(), "TRIREME_OMP_NOISE=10000 TRIREME_SLACK=operation,window=1", under("slack"));
  // Of one wait: a neighbour that takes a rank's core makes the other one wait for once.
  const int waits = slack_of(operation.output, 0) > slack_of(operation.output, 1) ? 0 : 1;
  EXPECT_LT(fraction_of(operation.output, waits), fraction_of(operation.output, 1 - waits)) << operation.output;
  const result naive = run(GetParam(), "TRIREME_OMP_NOISE=10000 TRIREME_SLACK=naive=1e6", under("slack"));
  EXPECT_EQ(fraction_of(naive.output, 0), 0.0) << naive.output;
  EXPECT_EQ(fraction_of(naive.output, 1), 0.0) << naive.output;
  // Measured when MPI begins: microseconds that do not change from loop to loop, and nothing is remembered (K52).
  const result measured = run(GetParam(), "TRIREME_OMP_NOISE=10000 TRIREME_SLACK=naive", under("slack"));
  ASSERT_EQ(measured.status, 0) << measured.output;
  for (const int rank : {0, 1}) {
    const double slack = slack_of(measured.output, rank);
    EXPECT_GT(slack, 0.0) << measured.output;
    EXPECT_GE(fraction_of(measured.output, rank), 0.0) << measured.output;
  }
  EXPECT_EQ(slack_of(run(GetParam(), "TRIREME_OMP_NOISE=10000 TRIREME_SLACK=off", under("slack")).output, 0), -1.0);
  const result wrong = run(GetParam(), "TRIREME_SLACK=windw=3", under("slack"));
  EXPECT_NE(wrong.status, 0);
  EXPECT_THAT(
      wrong.output,
      HasSubstr("trireme omp: TRIREME_SLACK: 'windw=3' is unknown; it must be one of call-path, "
                "operation, naive, naive=MICROSECONDS, off, optionally followed by window=N with N of 1 or more; "
                "did you mean window=3?\n"));
}

}  // namespace
