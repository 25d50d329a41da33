#include "launch/launcher.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <system_error>

#include "boot/peer_table.hpp"
#include "config/configuration.hpp"
#include "config/variable_names.hpp"
#include "launch/job_monitor.hpp"
#include "launch/labelled_output.hpp"
#include "launch/launcher_mode.hpp"
#include "launch/local_processes.hpp"
#include "launch/nonblocking_output.hpp"
#include "launch/peer_timeouts.hpp"
#include "launch/remote_host.hpp"
#include "launch/watchers.hpp"
#include "os/child_process.hpp"
#include "os/clock.hpp"
#include "os/process_tree.hpp"

namespace tri::launch {
namespace {

constexpr std::int64_t ns_of_ms = 1'000'000;

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

// After a problem, the longest wait for a reader that does not read.
constexpr std::int64_t readers_timeout_ns = 500 * ns_of_ms;
// Agents end their processes within less than a second.
constexpr std::int64_t agents_timeout_ns = 3000 * ns_of_ms;

class launcher final : public process_events {
 public:
  explicit launcher(const launch_options& options)
      : options_(options),
        machines_(boot::layout::even(options.processes, std::max<int>(1, static_cast<int>(options.hosts.size())))),
        monitor_(machines_, options.hosts),
        mode_(options.further_signal, options.mask_of_processes),
        timeouts_(static_cast<std::int64_t>(options.peer_timeout_s * 1e9)) {
    if (!nonblocking_output::same_target(STDOUT_FILENO, STDERR_FILENO)) error_.emplace(STDERR_FILENO);
  }
  launcher(const launcher&) = delete;
  launcher& operator=(const launcher&) = delete;

  launch_outcome run() {
    if (options_.timeout_s > 0) deadline_ns_ = os::now_ns() + static_cast<std::int64_t>(options_.timeout_s * 1e9);
    start();
    while (!monitor_.finished()) step();
    end_groups();
    finish_output();
    if (end_where_output_failed()) own_error().flush();
    launch_outcome outcome{monitor_.exit_status(),   monitor_.requested_status(), monitor_.lost_process(),
                           monitor_.lost_machines(), monitor_.lost_processes(),   {}};
    for (const remote_host* each : hosts_)
      if (each->last_checkpoint() != 0) outcome.last_checkpoints.push_back(each->last_checkpoint());
    return outcome;
  }

 private:
  void start();
  void start_here();
  void start_on_hosts();
  void end_groups();
  void step();
  int wait_ms() const;
  void take_signals();
  void keep_time();
  void exchange_heartbeats(std::int64_t now);
  host_processes& group_of(int process) { return *groups_[static_cast<std::size_t>(machines_.host_of(process))]; }

  void started(int process, pid_t pid) override { monitor_.started(process, pid); }
  void said(int process, pid_t pid, const boot::bootstrap_message& message) override;
  void disconnected(int process) override { monitor_.disconnected(process); }
  void broke_protocol(int process, const std::string& text) override { monitor_.broke_protocol(process, text); }
  void exited(int process, int wait_status) override;
  void stopped(int process, bool stopped) override;
  void printed(int process, bool error, std::string_view text) override;
  bool wants_output(bool error) override { return !(error ? own_error() : output_).full(); }

  nonblocking_output& own_error() { return error_ ? *error_ : output_; }
  bool read_outputs();
  bool write_outputs();
  void watch_outputs(std::vector<pollfd>& watched) const;
  void finish_output();
  bool end_where_output_failed();
  void act();
  void act(const job_monitor::action& each);
  void send_table(int process);

