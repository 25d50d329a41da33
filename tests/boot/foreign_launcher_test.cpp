// Jobs under the launchers of others, one after the other: the same answers as under `trireme run`, ends that say who,
// where and why, and nothing left behind. Skipped where a launcher is not installed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <sstream>

#include "launched_job.hpp"

namespace tri::boot {
namespace {

using boot::testing::launched_job;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

struct launcher_command {
  const char* name;
  std::vector<std::string> words;  // empty: not installed
  bool by_mpi = false;             // the MPI library speaks to the launcher, as with --tri-wire mpi
};

std::vector<launcher_command> launchers() {
  std::vector<launcher_command> all{{"openmpi", {}, false}, {"mpich", {}, false}};
  if (*MPIRUN_OPENMPI != 0) all[0].words = {MPIRUN_OPENMPI, "--oversubscribe", "--bind-to", "none"};
  if (*MPIRUN_MPICH != 0) all[1].words = {MPIRUN_MPICH};
  all.push_back({"openmpi_by_mpi", all[0].words, true});
  all.push_back({"mpich_by_mpi", all[1].words, true});
  return all;
}

std::vector<std::string> sorted_lines(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

class under : public ::testing::TestWithParam<launcher_command> {
 protected:
  void SetUp() override {
    if (GetParam().words.empty())
      GTEST_SKIP() << "there is no launcher for " << GetParam().name << " (scripts/deps.sh test)";
    for (const char* each : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"}) setenv(each, "1", 1);
    // What is left of a failed job is killed at once, not after a second, and nothing looks for fast networks.
    setenv("OMPI_MCA_odls_base_sigkill_timeout", "0", 1);
    setenv("OMPI_MCA_pml", "ob1", 1);
    setenv("TRIREME_PES", "1", 1);
    setenv("TRIREME_WIRE", GetParam().by_mpi ? "mpi" : "ucx", 1);
  }
  static bool openmpi() { return std::string(GetParam().name).starts_with("openmpi"); }
  static std::vector<std::string> command(int processes, std::vector<std::string> arguments,
                                          std::vector<std::string> options = {}) {
    std::vector<std::string> words = GetParam().words;
    words.insert(words.end(), {"-n", std::to_string(processes)});
    words.insert(words.end(), options.begin(), options.end());
    words.emplace_back(JOB_PROBE);
    words.insert(words.end(), arguments.begin(), arguments.end());
    return words;
  }
  static std::string own_lines(const std::string& output) {  // without what launchers add
    std::string kept;
    for (const std::string& line : sorted_lines(output))
      if (line.starts_with("trireme: ")) kept += line + "\n";
    return kept;
  }
};

TEST_P(under, four_processes_read_each_others_memory) {
  launched_job started(command(4, {"exchange"}));
  EXPECT_EQ(started.wait(), 0) << started.output();
  std::vector<std::string> expected;
  for (int i = 0; i < 4; ++i) {
    expected.push_back("process " + std::to_string(i) +
                       " of 4 on host 0 of 1, pes 1: 0.0=memory-0 0.1=memory-1 0.2=memory-2 0.3=memory-3");
  }
  EXPECT_EQ(sorted_lines(started.output()), expected);
  EXPECT_FALSE(started.anything_left());
}

TEST_P(under, emulated_hosts_share_no_memory) {
  launched_job started(command(3, {"exchange", "--tri-hosts=2"}));
  EXPECT_EQ(started.wait(), 0) << started.output();
  EXPECT_EQ(sorted_lines(started.output()),
            (std::vector<std::string>{"process 0 of 3 on host 0 of 2, pes 1: 0.0=memory-0 1.0=none 1.1=none",
                                      "process 1 of 3 on host 1 of 2, pes 1: 0.0=none 1.0=memory-1 1.1=memory-2",
                                      "process 2 of 3 on host 1 of 2, pes 1: 0.0=none 1.0=memory-1 1.1=memory-2"}));
}

TEST_P(under, one_process) {
  launched_job started(command(1, {"exchange"}));
  EXPECT_EQ(started.wait(), 0) << started.output();
  EXPECT_EQ(started.output(), "process 0 of 1 on host 0 of 1, pes 1: 0.0=memory-0\n");
}

TEST_P(under, addresses_are_fetched_by_several_threads_while_another_waits_in_barriers) {
  launched_job started(command(4, {"addresses", "2"}));
  EXPECT_EQ(started.wait(), 0) << started.output();
  std::vector<std::string> expected;
  for (int i = 0; i < 4; ++i) expected.push_back("process " + std::to_string(i) + ": 0 wrong addresses");
  EXPECT_EQ(sorted_lines(started.output()), expected);
}

TEST_P(under, a_clean_end_with_a_status) {
  launched_job started(command(3, {"leave", "5"}));
  EXPECT_EQ(started.wait(), 5) << started.output();
  EXPECT_EQ(own_lines(started.output()), "");
  // Open MPI's mpirun may end before its other processes are waited for, once one of them has left with a status.
  started.wait_until_nothing_is_left();
}

TEST_P(under, a_killed_process_ends_the_job) {
  launched_job started(command(3, {"crash", "1"}));
  EXPECT_EQ(started.wait(), openmpi() ? 128 + SIGKILL : SIGKILL) << started.output();
  EXPECT_THAT(started.output(),
              ContainsRegex(openmpi() ? "process rank 1 with PID [0-9]+ on node .* exited on signal 9 \\(Killed\\)"
                                      : "PID [0-9]+ RUNNING AT"));
  started.wait_until_nothing_is_left();
}

TEST_P(under, fail_prints_once_and_keeps_buffered_output) {
  launched_job started(command(3, {"fail", "1"}));
  EXPECT_EQ(started.wait(), 1) << started.output();
  EXPECT_THAT(started.output(), HasSubstr("buffered output\n"));
  EXPECT_THAT(own_lines(started.output()),
              ::testing::MatchesRegex(
                  "trireme: process 1 \\(rank 1 of the launcher, pid [0-9]+\\) on [^ ]+: the disk is full\n"));
  started.wait_until_nothing_is_left();
}

TEST_P(under, different_builds) {
  launched_job started(command(3, {"mismatch", "1"}));
  EXPECT_EQ(started.wait(), 1) << started.output();
  EXPECT_THAT(own_lines(started.output()),
              ::testing::MatchesRegex("trireme: process 1 .* runs a different build of the program than process 0 .*; "
                                      "start the same program file everywhere; the job is ended\n"));
  started.wait_until_nothing_is_left();
}

TEST_P(under, a_connection_closed_without_leaving) {
  launched_job started(command(3, {"close", "1"}));
  EXPECT_NE(started.wait(), 0) << started.output();
  // hydra sees it first, and kills all at once.
  if (openmpi()) {
    EXPECT_THAT(own_lines(started.output()),
                ::testing::MatchesRegex(
                    "trireme: process 1 .* closed its connection without leaving the job; the job is ended\n"));
  }
  started.wait_until_nothing_is_left();
}

TEST_P(under, a_killed_launcher_leaves_nothing) {
  launched_job started(command(3, {"ready"}));
  started.wait_for_lines("ready", 3);
  kill(started.launcher(), SIGKILL);
  EXPECT_EQ(started.wait(), 128 + SIGKILL);
  started.wait_until_nothing_is_left();
}

// With this option Open MPI lets the others live; then the first process of the host ends the job, or the second one if
// it was the first that died.
TEST_P(under, a_death_that_the_launcher_ignores_is_seen_by_the_local_peers) {
  if (!openmpi()) GTEST_SKIP() << "hydra ends the job whatever its options are";
  for (const std::string dies : {"0", "2"}) {
    launched_job started(command(3, {"crash", dies}, {"--enable-recovery"}));
    started.wait();  // 0: that is what the option means
    EXPECT_THAT(own_lines(started.output()),
                ::testing::MatchesRegex("trireme: process " + dies + " \\(rank " + dies +
                                        " of the launcher, pid [0-9]+\\) on [^ ]+ ended without "
                                        "leaving the job; the job is ended\n"));
    started.wait_until_nothing_is_left();
  }
}

// Ranks 1 and 2 get a network namespace each, so they are hosts of their own. PMI-1 needs no network.
TEST_P(under, processes_that_cannot_share_memory_are_different_hosts) {
  if (openmpi() || geteuid() != 0) GTEST_SKIP() << "needs root, and a launcher that speaks over a descriptor";
  const auto spread = [](std::vector<std::string> arguments) {
    std::vector<std::string> words = command(4, {});
    words.insert(words.end() - 1,
                 {"sh", "-c", "case $PMI_RANK in 1|2) exec unshare -n \"$0\" \"$@\";; *) exec \"$0\" \"$@\";; esac"});
    words.insert(words.end(), arguments.begin(), arguments.end());
    return words;
  };
  launched_job started(spread({"exchange"}));
  EXPECT_EQ(started.wait(), 0) << started.output();
  EXPECT_EQ(
      sorted_lines(started.output()),
      (std::vector<std::string>{"process 0 of 4 on host 0 of 3, pes 1: 0.0=memory-0 0.1=memory-3 1.0=none 2.0=none",
                                "process 1 of 4 on host 0 of 3, pes 1: 0.0=memory-0 0.1=memory-3 1.0=none 2.0=none",
                                "process 2 of 4 on host 1 of 3, pes 1: 0.0=none 0.1=none 1.0=memory-1 2.0=none",
                                "process 3 of 4 on host 2 of 3, pes 1: 0.0=none 0.1=none 1.0=none 2.0=memory-2"}));
  launched_job addresses(spread({"addresses", "2"}));
  EXPECT_EQ(addresses.wait(), 0) << addresses.output();
  EXPECT_EQ(sorted_lines(addresses.output()).size(), 4u);
  EXPECT_THAT(addresses.output(), ::testing::Not(ContainsRegex("[1-9] wrong addresses")));
  launched_job differ(spread({"mismatch", "2"}));
  EXPECT_EQ(differ.wait(), 1);
  EXPECT_THAT(
      own_lines(differ.output()),
      ::testing::MatchesRegex("trireme: process 3 .rank 2 .* runs a different build of the program than process "
                              "0 .*; the job is ended\n"));
  launched_job pretend(spread({"exchange", "--tri-hosts=2"}));
  EXPECT_NE(pretend.wait(), 0);
  // Each process says so and ends; hydra kills the others, and drops what it has not read, when the first has ended.
  // When it still had to answer one of those it killed, it fails itself, and drops what it has not passed on.
  EXPECT_THAT(pretend.output(),
              ::testing::AnyOf(HasSubstr("hosts is 2, but the job runs on 3 machines; hosts can only be "
                                         "emulated on one"),
                               HasSubstr("BAD TERMINATION"), HasSubstr("error writing PMI line")));
}

TEST_P(under, two_launchers_at_once) {
  setenv("TRIREME_JOB", "another", 1);
  launched_job started(command(1, {"leave", "0"}));
  unsetenv("TRIREME_JOB");
  EXPECT_EQ(started.wait(), 95) << started.output();
  EXPECT_THAT(started.output(), HasSubstr("job_probe: two launchers claim this process: "));
}

INSTANTIATE_TEST_SUITE_P(launchers, under, ::testing::ValuesIn(launchers()),
                         [](const auto& each) { return std::string(each.param.name); });

}  // namespace
}  // namespace tri::boot
