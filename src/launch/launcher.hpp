// Starts the processes of a job, on this machine or on several hosts (through a remote shell and `trireme agent`),
// connects them (src/boot/README.md), monitors them, and ends the job when one of them fails. job_monitor decides; here
// is the I/O. The calling process becomes the launcher: one thread, it reaps all its children and blocks the signals
// that it handles while launch() runs.
#pragma once

#include <signal.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tri::launch {

struct launch_options {
  int processes = 1;
  std::vector<std::string> command;                              // program and its arguments
  std::vector<std::pair<std::string, std::string>> environment;  // added to the inherited one
  bool label = false;                     // prefix lines of output with the number of their process
  double timeout_s = 0;                   // 0 = none
  std::vector<std::string> hosts;         // empty = this one
  std::vector<std::string> remote_shell;  // with its options; the host and a command follow
  std::string agent;                      // path of the command `trireme` on the hosts
  bool hosts_may_be_lost = false;         // one that cannot be reached is like one that is lost, not a start_error
  int further_signal = 0;                 // that does not end the job, but calls this; 0: none
  std::function<void()> on_further_signal;
  const sigset_t* mask_of_processes = nullptr;  // of their signals; null: the caller's
  double peer_timeout_s = 30;  // a process stopped or a host silent for this long ends the job; 0 = never
};

inline constexpr int most_launched_processes = 4096;

// Runs the job to its end and returns its exit status: the first one in rank order that is not 0; 128 + the signal that
// ended a process (or the launcher); 1 after job::fail() and mismatches; 124 after a timeout. Afterwards no process of
// the job exists. Throws start_error when a program cannot be started, std::system_error when the system refuses a
// resource.
int launch(const launch_options& options);

struct launch_outcome {
  int status = 0;                       // what launch() returns
  std::optional<int> requested_status;  // of an end by a signal to the launcher, a timeout, a reader that has ended
  bool lost_process = false;            // one ended by a signal that the launcher has not sent, or with its host
  std::vector<int> lost_machines;       // of launch_options::hosts
  std::vector<int> lost_processes;      // by rank
  std::vector<std::uint64_t> last_checkpoints;  // in memories of hosts (host_memory.hpp), of those that have some
};
// The same, and how it ended.
launch_outcome launch_once(const launch_options& options);

}  // namespace tri::launch
