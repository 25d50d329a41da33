#include "launch/job_monitor.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <utility>

#include "boot/job.hpp"
#include "launch/exit_status.hpp"

namespace tri::launch {
namespace {

// After a crash the others end by SIGTERM, or by SIGKILL after this time: in all less than a second.
constexpr int grace_after_crash_ms = 300;
// After Ctrl-C or a time limit they have this long to clean up.
constexpr int grace_after_interrupt_ms = 1000;
// How long a process may exist after it closed its connection without leaving, before that is reported. Its exit, a
// better message, usually follows within a millisecond.
constexpr int grace_after_disconnect_ms = 200;

}  // namespace

job_monitor::job_monitor(boot::layout machines, std::vector<std::string> names)
    : machines_(std::move(machines)),
      names_(std::move(names)),
      members_(static_cast<std::size_t>(machines_.processes())) {}

std::string job_monitor::name(int process) const {
  std::string where;
  if (machines_.hosts() > 1)
    where = " on " + names_[static_cast<std::size_t>(machines_.host_of(process))];
  else if (hosts().hosts() > 1)
    where = fmt::format(" on emulated host {}", host_of_process(process));
  return fmt::format("process {} (pid {}){}", process, at(process).pid, where);
}

// Real hosts, or emulated ones once a process has joined with their number.
boot::layout job_monitor::hosts() const {
  const int any = first_joined();
  if (any < 0 || machines_.hosts() > 1) return machines_;
  const int processes = machines_.processes();
  return boot::layout::even(processes, std::clamp(at(any).hello.hosts, 1, processes));
}

int job_monitor::host_of_process(int process) const { return hosts().host_of(process); }

int job_monitor::first_joined() const {
  for (std::size_t i = 0; i < members_.size(); ++i)
    if (members_[i].ever_joined) return static_cast<int>(i);
  return -1;
}

void job_monitor::started(int process, pid_t pid) { at(process).pid = pid; }

std::string job_monitor::mismatch(int process, int other) const {
  return difference_between(at(process).hello, at(other).hello, name(other));
}

std::optional<std::string> job_monitor::hello(int process, pid_t pid, const boot::hello_message& hello) {
  if (process < 0 || process >= static_cast<int>(members_.size())) {
    return fmt::format("there is no process {} in this job of {}", process, members_.size());
  }
  member& joining = at(process);
  if (joining.ever_joined || joining.now != state::starting) {
    return fmt::format(
        "process {} of this job has joined already; a program that is started by a process of a job does not belong to "
        "it: "
        "remove TRIREME_JOB "
        "from its environment, or start it with `trireme run`",
        process);
  }
  if (hello.hosts < 1 || hello.hosts > static_cast<int>(members_.size())) {
    return fmt::format("hosts is {}, it must be 1 .. {}, the number of processes", hello.hosts, members_.size());
  }
  const int other = first_joined();
  joining.pid = pid;
  joining.hello = hello;
  joining.now = state::joined;
  joining.ever_joined = true;
  if (other >= 0) {
    const std::string difference = mismatch(process, other);
    if (!difference.empty()) problem(process, 1, difference);
  }
  check_exit_before_join();
  const bool complete =
      std::all_of(members_.begin(), members_.end(), [](const member& each) { return each.ever_joined; });
  // The table goes to one process after the other: the number of descriptors in flight is limited (ETOOMANYREFS).
  if (complete && !ending_) actions_.push_back(send_peers{0});
  return std::nullopt;
}

void job_monitor::peers_taken(int process) {
  const bool in_turn =
      at(process).now == state::joined && !at(process).took_peers && (process == 0 || at(process - 1).took_peers);
  if (!in_turn) return broke_protocol(process, "'peers taken' at a wrong moment");
  at(process).took_peers = true;
  if (ending_) return;
  if (process + 1 < static_cast<int>(members_.size())) {
    actions_.push_back(send_peers{process + 1});
  } else {
    actions_.push_back(send_to_all{boot::start_message{}});
  }
}

void job_monitor::barrier(int process, std::uint64_t epoch) {
  if (at(process).now != state::joined || !at(process).took_peers || epoch != barrier_ + 1 ||
      at(process).epoch == epoch) {
    return broke_protocol(process, fmt::format("barrier {} at a wrong moment", epoch));
  }
  at(process).epoch = epoch;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i].now == state::joined) continue;
    return problem(process, 1, fmt::format("waits in a barrier, but {} has left the job", name(static_cast<int>(i))));
  }
  for (const member& each : members_)
    if (each.epoch != epoch) return;
  barrier_ = epoch;
  if (!ending_) actions_.push_back(send_to_all{boot::released_message{epoch}});
}

