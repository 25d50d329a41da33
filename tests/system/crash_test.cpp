// Whole programs that end badly while messages fly: each ends with one message and the right status, and leaves no
// process, no shared memory and no socket.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <string>

#include "../support/command_runner.hpp"
#include "../support/core_file.hpp"
#include "arena/window.hpp"
#include "boot/launched_job.hpp"

namespace tri::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

launch::launch_options program(int processes, int pes, std::vector<std::string> arguments) {
  launch::launch_options options;
  options.processes = processes;
  options.command = {JOB_PROBE, std::to_string(processes), std::to_string(pes)};
  options.command.insert(options.command.end(), arguments.begin(), arguments.end());
  options.environment = {{"TRIREME_PES", std::to_string(pes)}};
  return options;
}

class crash : public ::testing::Test {
 protected:
  // The socket carries the launcher's pid. Jobs of other tests may run at the same time, and a short pid is a part of
  // many a number in their lines; memory has no name anywhere.
  static void expect_nothing_left(const boot::testing::launched_job& job) {
    EXPECT_FALSE(job.anything_left());
    const std::string job_name = fmt::format("@trireme-{}-", job.launcher());
    std::ifstream sockets("/proc/net/unix");
    for (std::string line; std::getline(sockets, line);) EXPECT_THAT(line, Not(HasSubstr(job_name)));
  }
  static std::string end_of(int processes, int pes, std::vector<std::string> arguments, int status) {
    boot::testing::launched_job job(program(processes, pes, std::move(arguments)));
    EXPECT_EQ(job.wait(), status);
    expect_nothing_left(job);
    return job.output();
  }
};

TEST_F(crash, a_killed_process_ends_the_job) {
  for (const int pes : {1, 2})
    EXPECT_THAT(
        end_of(3, pes, {"crash_kill"}, 128 + SIGKILL),
        ContainsRegex("trireme: process [0-9] \\(pid [0-9]+\\) ended by signal 9 \\(Killed\\); the job is ended\n"));
}

TEST_F(crash, an_exception_in_a_method) {
  EXPECT_THAT(
      end_of(3, 1, {"crash_throw"}, 1),
      ContainsRegex("trireme: process 1 \\(pid [0-9]+\\): an exception left an entry method: .*flyer\\(1\\) on PE 1, "
                    "method .*flyer::fail: the flyer is too long\n"));
}

TEST_F(crash, an_abort) {
  EXPECT_THAT(end_of(3, 1, {"crash_abort"}, 128 + SIGABRT),
              ContainsRegex("process 1 \\(pid [0-9]+\\) ended by signal 6 \\(Aborted\\); the job is ended\n"));
}

TEST_F(crash, exit_from_a_method_and_from_main) {
  for (const int processes : {1, 2, 3}) {
    EXPECT_THAT(end_of(processes, 2, {"crash_exit"}, 3), Not(HasSubstr("trireme:")));
    EXPECT_THAT(end_of(processes, 2, {"crash_exit_main"}, 3), Not(HasSubstr("trireme:")));
  }
}

TEST_F(crash, fail_ends_the_job_with_its_message) {
  for (const int pes : {1, 2})
    EXPECT_THAT(end_of(3, pes, {"crash_fail"}, 1), ContainsRegex("trireme: process [0-9] \\(pid [0-9]+\\): no fuel\n"));
}

TEST_F(crash, the_arena_is_exhausted) {
  EXPECT_THAT(end_of(2, 1, {"crash_exhaust", "--tri-arena-limit-bytes=67108864"}, 1),
              ContainsRegex("process 1 .*flyer\\(1\\) on PE 1, method .*flyer::hoard: .*arena.*limit"));
}

TEST_F(crash, the_launcher_is_asked_to_end) {
  boot::testing::launched_job job(program(2, 2, {"crash_fly"}));
  job.wait_for_lines("ready", 1);
  kill(job.launcher(), SIGTERM);
  EXPECT_EQ(job.wait(), 128 + SIGTERM);
  EXPECT_THAT(job.output(), ContainsRegex("trireme: got signal 15 \\(Terminated\\); the job is ended\n"));
  expect_nothing_left(job);
}

// A window has 64 GiB of addresses; here less, in case that they are dumped. Both processes have mapped both windows.
TEST_F(crash, a_core_file_holds_the_memory_in_use_only) {
  if (const std::string why = why_no_core_files(); !why.empty()) GTEST_SKIP() << why;
  constexpr std::size_t window_bytes = std::size_t{512} << 20;
  for (const int processes : {1, 2}) {
    const temporary_folder folder;
    const std::string count = std::to_string(processes);
    const command_result ended = run_command(
        folder.path(), "ulimit -c unlimited; '" TRIREME_COMMAND "' run -n " + count +
                           " --pes 2 '" JOB_PROBE "' --tri-arena-window-bytes=" + std::to_string(window_bytes) + " " +
                           count + " 2 crash_abort");
    EXPECT_EQ(ended.status, 128 + SIGABRT) << ended.errors;
    const core_file found(folder.path());
    ASSERT_FALSE(found.empty());
    const std::uint64_t dumped = found.bytes_of(arena::base_address, arena::base_address + 2 * window_bytes);
    EXPECT_GT(dumped, std::size_t{1} << 20) << "the messages in use";
    EXPECT_LT(dumped, std::size_t{64} << 20);
  }
}

}  // namespace
}  // namespace tri::testing
