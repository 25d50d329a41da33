// Jobs on several hosts, through agents: a script stands for the remote shell and runs them here. The hosts share a
// kernel, but neither arenas nor sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <sstream>

#include "boot/launched_job.hpp"

namespace tri::launch {
namespace {

using boot::testing::launched_job;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

launch_options on_hosts(std::vector<std::string> hosts, int processes, std::vector<std::string> arguments) {
  launch_options options = boot::testing::probe(processes, std::move(arguments));
  options.hosts = std::move(hosts);
  options.remote_shell = {REMOTE_SHELL};
  options.agent = AGENT;
  return options;
}

// Without the lines of the remote shell.
std::vector<std::string> sorted_lines(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);)
    if (!line.starts_with("agent of ") && !line.starts_with("the agent of ")) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  return lines;
}

std::string only_line(const std::string& text) {
  const std::vector<std::string> lines = sorted_lines(text);
  return lines.size() == 1 ? lines[0] : "not one line: " + text;
}

// Of the agent of a host, once it has said so.
pid_t agent_of(const launched_job& job, const std::string& host) {
  const std::string words = "agent of " + host + ": ";
  while (true) {
    const std::string output = job.output();
    const std::size_t found = output.find(words);
    if (found != std::string::npos && output.find('\n', found) != std::string::npos)
      return static_cast<pid_t>(std::stol(output.substr(found + words.size())));
    usleep(1000);
  }
}

TEST(several_hosts, share_no_memory) {
  launched_job started(on_hosts({"a", "b"}, 5, {"exchange"}));
  EXPECT_EQ(started.wait(), 0) << started.output();
  const std::string first = ": 0.0=memory-0 0.1=memory-1 1.0=none 1.1=none 1.2=none";
  const std::string second = ": 0.0=none 0.1=none 1.0=memory-2 1.1=memory-3 1.2=memory-4";
  std::vector<std::string> expected;
  for (int i = 0; i < 5; ++i) {
    expected.push_back("process " + std::to_string(i) + " of 5 on host " + (i < 2 ? "0" : "1") + " of 2, pes 1" +
                       (i < 2 ? first : second));
  }
  EXPECT_EQ(sorted_lines(started.output()), expected);
  EXPECT_FALSE(started.anything_left());
}

TEST(several_hosts, addresses_are_fetched_across) {
  launched_job started(on_hosts({"a", "b", "c"}, 4, {"addresses", "2"}));
  EXPECT_EQ(started.wait(), 0) << started.output();
  std::vector<std::string> expected;
  for (int i = 0; i < 4; ++i) expected.push_back("process " + std::to_string(i) + ": 0 wrong addresses");
  EXPECT_EQ(sorted_lines(started.output()), expected);
}

TEST(several_hosts, what_the_login_prints_does_no_harm) {
  launched_job started(on_hosts({"talkative", "b"}, 2, {"leave", "3"}));
  EXPECT_EQ(started.wait(), 3) << started.output();
  EXPECT_EQ(sorted_lines(started.output()), std::vector<std::string>{});
}

TEST(several_hosts, all_output_arrives_labelled) {
  launch_options options = on_hosts({"a", "b"}, 2, {"lines", "20000"});
  options.label = true;
  launched_job started(options);
  EXPECT_EQ(started.wait(), 0);
  std::vector<std::string> lines = sorted_lines(started.output());
  for (const std::string& line : lines)
    if (line.starts_with("[") == false) ADD_FAILURE() << line;
  ASSERT_EQ(lines.size(), 40000u);
  std::vector<std::string> expected;
  for (int process = 0; process < 2; ++process)
    for (int i = 0; i < 20000; ++i) expected.push_back("[" + std::to_string(process) + "] " + std::to_string(i));
  std::sort(expected.begin(), expected.end());
  EXPECT_TRUE(lines == expected);
}

