// One host alone, with the test as its launcher: what the launcher's loop sees when the remote shell outlives the
// agent.
#include "launch/remote_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <limits>

#include "launch/launcher_mode.hpp"
#include "os/clock.hpp"
#include "os/process_tree.hpp"

namespace tri::launch {
namespace {

using ::testing::HasSubstr;

// Keeps what it is told.
class record final : public process_events {
 public:
  void started(int, pid_t) override { ++processes; }
  void said(int, pid_t, const boot::bootstrap_message&) override {}
  void disconnected(int) override {}
  void broke_protocol(int, const std::string&) override {}
  void exited(int, int) override {}
  void stopped(int, bool) override {}
  void printed(int, bool, std::string_view text) override { output += text; }
  bool wants_output(bool) override { return true; }

  int processes = 0;
  std::string output;
};

struct watched_host {
  explicit watched_host(std::int64_t shell_timeout_ns)
      : host(job(shell_timeout_ns), mode, events, [this](const std::string& text) { failure = text; }) {}
  ~watched_host() {
    os::end_descendants([] {});
  }

  static remote_job job(std::int64_t shell_timeout_ns) {
    remote_job job;
    job.host = "surviving";
    job.shell = {REMOTE_SHELL};
    job.agent = AGENT;
    job.folder = "/";
    job.command = {"/bin/sleep", "1000"};
    job.shell_timeout_ns = shell_timeout_ns;
    return job;
  }

  // A step of the launcher's loop.
  void step() {
    std::vector<pollfd> watched{{mode.signals(), POLLIN, 0}};
    host.watch(watched);
    int timeout_ms = -1;
    if (const auto next_ns = host.next_ns())
      timeout_ms = static_cast<int>(std::clamp<std::int64_t>((*next_ns - os::now_ns()) / 1'000'000 + 1, 0, 1000));
    poll(watched.data(), watched.size(), timeout_ms);
    signalfd_siginfo info{};
    while (read(mode.signals(), &info, sizeof info) == sizeof info) {
    }
    host.collect();
  }

  // Kills the agent once its process runs.
  void kill_agent() {
    while (events.processes == 0) step();
    const std::string words = "agent of surviving: ";
    while (events.output.find('\n') == std::string::npos) step();
    kill(static_cast<pid_t>(std::stol(events.output.substr(events.output.find(words) + words.size()))), SIGKILL);
  }

  launcher_mode mode;
  record events;
  std::string failure;
  remote_host host;
};

TEST(remote_host, the_loop_goes_on_while_the_shell_outlives_the_agent) {
  watched_host each(std::numeric_limits<std::int64_t>::max() / 4);
  each.kill_agent();
  // Printed after the connection was closed; the shell lives on, and collect() has come back nevertheless.
  while (each.events.output.find("the agent of surviving has ended") == std::string::npos) each.step();
  while (!each.host.next_ns()) each.step();
  each.host.collect();
  EXPECT_FALSE(each.host.ended());
  each.host.give_up("enough");
  EXPECT_EQ(each.failure, "enough");
}

TEST(remote_host, a_shell_that_outlives_the_agent_is_killed) {
  watched_host each(1'000'000);
  each.kill_agent();
  while (!each.host.ended()) each.step();
  EXPECT_THAT(each.failure, HasSubstr("the connection to its agent was lost ("));
  EXPECT_THAT(each.failure, HasSubstr("ended by signal 9 (Killed)"));
}

}  // namespace
}  // namespace tri::launch