void job_monitor::published_address(int process, std::vector<std::byte> address) {
  if (at(process).now != state::joined || at(process).address)
    return broke_protocol(process, "a network address at a wrong moment");
  at(process).address = std::move(address);
}

void job_monitor::wanted_address(int process, const boot::wanted_address_message& wanted) {
  if (at(process).now != state::joined || wanted.process < 0 || wanted.process >= static_cast<int>(members_.size()))
    return broke_protocol(process, fmt::format("the network address of process {} at a wrong moment", wanted.process));
  boot::address_message answer;
  answer.about = {wanted.process, wanted.question, at(wanted.process).address ? 1u : 0u, 0};
  answer.address = at(wanted.process).address.value_or(std::vector<std::byte>());
  actions_.push_back(send_to{process, std::move(answer)});
}

void job_monitor::left(int process, int exit_status) {
  if (at(process).now != state::joined) return broke_protocol(process, "'left' at a wrong moment");
  at(process).now = state::left;
  at(process).exit_status = exit_status;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i].now == state::joined && members_[i].epoch > barrier_) {
      return problem(static_cast<int>(i), 1, fmt::format("waits in a barrier, but {} has left the job", name(process)));
    }
  }
}

void job_monitor::failed(int process, const std::string& text) {
  // It ends by itself after it has written out its standard output; the grace time covers that.
  end(1, fmt::format("{}: {}", name(process), text), SIGTERM, process, grace_after_crash_ms);
}

void job_monitor::broke_protocol(int process, const std::string& text) {
  problem(process, 1, fmt::format("broke the bootstrap protocol: {}", text));
}

void job_monitor::disconnected(int process) {
  if (at(process).now != state::joined || ending_) return;
  at(process).lost = true;
  actions_.push_back(start_timer{grace_after_disconnect_ms});
}

void job_monitor::exited(int process, int wait_status) {
  member& gone = at(process);
  if (gone.now == state::exited) return;
  const state before = std::exchange(gone.now, state::exited);
  gone.lost = false;
  gone.exit_status = shell_status(wait_status);
  if (WIFSIGNALED(wait_status) && (sent_signals_ >> WTERMSIG(wait_status) & 1) == 0) {
    lost_process_ = true;
    lost_processes_.push_back(process);
  }
  if (WIFSIGNALED(wait_status)) return problem(process, gone.exit_status, describe_exit(wait_status));
  if (before == state::joined) {
    return problem(process, std::max(gone.exit_status, 1), describe_exit(wait_status) + " without leaving the job");
  }
  check_exit_before_join();
}

void job_monitor::stopped_too_long(int process, double seconds) {
  if (at(process).now == state::exited) return;
  problem(process, 1, fmt::format("has been stopped by a signal for {} s (--peer-timeout)", seconds));
}

void job_monitor::machine_failed(int machine, const std::string& text) {
  const int first = machines_.first_process_of(machine);
  bool some = false;
  for (int i = first; i < first + machines_.processes_of(machine); ++i) {
    if (std::exchange(at(i).now, state::exited) == state::exited) continue;
    some = true;
    lost_processes_.push_back(i);
  }
  if (!some) return;
  lost_process_ = true;
  lost_machines_.push_back(machine);
  end(1, fmt::format("host {}: {}; the job is ended", names_[static_cast<std::size_t>(machine)], text), SIGTERM, -1,
      grace_after_crash_ms);
}

