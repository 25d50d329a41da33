// Jobs that go wrong: each ends with one message and the right status, and nothing of it is left. No test limits time;
// one that hangs is ended by ctest.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "boot/launched_job.hpp"
#include "os/child_process.hpp"
#include "support/process_state.hpp"

namespace tri::launch {
namespace {

using boot::testing::launched_job;
using boot::testing::probe;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using tri::testing::state_of_process;
using tri::testing::waits_of;

void expect_end(launched_job& started, int status, const std::string& message_regex) {
  EXPECT_EQ(started.wait(), status);
  EXPECT_THAT(started.output(), MatchesRegex(message_regex + "\n"));
  EXPECT_FALSE(started.anything_left());
}

TEST(crash, a_killed_process_ends_the_job) {
  launched_job started(probe(3, {"crash", "1"}));
  expect_end(started, 128 + SIGKILL,
             "trireme: process 1 \\(pid [0-9]+\\) ended by signal 9 \\(Killed\\); the job is ended");
}

TEST(crash, the_message_names_the_emulated_host) {
  launched_job started(probe(4, {"crash", "3", "--tri-hosts=2"}));
  expect_end(started, 128 + SIGKILL,
             "trireme: process 3 \\(pid [0-9]+\\) on emulated host 1 ended by signal 9 \\(Killed\\); the job is ended");
}

TEST(crash, processes_that_ignore_the_request_to_end_are_killed) {
  launched_job started(probe(3, {"stubborn", "2"}));
  expect_end(started, 128 + SIGKILL,
             "trireme: process 2 \\(pid [0-9]+\\) ended by signal 9 \\(Killed\\); the job is ended");
}

TEST(crash, exit_without_leaving) {
  launched_job zero(probe(2, {"exit", "1", "0"}));
  expect_end(zero, 1,
             "trireme: process 1 \\(pid [0-9]+\\) exited with status 0 without leaving the job; the job is ended");
  launched_job seven(probe(2, {"exit", "0", "7"}));
  expect_end(seven, 7,
             "trireme: process 0 \\(pid [0-9]+\\) exited with status 7 without leaving the job; the job is ended");
}

TEST(crash, exit_before_joining) {
  launched_job started(probe(2, {"exit_before_join", "1", "0"}));
  expect_end(started, 1,
             "trireme: process 1 \\(pid [0-9]+\\) exited with status 0 before it joined the job, which "
             "process 0 \\(pid "
             "[0-9]+\\) has joined; the job is ended");
}

TEST(crash, a_closed_connection_without_leaving) {
  launched_job started(probe(2, {"close", "1"}));
  expect_end(started, 1,
             "trireme: process 1 \\(pid [0-9]+\\) closed its connection without leaving the job; the job is ended");
}

TEST(crash, fail_prints_once_and_keeps_buffered_output) {
  launched_job started(probe(3, {"fail", "1"}));
  EXPECT_EQ(started.wait(), 1);
  EXPECT_THAT(started.output(), HasSubstr("buffered output\n"));
  EXPECT_THAT(started.output(), ::testing::ContainsRegex("trireme: process 1 \\(pid [0-9]+\\): the disk is full\n"));
  EXPECT_FALSE(started.anything_left());
}

TEST(crash, different_builds) {
  launched_job started(probe(3, {"mismatch", "1"}));
  EXPECT_EQ(started.wait(), 1);
  EXPECT_THAT(started.output(), HasSubstr("runs a different build of the program than process"));
  EXPECT_THAT(started.output(), HasSubstr("start the same program file everywhere; the job is ended\n"));
  EXPECT_FALSE(started.anything_left());
}

TEST(crash, different_numbers_of_pes) {
  launched_job started(probe(2, {"different_pes"}));
  EXPECT_EQ(started.wait(), 1);
  EXPECT_THAT(
      started.output(),
      ::testing::ContainsRegex("has [12] PEs, but process [01] \\(pid [0-9]+\\) has [12]; all must have the same"));
  EXPECT_FALSE(started.anything_left());
}

TEST(crash, barrier_after_somebody_left) {
  launched_job started(probe(3, {"barrier_after_leave", "2"}));
  EXPECT_EQ(started.wait(), 1);
  EXPECT_THAT(started.output(),
              ::testing::ContainsRegex("process [01] \\(pid [0-9]+\\) waits in a barrier, but process 2 "));
  EXPECT_FALSE(started.anything_left());
}

// The pid stands behind "pid " in the output.
pid_t told_pid(const launched_job& job) {
  while (true) {
    const std::string output = job.output();
    const std::size_t found = output.find("pid ");
    if (found != std::string::npos && output.find('\n', found) != std::string::npos)
      return static_cast<pid_t>(std::stol(output.substr(found + 4)));
    usleep(1000);
  }
}

TEST(crash, a_process_that_stays_stopped_ends_the_job) {
  launch_options options = probe(2, {"hang", "1"});
  options.peer_timeout_s = 0.2;
  launched_job started(options);
  kill(told_pid(started), SIGSTOP);
  EXPECT_EQ(started.wait(), 1);
  EXPECT_THAT(started.output(),
              ::testing::ContainsRegex("trireme: process 1 \\(pid [0-9]+\\) has been stopped by a signal for "
                                       "0.2 s \\(--peer-timeout\\); the job is ended\n"));
  EXPECT_FALSE(started.anything_left());
}

TEST(crash, a_process_that_was_stopped_and_continues_does_not) {
  launched_job started(probe(2, {"hang", "1"}));  // within the usual limit
  const pid_t stopped = told_pid(started);
  while (state_of_process(started.launcher()) != 'S') usleep(200);
  const auto waits_before = waits_of(started.launcher());
  kill(stopped, SIGSTOP);
  // Until the launcher has heard of it and waits again.
  while (state_of_process(stopped) != 'T' || state_of_process(started.launcher()) != 'S' ||
         waits_of(started.launcher()) == waits_before)
    usleep(200);
  kill(stopped, SIGCONT);
  kill(stopped, SIGUSR1);  // go on
  EXPECT_EQ(started.wait(), 0) << started.output();
}

TEST(crash, a_killed_launcher_leaves_nothing) {
  launched_job started(probe(3, {"ready"}));
  started.wait_for_lines("ready", 3);
  kill(started.launcher(), SIGKILL);
  EXPECT_EQ(started.wait(), 128 + SIGKILL);
  started.wait_until_nothing_is_left();
}

TEST(crash, a_killed_launcher_takes_programs_behind_a_wrapper_with_it) {
  launch_options options = probe(2, {});
  options.command = {"sh", "-c", std::string(JOB_PROBE) + " ready; exit $?"};
  launched_job started(options);
  started.wait_for_lines("ready", 2);
  kill(started.launcher(), SIGKILL);
  started.wait();
  started.wait_until_nothing_is_left();
}

TEST(crash, an_interrupted_launcher_ends_the_job) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    launched_job started(probe(2, {"ready"}));
    started.wait_for_lines("ready", 2);
    kill(started.launcher(), signal);
    EXPECT_EQ(started.wait(), 128 + signal);
    EXPECT_THAT(started.output(),
                ::testing::ContainsRegex("trireme: got signal [0-9]+ \\([A-Za-z]+\\); the job is ended\n"));
    EXPECT_FALSE(started.anything_left());
  }
}