TEST(several_hosts, a_killed_process_ends_the_job) {
  launched_job started(on_hosts({"a", "b"}, 4, {"crash", "3"}));
  EXPECT_EQ(started.wait(), 128 + SIGKILL);
  EXPECT_THAT(
      only_line(started.output()),
      MatchesRegex("trireme: process 3 \\(pid [0-9]+\\) on b ended by signal 9 \\(Killed\\); the job is ended"));
  EXPECT_FALSE(started.anything_left());
}

TEST(several_hosts, different_builds) {
  launched_job started(on_hosts({"a", "b"}, 2, {"mismatch", "1"}));
  EXPECT_EQ(started.wait(), 1);
  EXPECT_THAT(only_line(started.output()),
              MatchesRegex("trireme: process [01] .* on [ab] runs a different build of the program than process [01] "
                           ".* on [ab] .*; the job is ended"));
}

TEST(several_hosts, fail_is_told_once) {
  launched_job started(on_hosts({"a", "b"}, 4, {"fail", "2"}));
  EXPECT_EQ(started.wait(), 1);
  EXPECT_THAT(started.output(), HasSubstr("buffered output\n"));
  EXPECT_THAT(started.output(),
              ::testing::ContainsRegex("trireme: process 2 \\(pid [0-9]+\\) on b: the disk is full\n"));
}

TEST(several_hosts, one_that_cannot_be_reached_is_named) {
  launched_job started(on_hosts({"a", "unreachable"}, 2, {"ready"}));
  EXPECT_EQ(started.wait(), 126);
  EXPECT_THAT(
      only_line(started.output()),
      MatchesRegex("launch: cannot start on host unreachable: .*remote_shell.sh exited with status 255: connect "
                   "to host unreachable port 22: No route to host"));
  started.wait_until_nothing_is_left();
}

TEST(several_hosts, one_without_the_agent_is_named) {
  launch_options options = on_hosts({"a"}, 1, {"ready"});
  options.hosts = {"a", "b"};
  options.processes = 2;
  options.agent = "/nowhere/trireme";
  launched_job started(options);
  EXPECT_EQ(started.wait(), 126);
  EXPECT_THAT(only_line(started.output()),
              MatchesRegex("launch: cannot start on host [ab]: .*remote_shell.sh exited with status 127: .*; is "
                           "/nowhere/trireme there\\?"));
  started.wait_until_nothing_is_left();
}

TEST(several_hosts, a_missing_program_is_named) {
  launch_options options = on_hosts({"a", "b"}, 2, {});
  options.command = {"/nowhere/app"};
  launched_job started(options);
  EXPECT_EQ(started.wait(), 126);
  EXPECT_THAT(only_line(started.output()),
              MatchesRegex("launch: host [ab]: there is no program '/nowhere/app' \\(No such file or directory\\)"));
  started.wait_until_nothing_is_left();
}

TEST(several_hosts, a_killed_agent_ends_the_job) {
  launched_job started(on_hosts({"a", "b"}, 4, {"ready"}));
  started.wait_for_lines("ready", 4);
  kill(agent_of(started, "b"), SIGKILL);
  EXPECT_EQ(started.wait(), 1);
  EXPECT_THAT(started.output(), HasSubstr("\ntrireme: host b: the connection to its agent was lost ("));
  EXPECT_THAT(started.output(), HasSubstr("ended by signal 9 (Killed)); the job is ended\n"));
  started.wait_until_nothing_is_left();
}

// As ssh does when the network goes between the end of the output and that of the channel.
TEST(several_hosts, a_remote_shell_that_outlives_its_agent_is_not_waited_for) {
  launched_job started(on_hosts({"a", "surviving"}, 4, {"ready"}));
  started.wait_for_lines("ready", 4);
  kill(agent_of(started, "surviving"), SIGKILL);
  EXPECT_EQ(started.wait(), 1);
  EXPECT_THAT(started.output(), HasSubstr("\ntrireme: host surviving: the connection to its agent was lost ("));
  started.wait_until_nothing_is_left();
}

