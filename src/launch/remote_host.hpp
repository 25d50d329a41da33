// The processes of a job on another host, through `trireme agent`, which a remote shell (ssh) starts there. The shell's
// standard input and output are the connection: it is as safe as the shell makes it, no port is opened, and when one
// end dies the other sees it. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "launch/host_link.hpp"
#include "launch/host_processes.hpp"
#include "launch/launcher_mode.hpp"

namespace tri::launch {

struct remote_job {
  std::string host;
  std::vector<std::string> shell;  // the remote shell and its options; the host and a command follow
  std::string agent;               // path of the program `trireme` there
  bool may_be_lost = false;        // see launch_options::hosts_may_be_lost
  int first = 0;
  int count = 1;
  int processes = 1;
  int machines = 1;
  std::string folder;
  std::vector<std::string> environment;  // "NAME=value", added to that of the host
  std::vector<std::string> command;
  double peer_timeout_s = 30;
  std::int64_t shell_timeout_ns = 500'000'000;  // for how long the shell may outlive its connection
};

class remote_host final : public host_processes {
 public:
  // Starts the shell. `failed` is called when the host is of no use any more, and why; its processes count as gone.
  remote_host(const remote_job& job, const launcher_mode& mode, process_events& events,
              std::function<void(const std::string&)> failed);

  void watch(std::vector<pollfd>& watched) const override;
  void collect() override;  // throws start_error when the agent or the program cannot be started
  bool read_output() override { return false; }
  void send(int process, const boot::bootstrap_message& message) override;
  void refuse(int process, const std::string& text) override;
  void signal(int signal, int except) override;
  void end() override;
  bool ended() const override { return gone_; }
  // At its end: of the last checkpoint in the memory of the host; 0: there is none, or nothing is known.
  std::uint64_t last_checkpoint() const { return last_checkpoint_; }

  // For the launcher's clock: the time of the last message, the time to call collect() without an event, and a sign of
  // life of ours.
  std::int64_t heard_ns() const { return heard_ns_; }
  std::optional<std::int64_t> next_ns() const { return gone_ ? std::nullopt : shell_until_ns_; }
  void send_heartbeat() { say({.kind = link_kind::heartbeat}); }
  void give_up(const std::string& text);  // it has been silent for too long

  // For those who watch the job: its name, its first process and how many it has, and a question to its agent.
  const std::string& name() const { return job_.host; }
  std::pair<int, int> processes() const { return {job_.first, job_.count}; }
  void ask_figures(int watcher, std::int64_t number, const std::string& text) {
    if (greeted_) say({.kind = link_kind::figures, .process = watcher, .number = number, .text = text});
  }
  // Called with each answer.
  void give_figures_to(std::function<void(const link_message&)> take) { take_figures_ = std::move(take); }

 private:
  void say(const link_message& message);
  void read_errors();
  void greeted();
  void handle(const link_message& message);
  void connection_is_closed();
  void shell_has_ended();
  void acknowledge_output();
  int checked_process(const link_message& message) const;

  remote_job job_;
  process_events& events_;
  std::function<void(const std::string&)> failed_;
  std::function<void(const link_message&)> take_figures_;
  std::string token_;
  pid_t shell_ = -1;
  std::optional<int> shell_status_;             // its wait status
  std::optional<std::int64_t> shell_until_ns_;  // the connection is closed, and the shell has until then to end
  bool shell_killed_ = false;
  std::optional<host_link> link_;
  os::unique_fd errors_;    // its standard error
  std::string error_text_;  // its error output before the agent answered
  bool greeted_ = false;
  bool ending_ = false;
  std::uint64_t last_checkpoint_ = 0;
  bool gone_ = false;
  std::int64_t heard_ns_ = 0;
  std::int64_t unacknowledged_[2] = {0, 0};  // bytes of standard output and of standard error
};

}  // namespace tri::launch