TEST(crash, a_time_limit_ends_the_job) {
  launch_options options;
  options.command = {"sleep", "1000"};
  options.timeout_s = 0.05;
  launched_job started(options);
  expect_end(started, 124, "trireme: the job did not end within 0.05 s \\(--timeout\\); it is ended");
}

TEST(crash, a_program_that_cannot_be_executed) {
  launch_options options;
  options.command = {"/dev/null"};
  launched_job null(options);
  EXPECT_EQ(null.wait(), 126);
  EXPECT_THAT(null.output(), HasSubstr("'/dev/null' is not executable (Permission denied)"));
  options.command = {"no-such-program"};
  launched_job missing(options);
  EXPECT_EQ(missing.wait(), 126);
  EXPECT_EQ(missing.output(), "launch: there is no program 'no-such-program' in PATH\n");
}

// A pipe that nobody reads while it is full.
struct stalled_reader : os::pipe_ends {
  stalled_reader() : pipe_ends(os::open_pipe()) {}
  bool full() const {
    pollfd room{write.get(), POLLOUT, 0};
    return poll(&room, 1, 0) == 0;
  }
  void wait_until_full() const {
    while (!full()) usleep(1000);
  }
};

void wait_for_text(const launched_job& started, const std::string& text) {
  while (started.output().find(text) == std::string::npos) usleep(1000);
}

pid_t wait_for_pid(const launched_job& started) {
  while (true) {
    const std::string text = started.output();
    if (const auto at = text.find("pid "); at != std::string::npos && text.find('\n', at) != std::string::npos)
      return std::atoi(text.c_str() + at + 4);
    usleep(1000);
  }
}

TEST(crash, a_reader_that_stopped_does_not_keep_the_job_alive) {
  const stalled_reader reader;
  launch_options options = probe(2, {"flood", "1"});
  options.label = true;
  launched_job started(options, reader.write.get());
  const pid_t chosen = wait_for_pid(started);
  wait_for_text(started, "flooded\n");
  kill(chosen, SIGKILL);
  EXPECT_EQ(started.wait(), 128 + SIGKILL);
  EXPECT_THAT(started.output(), HasSubstr("ended by signal 9 (Killed); the job is ended\n"));
  EXPECT_THAT(started.output(), HasSubstr("the output of the job is not read"));
  EXPECT_FALSE(started.anything_left());
}

TEST(crash, an_interrupt_reaches_a_launcher_whose_reader_stopped) {
  const stalled_reader reader;
  launch_options options = probe(2, {"flood", "1"});
  options.label = true;
  launched_job started(options, reader.write.get());
  wait_for_pid(started);
  reader.wait_until_full();
  kill(started.launcher(), SIGINT);
  EXPECT_EQ(started.wait(), 128 + SIGINT);
  EXPECT_FALSE(started.anything_left());
}

TEST(crash, a_full_standard_error_does_not_keep_the_job_alive) {
  const stalled_reader reader;
  const os::unique_fd filler(
      open(("/proc/self/fd/" + std::to_string(reader.write.get())).c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  const std::string page(4096, 'x');
  while (write(filler.get(), page.data(), page.size()) > 0) {
  }
  launched_job started(probe(2, {"crash", "1"}), -1, reader.write.get());
  EXPECT_EQ(started.wait(), 128 + SIGKILL);
  EXPECT_FALSE(started.anything_left());
}

TEST(crash, after_a_clean_end_a_slow_reader_gets_everything) {
  constexpr int lines = 100'000;  // much more than a pipe holds
  stalled_reader reader;
  launch_options options = probe(1, {"lines", std::to_string(lines)});
  options.label = true;
  launched_job started(options, reader.write.get());
  reader.wait_until_full();
  reader.write.reset();
  std::string expected, received;
  for (int i = 0; i < lines; ++i) expected += "[0] " + std::to_string(i) + "\n";
  char buffer[1000];
  for (ssize_t length = 0; (length = read(reader.read.get(), buffer, sizeof buffer)) > 0;)
    received.append(buffer, static_cast<std::size_t>(length));
  EXPECT_EQ(received, expected);
  EXPECT_EQ(started.wait(), 0);
}

}  // namespace
}  // namespace tri::launch
