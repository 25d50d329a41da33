// The launcher's decisions, without I/O: events from the processes of a job go in, actions come out. It knows which
// process is in which state, when an end is clean and when it is a crash, and what the job's exit status is. Owned by
// the launcher, one thread. States and transitions are in src/launch/README.md; after the first problem all further
// ones are ignored, so that exactly one message is printed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "boot/bootstrap_messages.hpp"
#include "boot/job_layout.hpp"

namespace tri::launch {

class job_monitor {
 public:
  // Actions, in the order of execution.
  struct send_peers {  // the table of processes to this one
    int process;
  };
  struct send_to_all {  // to all that have joined and are connected
    boot::bootstrap_message message;
  };
  struct send_to {  // to this one
    int process;
    boot::bootstrap_message message;
  };
  struct print {
    std::string text;
  };
  struct signal_all {  // to every process of the job and its descendants, but not to those of `except` (-1: no
                       // exception)
    int signal;
    int except;
  };
  struct start_timer {  // call timer_expired() after this time; replaces an older timer
    int milliseconds;
  };
  using action = std::variant<send_peers, send_to_all, send_to, print, signal_all, start_timer>;

  explicit job_monitor(int processes) : job_monitor(boot::layout::even(processes, 1), {}) {}
  // On several machines; their names are for messages.
  job_monitor(boot::layout machines, std::vector<std::string> names);

  // Events. `process` is a rank.
  void started(int process, pid_t pid);
  // Accepts the process, or returns why it is not part of the job (then close the connection).
  std::optional<std::string> hello(int process, pid_t pid, const boot::hello_message& hello);
  void peers_taken(int process);
  void barrier(int process, std::uint64_t epoch);
  void published_address(int process, std::vector<std::byte> address);
  void wanted_address(int process, const boot::wanted_address_message& wanted);
  void left(int process, int exit_status);
  void failed(int process, const std::string& text);
  void disconnected(int process);                             // its socket was closed
  void broke_protocol(int process, const std::string& text);  // sent something impossible
  void exited(int process, int wait_status);
  void stopped_too_long(int process, double seconds);         // by a signal such as SIGSTOP
  void machine_failed(int machine, const std::string& text);  // and with it its processes
  void interrupted(int signal, bool all_have_it);             // all_have_it: the terminal sent it to the whole group
  void out_of_time(double timeout_s);
  void output_failed(int error);  // errno: the processes' output cannot be written
  void timer_expired();
  /// The first process of this machine that has closed its connection without leaving and has not been reaped; its pid.
  std::optional<pid_t> lost_here() const;

  std::vector<action> take_actions();

  bool finished() const;  // all processes have exited
  bool ending() const { return ending_; }
  int exit_status() const;
  // The status of an end that the user asked for: by a signal, a time limit, a reader that has ended. It may have come
  // while the job ended for another reason, whose status exit_status() has.
  std::optional<int> requested_status() const { return requested_status_; }
  // A process ended by a signal that no action has sent, or a machine failed: not by the program's will.
  bool lost_process() const { return lost_process_; }
  const std::vector<int>& lost_machines() const { return lost_machines_; }
  // Those processes, by rank: all of them that ended before the launcher has ended the others.
  const std::vector<int>& lost_processes() const { return lost_processes_; }
  boot::peer_entry entry_of(int process) const;  // for send_peers; of a process that has joined

 private:
  enum class state : std::uint8_t { starting, joined, left, exited };
  struct member {
    state now = state::starting;
    bool ever_joined = false;
    bool took_peers = false;
    bool lost = false;  // its connection is closed, but it has not left: it is about to be seen as exited
    pid_t pid = 0;
    int exit_status = 0;
    std::uint64_t epoch = 0;
    boot::hello_message hello;
    std::optional<std::vector<std::byte>> address;
  };

  member& at(int process) { return members_[static_cast<std::size_t>(process)]; }
  const member& at(int process) const { return members_[static_cast<std::size_t>(process)]; }
  std::string name(int process) const;  // "process 1 (pid 4711) on node7"; the host only where there are several
  boot::layout hosts() const;
  int host_of_process(int process) const;
  int first_joined() const;  // -1 for none
  // The difference that keeps two processes from being one job; empty for none.
  std::string mismatch(int process, int other) const;
  void send_signal(int signal, int except);
  void end(int status, const std::string& text, int signal, int except, int grace_ms);
  int request_end(int status);
  void problem(int process, int status, const std::string& text);
  void check_exit_before_join();

  boot::layout machines_;
  std::vector<std::string> names_;  // of the machines
  std::vector<member> members_;
  std::vector<action> actions_;
  bool ending_ = false;
  int status_ = 0;  // of the problem that ended the job
  std::optional<int> requested_status_;
  bool lost_process_ = false;
  std::vector<int> lost_machines_;
  std::vector<int> lost_processes_;
  std::uint64_t sent_signals_ = 0;  // a bit for each that an action has sent
  std::uint64_t barrier_ = 0;
};

}  // namespace tri::launch