  const launch_options& options_;
  boot::layout machines_;
  job_monitor monitor_;
  launcher_mode mode_;
  peer_timeouts timeouts_;           // by process: stopped by a signal
  std::int64_t last_report_ns_ = 0;  // when we last sent to the agents
  std::vector<remote_host*> hosts_;  // of groups_, when there are several hosts
  std::optional<watchers> watchers_;
  nonblocking_output output_{STDOUT_FILENO};
  std::optional<nonblocking_output> error_;  // none: the same as output_
  std::map<std::pair<int, bool>, labelled_output> labels_;
  std::optional<std::int64_t> timer_ns_;
  std::optional<std::int64_t> deadline_ns_;
  std::vector<std::unique_ptr<host_processes>> groups_;  // by machine; last: ends all, also after an exception
};

void launcher::start() { options_.hosts.empty() ? start_here() : start_on_hosts(); }

// The variables that a program and its libraries read; all others are as set by the login on that host.
bool travels(std::string_view variable) {
  constexpr std::string_view prefixes[] = {"TRIREME_", "UCX_", "OMP_", "GOMP_"};
  constexpr std::string_view names[] = {"LD_LIBRARY_PATH=", "PATH="};
  const auto begins = [&](std::string_view word) { return variable.starts_with(word); };
  return std::any_of(std::begin(prefixes), std::end(prefixes), begins) ||
         std::any_of(std::begin(names), std::end(names), begins);
}

void launcher::start_on_hosts() {
  remote_job job;
  job.shell = options_.remote_shell;
  job.agent = options_.agent;
  job.may_be_lost = options_.hosts_may_be_lost;
  job.processes = options_.processes;
  job.machines = machines_.hosts();
  job.folder = std::filesystem::current_path().string();
  job.command = options_.command;
  job.peer_timeout_s = options_.peer_timeout_s;
  for (const std::string& each : config::environment_of_this_process())
    if (travels(each)) job.environment.push_back(each);
  for (const auto& [name, value] : options_.environment) job.environment.push_back(fmt::format("{}={}", name, value));
  job.environment.push_back(fmt::format("{}={}", config::machine_names_variable, fmt::join(options_.hosts, ",")));
  for (int machine = 0; machine < machines_.hosts(); ++machine) {
    job.host = options_.hosts[static_cast<std::size_t>(machine)];
    job.first = machines_.first_process_of(machine);
    job.count = machines_.processes_of(machine);
    auto host = std::make_unique<remote_host>(
        job, mode_, *this, [this, machine](const std::string& text) { monitor_.machine_failed(machine, text); });
    host->give_figures_to([this, machine](const link_message& answer) {
      if (watchers_) watchers_->answered(machine, answer);
    });
    hosts_.push_back(host.get());
    groups_.push_back(std::move(host));
  }
  watchers_.emplace(hosts_);
}

void launcher::start_here() {
  local_job job;
  job.count = job.processes = options_.processes;
  job.command = options_.command;
  for (char** entry = environ; *entry != nullptr; ++entry) job.environment.emplace_back(*entry);
  for (const auto& [name, value] : options_.environment) job.environment.push_back(fmt::format("{}={}", name, value));
  job.capture_output = options_.label;
  job.input_for_first = true;
  auto group = std::make_unique<local_processes>(job, mode_, *this);
  local_processes& here = *group;
  groups_.push_back(std::move(group));
  here.start();
}

// Agents need a moment for it; one that cannot be reached any more is not waited for.
void launcher::end_groups() {
  for (const auto& each : groups_) each->end();
  const std::int64_t until_ns = os::now_ns() + agents_timeout_ns;
  const auto all_ended = [this] {
    return std::all_of(groups_.begin(), groups_.end(), [](const auto& each) { return each->ended(); });
  };
  while (!hosts_.empty() && !all_ended() && os::now_ns() < until_ns) {
    timer_ns_ = until_ns;
    step();
  }
  if (!hosts_.empty()) os::end_descendants([] {});  // remote shells
}

int launcher::wait_ms() const {
  std::optional<std::int64_t> until = timer_ns_;
  for (const auto& other : {deadline_ns_, timeouts_.next_ns()})
    if (other && (!until || *other < *until)) until = other;
  if (!hosts_.empty() && options_.peer_timeout_s > 0) {
    const std::int64_t next_report_ns = last_report_ns_ + static_cast<std::int64_t>(options_.peer_timeout_s * 1e9) / 4;
    until = std::min(until.value_or(next_report_ns), next_report_ns);
  }
  for (const remote_host* each : hosts_)
    if (const auto next_ns = each->next_ns()) until = std::min(until.value_or(*next_ns), *next_ns);
  if (!until) return -1;
  return static_cast<int>(std::clamp<std::int64_t>((*until - os::now_ns()) / ns_of_ms + 1, 0, 60'000));
}

// One round: wait for an event, pass it to the monitor, execute its actions.
void launcher::step() {
  std::vector<pollfd> watched{{mode_.signals(), POLLIN, 0}};
  for (const auto& each : groups_) each->watch(watched);
  if (watchers_) watchers_->watch(watched);
  watch_outputs(watched);
  if (poll(watched.data(), watched.size(), wait_ms()) < 0 && errno != EINTR)
    fail("cannot wait for the processes of the job");
  take_signals();
  for (const auto& each : groups_) each->collect();
  if (watchers_) watchers_->serve(os::now_ns());
  write_outputs();
  read_outputs();
  keep_time();
  end_where_output_failed();
  act();
}

void launcher::take_signals() {
  signalfd_siginfo info{};
  while (read(mode_.signals(), &info, sizeof info) == sizeof info) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == options_.further_signal)
      options_.on_further_signal();
    else if (signal != SIGCHLD)
      monitor_.interrupted(signal, info.ssi_code == SI_KERNEL && hosts_.empty());  // by the terminal of this host
  }
}

void launcher::keep_time() {
  const std::int64_t now = os::now_ns();
  if (timer_ns_ && now >= *timer_ns_) {
    // Its exit status says more than that it is gone; releasing its memory may take long.
    const std::optional<pid_t> lost = monitor_.lost_here();
    if (lost && os::is_exiting(*lost)) {
      timer_ns_ = now + 50 * ns_of_ms;
    } else {
      timer_ns_.reset();
      monitor_.timer_expired();
    }
  }
  if (deadline_ns_ && now >= *deadline_ns_) {
    deadline_ns_.reset();
    monitor_.out_of_time(options_.timeout_s);
  }
  while (const std::optional<int> process = timeouts_.overdue(now))
    monitor_.stopped_too_long(*process, options_.peer_timeout_s);
  exchange_heartbeats(now);
}

// Each side receives from the other at least four times within the limit, so a timeout means a lost network or a
// stopped host.
void launcher::exchange_heartbeats(std::int64_t now) {
  const auto limit_ns = static_cast<std::int64_t>(options_.peer_timeout_s * 1e9);
  if (hosts_.empty() || limit_ns == 0) return;
  const bool report = now - last_report_ns_ >= limit_ns / 4;
  if (report) last_report_ns_ = now;
  for (remote_host* each : hosts_) {
    if (report) each->send_heartbeat();
    if (!each->ended() && now - each->heard_ns() >= limit_ns)
      each->give_up(fmt::format("nothing was heard of it for {} s (--peer-timeout)", options_.peer_timeout_s));
  }
}

void launcher::said(int process, pid_t pid, const boot::bootstrap_message& message) {
  if (const auto* hello = std::get_if<boot::hello_message>(&message)) {
    if (const auto refusal = monitor_.hello(process, pid, *hello)) group_of(process).refuse(process, *refusal);
  } else if (std::holds_alternative<boot::peers_taken_message>(message)) {
    monitor_.peers_taken(process);
  } else if (const auto* barrier = std::get_if<boot::barrier_message>(&message)) {
    monitor_.barrier(process, barrier->epoch);
  } else if (const auto* address = std::get_if<boot::published_address_message>(&message)) {
    monitor_.published_address(process, address->address);
  } else if (const auto* wanted = std::get_if<boot::wanted_address_message>(&message)) {
    monitor_.wanted_address(process, *wanted);
  } else if (const auto* left = std::get_if<boot::left_message>(&message)) {
    monitor_.left(process, left->exit_status);
  } else if (const auto* failed = std::get_if<boot::failed_message>(&message)) {
    monitor_.failed(process, failed->text);
  } else {
    monitor_.broke_protocol(process, fmt::format("it sent '{}', which only the launcher may send", name_of(message)));
  }
}

void launcher::exited(int process, int wait_status) {
  timeouts_.ends(process);
  act();  // its earlier messages
  monitor_.exited(process, wait_status);
}

void launcher::stopped(int process, bool stopped) {
  if (stopped)
    timeouts_.begins(process, os::now_ns());
  else
    timeouts_.ends(process);
}

void launcher::printed(int process, bool error, std::string_view text) {
  nonblocking_output& to = error ? own_error() : output_;
  if (!options_.label || process < 0) return to.add(text);
  labelled_output& label = labels_.try_emplace({process, error}, process).first->second;
  to.add(text.empty() ? label.finish() : label.add(text));
}

bool launcher::read_outputs() {
  bool some = false;
  for (const auto& each : groups_) some = each->read_output() || some;
  return some;
}

bool launcher::write_outputs() {
  const bool some = output_.flush();
  return (error_ && error_->flush()) || some;
}

void launcher::watch_outputs(std::vector<pollfd>& watched) const {
  if (output_.waiting() > 0) watched.push_back({output_.fd(), POLLOUT, 0});
  if (error_ && error_->waiting() > 0) watched.push_back({error_->fd(), POLLOUT, 0});
}

// The job is over, but its output is still to be read. After a clean end we wait for the reader, as any program does,
// unless a signal arrives. After a problem the user must learn of it now.
void launcher::finish_output() {
  std::int64_t last_progress_ns = os::now_ns();
  while (true) {
    const bool some_read = read_outputs();
    if (write_outputs() || some_read) last_progress_ns = os::now_ns();
    const std::size_t waiting = output_.waiting() + (error_ ? error_->waiting() : 0);
    if (waiting == 0 && !some_read) return;
    const std::int64_t timeout_ns = last_progress_ns + readers_timeout_ns - os::now_ns();
    if (monitor_.ending() && timeout_ns <= 0) {
      own_error().add(fmt::format("trireme: the output of the job is not read; {} bytes of it are lost\n", waiting));
      return;
    }
    if (some_read) continue;
    std::vector<pollfd> watched{{mode_.signals(), POLLIN, 0}};
    watch_outputs(watched);
    poll(watched.data(), watched.size(), monitor_.ending() ? static_cast<int>(timeout_ns / ns_of_ms) + 1 : -1);
    take_signals();
    act();
  }
}

// Once: what fails later is of no interest.
bool launcher::end_where_output_failed() {
  if (output_.failure() == 0 || monitor_.ending()) return false;
  monitor_.output_failed(output_.failure());
  act();
  return true;
}

void launcher::act() {
  std::vector<job_monitor::action> actions;
  while (!(actions = monitor_.take_actions()).empty()) {
    for (const job_monitor::action& each : actions) act(each);
  }
}

void launcher::act(const job_monitor::action& each) {
  if (const auto* table = std::get_if<job_monitor::send_peers>(&each)) {
    send_table(table->process);
  } else if (const auto* message = std::get_if<job_monitor::send_to_all>(&each)) {
    for (int i = 0; i < options_.processes; ++i) group_of(i).send(i, message->message);
  } else if (const auto* one = std::get_if<job_monitor::send_to>(&each)) {
    group_of(one->process).send(one->process, one->message);
  } else if (const auto* text = std::get_if<job_monitor::print>(&each)) {
    read_outputs();  // earlier output of the processes
    own_error().add(text->text + "\n");
  } else if (const auto* signal = std::get_if<job_monitor::signal_all>(&each)) {
    for (const auto& group : groups_) group->signal(signal->signal, signal->except);
  } else if (const auto* timer = std::get_if<job_monitor::start_timer>(&each)) {
    timer_ns_ = os::now_ns() + timer->milliseconds * ns_of_ms;
  }
}

void launcher::send_table(int process) {
  const int host = monitor_.entry_of(process).host;
  std::vector<boot::peer_entry> entries;
  for (int i = 0; i < options_.processes; ++i) {
    entries.push_back(monitor_.entry_of(i));
    if (entries.back().host != host) entries.back().has_arena = 0;
  }
  for (const boot::peers_message& part : parts_of_table(entries)) group_of(process).send(process, part);
}

}  // namespace

int launch(const launch_options& options) { return launch_once(options).status; }

launch_outcome launch_once(const launch_options& options) {
  if (options.processes < 1 || options.processes > most_launched_processes) {
    throw std::invalid_argument(
        fmt::format("{} processes cannot be started; it must be 1 .. {}", options.processes, most_launched_processes));
  }
  if (options.command.empty()) throw os::start_error("no program is given");
  if (options.hosts.size() > static_cast<std::size_t>(options.processes)) {
    throw std::invalid_argument(fmt::format("{} processes cannot be spread over {} hosts; each host needs one",
                                            options.processes, options.hosts.size()));
  }
  return launcher(options).run();
}

}  // namespace tri::launch