// If a process ends before it joins, those that have joined would wait for ever.
void job_monitor::check_exit_before_join() {
  const int other = first_joined();
  if (other < 0) return;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const member& each = members_[i];
    if (each.now != state::exited || each.ever_joined) continue;
    return problem(static_cast<int>(i), std::max(each.exit_status, 1),
                   fmt::format("exited with status {} before it joined the job, which {} has joined", each.exit_status,
                               name(other)));
  }
}

void job_monitor::problem(int process, int status, const std::string& text) {
  end(status, fmt::format("{} {}; the job is ended", name(process), text), SIGTERM, -1, grace_after_crash_ms);
}

void job_monitor::send_signal(int signal, int except) {
  sent_signals_ |= std::uint64_t{1} << signal;
  actions_.push_back(signal_all{signal, except});
}

void job_monitor::end(int status, const std::string& text, int signal, int except, int grace_ms) {
  if (ending_) return;
  ending_ = true;
  status_ = status;
  if (signal != 0) send_signal(signal, except);  // first: nothing may delay it
  actions_.push_back(start_timer{grace_ms});
  actions_.push_back(print{"trireme: " + text});
}

// The first request counts.
int job_monitor::request_end(int status) {
  if (!requested_status_) requested_status_ = status;
  return *requested_status_;
}

void job_monitor::interrupted(int signal, bool all_have_it) {
  const int status = request_end(128 + signal);
  if (ending_) {  // the user insists
    send_signal(SIGKILL, -1);
    return;
  }
  const char* const text = sigdescr_np(signal);
  end(status, fmt::format("got signal {} ({}); the job is ended", signal, text != nullptr ? text : "unnamed"),
      all_have_it ? 0 : signal, -1, grace_after_interrupt_ms);
}

void job_monitor::out_of_time(double timeout_s) {
  end(request_end(124), fmt::format("the job did not end within {} s (--timeout); it is ended", timeout_s), SIGTERM, -1,
      grace_after_interrupt_ms);
}

// As in a pipeline whose reader has ended: the status of SIGPIPE.
void job_monitor::output_failed(int error) {
  end(request_end(error == EPIPE ? 128 + SIGPIPE : 1),
      fmt::format("the output of the job cannot be written: {}; the job is ended",
                  std::generic_category().message(error)),
      SIGTERM, -1, grace_after_interrupt_ms);
}

void job_monitor::timer_expired() {
  if (ending_) {
    send_signal(SIGKILL, -1);
    return;
  }
  for (std::size_t i = 0; i < members_.size(); ++i)
    if (members_[i].lost) return problem(static_cast<int>(i), 1, "closed its connection without leaving the job");
}

std::optional<pid_t> job_monitor::lost_here() const {
  if (machines_.hosts() > 1 || ending_) return std::nullopt;
  for (const member& each : members_)
    if (each.lost) return each.pid;
  return std::nullopt;
}

std::vector<job_monitor::action> job_monitor::take_actions() { return std::exchange(actions_, {}); }

bool job_monitor::finished() const {
  return std::all_of(members_.begin(), members_.end(), [](const member& each) { return each.now == state::exited; });
}

int job_monitor::exit_status() const {
  if (ending_) return status_;
  for (const member& each : members_)
    if (each.exit_status != 0) return each.exit_status;
  return 0;
}

boot::peer_entry job_monitor::entry_of(int process) const {
  boot::peer_entry entry;
  entry.process = process;
  entry.pid = at(process).pid;
  const boot::layout all = hosts();
  entry.host = all.host_of(process);
  entry.local_rank = all.local_rank_of(process);
  entry.has_arena = at(process).hello.has_arena;
  return entry;
}

}  // namespace tri::launch