TEST(several_hosts, a_remote_shell_that_never_lets_the_agent_speak_is_named) {
  launched_job started(on_hosts({"a", "shut"}, 2, {"ready"}));
  EXPECT_EQ(started.wait(), 126);
  EXPECT_THAT(only_line(started.output()), MatchesRegex("launch: cannot start on host shut: .*remote_shell.sh ended by "
                                                        "signal 9 \\(Killed\\)"));
  started.wait_until_nothing_is_left();
}

TEST(several_hosts, a_killed_launcher_leaves_nothing) {
  launched_job started(on_hosts({"a", "b"}, 4, {"ready"}));
  started.wait_for_lines("ready", 4);
  kill(started.launcher(), SIGKILL);
  EXPECT_EQ(started.wait(), 128 + SIGKILL);
  started.wait_until_nothing_is_left();
}

TEST(several_hosts, an_interrupt_ends_all) {
  launched_job started(on_hosts({"a", "b"}, 4, {"ready"}));
  started.wait_for_lines("ready", 4);
  kill(started.launcher(), SIGINT);
  EXPECT_EQ(started.wait(), 128 + SIGINT);
  EXPECT_THAT(started.output(), HasSubstr("trireme: got signal 2 (Interrupt); the job is ended\n"));
  EXPECT_FALSE(started.anything_left());
}

// Nor does it run there when it answers in the end.
TEST(several_hosts, an_end_does_not_wait_for_a_host_that_has_not_answered) {
  launch_options options = on_hosts({"a", "silent"}, 2, {"ready"});
  options.peer_timeout_s = 0;
  launched_job started(options);
  agent_of(started, "a");
  kill(started.launcher(), SIGTERM);
  EXPECT_EQ(started.wait(), 128 + SIGTERM);
  started.wait_until_nothing_is_left();
}

// Only processes of the launcher's own host have the signal from the terminal.
TEST(several_hosts, an_interrupt_from_the_terminal_reaches_all) {
  launch_options options = on_hosts({"a", "b"}, 2, {});
  options.command = {"/bin/sh", "-c", "trap 'echo heard; exit 0' INT; sleep 1000 & echo ready; wait"};
  int terminal = -1;
  const pid_t launcher = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (launcher == 0) _exit(launch(options));
  std::string output;
  const auto read_some = [&] {
    char buffer[4096];
    const ssize_t length = read(terminal, buffer, sizeof buffer);
    output.append(buffer, static_cast<std::size_t>(std::max<ssize_t>(0, length)));
    return length > 0;
  };
  const auto count = [&](const std::string& word) {
    int found = 0;
    for (std::size_t at = output.find(word); at != std::string::npos; at = output.find(word, at + 1)) ++found;
    return found;
  };
  while (count("ready\r\n") < 2 && read_some()) {
  }
  ASSERT_EQ(write(terminal, "\x03", 1), 1);
  while (read_some()) {
  }
  int status = 0;
  waitpid(launcher, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGINT) << status;
  EXPECT_EQ(count("heard\r\n"), 2) << output;
  close(terminal);
}

TEST(several_hosts, one_that_is_not_heard_of_ends_the_job) {
  launch_options options = on_hosts({"a", "b"}, 4, {"ready"});
  options.peer_timeout_s = 0.5;
  launched_job started(options);
  started.wait_for_lines("ready", 4);
  kill(agent_of(started, "b"), SIGSTOP);
  EXPECT_EQ(started.wait(), 1);
  EXPECT_THAT(started.output(),
              HasSubstr("trireme: host b: nothing was heard of it for 0.5 s (--peer-timeout); the job is "
                        "ended\n"));
  started.wait_until_nothing_is_left();
}

TEST(several_hosts, a_login_that_never_answers_is_not_waited_for) {
  launch_options options = on_hosts({"a", "silent"}, 2, {"ready"});
  options.peer_timeout_s = 0.5;
  launched_job started(options);
  EXPECT_EQ(started.wait(), 1);
  EXPECT_THAT(started.output(), HasSubstr("trireme: host silent: nothing was heard of it for 0.5 s (--peer-timeout)"));
  started.wait_until_nothing_is_left();
}

}  // namespace
}  // namespace tri::launch
