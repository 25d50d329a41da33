#include "host/launcher.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <system_error>

#include "host/clock.hpp"
#include "host/configuration.hpp"
#include "host/job_monitor.hpp"
#include "host/labelled_output.hpp"
#include "host/packet_socket.hpp"
#include "host/patient_output.hpp"
#include "host/process_tree.hpp"

namespace tri::host {
namespace {

constexpr std::int64_t ns_of_ms = 1'000'000;

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

// Random, because any process of the machine can see and use the names of abstract sockets.
std::string new_job_name() {
  std::random_device random;
  return fmt::format("trireme-{}-{:08x}{:08x}{:08x}", getpid(), random(), random(), random());
}

// After a problem nobody waits longer than this for a reader that does not read.
constexpr std::int64_t patience_with_readers_ns = 500 * ns_of_ms;

// Restores what launch() changes in the calling process.
class launcher_mode {
 public:
  launcher_mode() {
    sigset_t handled;
    sigemptyset(&handled);
    for (const int each : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
      struct sigaction action {};
      sigaction(each, nullptr, &action);
      if (each == SIGCHLD || action.sa_handler != SIG_IGN)
        sigaddset(&handled, each);  // nohup and `&` ignore some: so do we
    }
    if (sigprocmask(SIG_BLOCK, &handled, &mask_before_) != 0) fail("cannot block signals");
    signals_ = unique_fd(signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signals_) fail("cannot open a signalfd");
    if (prctl(PR_GET_CHILD_SUBREAPER, &subreaper_before_) != 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) {
      fail("cannot become the reaper of the job's processes");
    }
    getrlimit(RLIMIT_NOFILE, &files_before_);
    rlimit raised = files_before_;  // a socket, an arena and perhaps two pipes for each process
    raised.rlim_cur = raised.rlim_max;
    setrlimit(RLIMIT_NOFILE, &raised);
    pipe_action_before_ = std::signal(SIGPIPE, SIG_IGN);
  }
  launcher_mode(const launcher_mode&) = delete;
  launcher_mode& operator=(const launcher_mode&) = delete;
  ~launcher_mode() {
    std::signal(SIGPIPE, pipe_action_before_);
    setrlimit(RLIMIT_NOFILE, &files_before_);
    prctl(PR_SET_CHILD_SUBREAPER, subreaper_before_);
    sigprocmask(SIG_SETMASK, &mask_before_, nullptr);
  }
  int signals() const { return signals_.get(); }
  const sigset_t& mask_before() const { return mask_before_; }
  unsigned long files_before() const { return files_before_.rlim_cur; }

 private:
  unique_fd signals_;
  sigset_t mask_before_{};
  rlimit files_before_{};
  int subreaper_before_ = 0;
  void (*pipe_action_before_)(int) = SIG_DFL;
};

class launcher {
 public:
  explicit launcher(const launch_options& options) : options_(options), monitor_(options.processes) {
    if (!patient_output::same_target(STDOUT_FILENO, STDERR_FILENO)) error_.emplace(STDERR_FILENO);
  }
  // Also when an exception passes through: nothing of the job stays.
  ~launcher() { end_all(); }
  launcher(const launcher&) = delete;
  launcher& operator=(const launcher&) = delete;

  int run() {
    const std::string path = find_program(options_.command.at(0));
    listener_ = packet_socket::listen(job_name_);
    if (options_.timeout_s > 0) deadline_ns_ = now_ns() + static_cast<std::int64_t>(options_.timeout_s * 1e9);
    for (int i = 0; i < options_.processes; ++i) start(i, path);
    while (!monitor_.finished()) step();
    end_all();
    finish_output();
    return monitor_.exit_status();
  }

 private:
  struct connection {
    packet_socket socket;
    int process = -1;  // before its hello
  };
  struct stream {
    unique_fd from;
    patient_output* to;
    labelled_output label;
  };

  void start(int process, const std::string& path);
  unique_fd labelled_pipe(int process, patient_output& to);
  std::vector<std::string> environment_of(int process) const;
  void step();
  int wait_ms() const;
  void take_signals();
  void reap();
  void accept_new();
  void read_connections();
  void read_connection(connection& from);
  void handle(connection& from, const bootstrap_message& message, std::vector<unique_fd>& fds);
  void reject(connection& from, const std::string& reason);
  void handle_hello(connection& from, const hello_message& hello, std::vector<unique_fd>& fds);
  bool read_streams();
  bool read_stream(stream& from);
  patient_output& own_error() { return error_ ? *error_ : output_; }
  bool write_outputs();
  void watch_outputs(std::vector<pollfd>& watched);
  void finish_output();
  void act();
  void act(const job_monitor::action& each);
  void send_table(int process);
  void send(int process, const bootstrap_message& message, std::span<const int> fds = {});
  void end_all();

  const launch_options& options_;
  job_monitor monitor_;
  launcher_mode mode_;
  std::string job_name_ = new_job_name();
  packet_socket listener_;
  std::map<pid_t, int> process_of_pid_;
  std::vector<std::unique_ptr<connection>> connections_;
  std::map<int, connection*> connection_of_process_;
  std::map<int, unique_fd> arenas_;
  patient_output output_{STDOUT_FILENO};
  std::optional<patient_output> error_;  // none: the same as output_
  std::vector<stream> streams_;
  std::optional<std::int64_t> timer_ns_;
  std::optional<std::int64_t> deadline_ns_;
};

std::vector<std::string> launcher::environment_of(int process) const {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = std::min(text.find('='), text.size());
    variables[text.substr(0, equals)] = equals < text.size() ? text.substr(equals + 1) : "";
  }
  for (const auto& [name, value] : options_.environment) variables[name] = value;
  variables[job_variable] = job_name_;
  variables[process_variable] = std::to_string(process);
  variables[processes_variable] = std::to_string(options_.processes);
  std::vector<std::string> list;
  for (const auto& [name, value] : variables) list.push_back(fmt::format("{}={}", name, value));
  return list;
}

unique_fd launcher::labelled_pipe(int process, patient_output& to) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail("cannot open a pipe");
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  streams_.push_back({unique_fd(ends[0]), &to, labelled_output(process)});
  return unique_fd(ends[1]);
}

void launcher::start(int process, const std::string& path) {
  start_request request;
  request.path = path;
  request.arguments = options_.command;
  request.environment = environment_of(process);
  request.signal_mask = mode_.mask_before();
  request.open_files = mode_.files_before();
  unique_fd nothing, output, error;
  if (process != 0) {  // only one process can read what the user types
    nothing = unique_fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
    request.input = nothing.get();
  }
  if (options_.label) {
    output = labelled_pipe(process, output_);
    error = labelled_pipe(process, own_error());
    request.output = output.get();
    request.error = error.get();
  }
  const pid_t pid = start_program(request);
  process_of_pid_[pid] = process;
  monitor_.started(process, pid);
}

int launcher::wait_ms() const {
  std::optional<std::int64_t> until = timer_ns_;
  if (deadline_ns_ && (!until || *deadline_ns_ < *until)) until = deadline_ns_;
  if (!until) return -1;
  return static_cast<int>(std::clamp<std::int64_t>((*until - now_ns()) / ns_of_ms + 1, 0, 60'000));
}

// One round: wait for something, let the monitor see it, do what it says.
void launcher::step() {
  std::vector<pollfd> watched{{mode_.signals(), POLLIN, 0}, {listener_.fd(), POLLIN, 0}};
  for (const auto& each : connections_) watched.push_back({each->socket.fd(), POLLIN, 0});
  for (const stream& each : streams_)
    if (!each.to->full()) watched.push_back({each.from.get(), POLLIN, 0});
  watch_outputs(watched);
  if (poll(watched.data(), watched.size(), wait_ms()) < 0 && errno != EINTR)
    fail("cannot wait for the processes of the job");
  take_signals();
  reap();
  write_outputs();
  read_streams();
  if (timer_ns_ && now_ns() >= *timer_ns_) {
    timer_ns_.reset();
    monitor_.timer_expired();
  }
  if (deadline_ns_ && now_ns() >= *deadline_ns_) {
    deadline_ns_.reset();
    monitor_.out_of_time(options_.timeout_s);
  }
  act();
}

void launcher::take_signals() {
  signalfd_siginfo info{};
  while (read(mode_.signals(), &info, sizeof info) == sizeof info) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal != SIGCHLD) monitor_.interrupted(signal, info.ssi_code == SI_KERNEL);
  }
}

// Exits are collected first, then the sockets are read, then the exits are told to the monitor: what a process sent
// before it ended ("left") comes before its end.
void launcher::reap() {
  std::vector<std::pair<int, int>> exits;
  int status = 0;
  for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    const auto found = process_of_pid_.find(pid);
    if (found == process_of_pid_.end()) continue;  // an orphan that was given to us
    exits.emplace_back(found->second, status);
    process_of_pid_.erase(found);
  }
  accept_new();
  read_connections();
  act();
  for (const auto& [process, wait_status] : exits) monitor_.exited(process, wait_status);
}

void launcher::accept_new() {
  while (packet_socket socket = listener_.accept()) {
    if (socket.peer_user() != geteuid()) continue;  // closes it
    connections_.push_back(std::make_unique<connection>());
    connections_.back()->socket = std::move(socket);
  }
}

void launcher::read_connections() {
  for (const auto& each : connections_) read_connection(*each);
  std::erase_if(connections_, [](const auto& each) { return !each->socket; });
}

void launcher::read_connection(connection& from) {
  try {
    while (from.socket) {
      packet received = from.socket.receive(false);
      if (received.what == packet::state::nothing_yet) return;
      if (received.what == packet::state::closed) break;
      handle(from, decode(received.bytes), received.fds);
    }
  } catch (const std::exception& problem) {
    if (from.process >= 0) {
      monitor_.broke_protocol(from.process, problem.what());
    } else {
      reject(from, problem.what());
    }
  }
  // Closed by the other end, or of no use any more.
  if (from.process >= 0) {
    connection_of_process_.erase(from.process);
    monitor_.disconnected(from.process);
  }
  from.socket.close();
}

void launcher::handle(connection& from, const bootstrap_message& message, std::vector<unique_fd>& fds) {
  if (const auto* hello = std::get_if<hello_message>(&message); hello != nullptr && from.process < 0) {
    handle_hello(from, *hello, fds);
  } else if (from.process < 0) {
    from.socket.close();  // a stranger that does not introduce itself
  } else if (std::holds_alternative<peers_taken_message>(message)) {
    monitor_.peers_taken(from.process);
  } else if (const auto* barrier = std::get_if<barrier_message>(&message)) {
    monitor_.barrier(from.process, barrier->epoch);
  } else if (const auto* left = std::get_if<left_message>(&message)) {
    monitor_.left(from.process, left->exit_status);
  } else if (const auto* failed = std::get_if<failed_message>(&message)) {
    monitor_.failed(from.process, failed->text);
  } else {
    throw protocol_error(fmt::format("it sent '{}', which only the launcher may send", name_of(message)));
  }
}

void launcher::reject(connection& from, const std::string& reason) {
  try {
    from.socket.send(encode(rejected_message{reason}), {}, false);
  } catch (const std::system_error&) {  // it did not wait for the answer
  }
  from.socket.close();
}

void launcher::handle_hello(connection& from, const hello_message& hello, std::vector<unique_fd>& fds) {
  std::optional<std::string> refusal;
  if (hello.has_arena > 1 || fds.size() != hello.has_arena) {
    refusal = fmt::format("the hello announces {} descriptors and comes with {}", hello.has_arena, fds.size());
  } else {
    refusal = monitor_.hello(hello.process, from.socket.peer_pid(), hello);
  }
  if (refusal) {
    return reject(from, *refusal);
  }
  from.process = hello.process;
  connection_of_process_[hello.process] = &from;
  if (!fds.empty()) arenas_[hello.process] = std::move(fds[0]);
}

bool launcher::read_streams() {
  bool some = false;
  for (stream& each : streams_) some = read_stream(each) || some;
  std::erase_if(streams_, [](const stream& each) { return !each.from; });
  return some;
}

// Nothing while the output is full: then the process has to wait, as it would with that output for itself.
bool launcher::read_stream(stream& from) {
  if (from.to->full()) return false;
  std::array<char, 65536> buffer;
  const ssize_t length = read(from.from.get(), buffer.data(), buffer.size());
  if (length < 0) return false;
  if (length > 0) {
    from.to->add(from.label.add({buffer.data(), static_cast<std::size_t>(length)}));
  } else {
    from.to->add(from.label.finish());
    from.from.reset();
  }
  return true;
}

bool launcher::write_outputs() {
  const bool some = output_.flush();
  return (error_ && error_->flush()) || some;
}

void launcher::watch_outputs(std::vector<pollfd>& watched) {
  if (output_.waiting() > 0) watched.push_back({output_.fd(), POLLOUT, 0});
  if (error_ && error_->waiting() > 0) watched.push_back({error_->fd(), POLLOUT, 0});
}

// The job is over; what it said is still to be read. After a clean end we wait for the reader, as any program does, but
// a signal ends that too. After a problem the user learns of it now.
void launcher::finish_output() {
  std::int64_t last_progress_ns = now_ns();
  while (true) {
    const bool some_read = read_streams();
    if (write_outputs() || some_read) last_progress_ns = now_ns();
    const std::size_t waiting = output_.waiting() + (error_ ? error_->waiting() : 0);
    if (waiting == 0 && !some_read) return;
    const std::int64_t patience_ns = last_progress_ns + patience_with_readers_ns - now_ns();
    if (monitor_.ending() && patience_ns <= 0) {
      own_error().add(fmt::format("trireme: nobody reads the output of the job; {} bytes of it are lost\n", waiting));
      return;
    }
    if (some_read) continue;
    std::vector<pollfd> watched{{mode_.signals(), POLLIN, 0}};
    watch_outputs(watched);
    poll(watched.data(), watched.size(), monitor_.ending() ? static_cast<int>(patience_ns / ns_of_ms) + 1 : -1);
    take_signals();
    act();
  }
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
    for (int i = 0; i < options_.processes; ++i) send(i, message->message);
  } else if (const auto* text = std::get_if<job_monitor::print>(&each)) {
    read_streams();  // what the processes said before
    own_error().add(text->text + "\n");
  } else if (const auto* signal = std::get_if<job_monitor::signal_all>(&each)) {
    pid_t spared = 0;
    for (const auto& [pid, process] : process_of_pid_)
      if (process == signal->except) spared = pid;
    signal_descendants(signal->signal, spared);
  } else if (const auto* timer = std::get_if<job_monitor::start_timer>(&each)) {
    timer_ns_ = now_ns() + timer->milliseconds * ns_of_ms;
  }
}

void launcher::send_table(int process) {
  const int host = monitor_.entry_of(process).host;
  for (int next = 0; next < options_.processes;) {
    peers_message part;
    std::vector<int> fds;
    for (; next < options_.processes && part.entries.size() < most_entries_of_a_message; ++next) {
      peer_entry entry = monitor_.entry_of(next);
      if (entry.host != host) entry.has_arena = 0;
      if (entry.has_arena != 0) fds.push_back(arenas_.at(next).get());
      part.entries.push_back(entry);
    }
    send(process, part, fds);
  }
}

void launcher::send(int process, const bootstrap_message& message, std::span<const int> fds) {
  const auto to = connection_of_process_.find(process);
  if (to == connection_of_process_.end()) return;  // it is gone, which the monitor knows or will know
  try {
    to->second->socket.send(encode(message), fds, false);
  } catch (const std::system_error& problem) {
    if (problem.code().value() != EPIPE && problem.code().value() != ECONNRESET)
      monitor_.broke_protocol(process, problem.what());
  }
}

// Everything that still descends from us: first asked, then killed, until there is nobody left.
void launcher::end_all() {
  constexpr std::int64_t grace_ns = 300 * ns_of_ms;
  const std::int64_t kill_from = now_ns() + grace_ns;
  for (int signal = SIGTERM; true; signal = now_ns() < kill_from ? 0 : SIGKILL) {
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    if (signal_descendants(signal, 0) == 0) return;
    write_outputs();
    read_streams();
    poll(nullptr, 0, 2);
  }
}

}  // namespace

int launch(const launch_options& options) {
  if (options.processes < 1 || options.processes > most_launched_processes) {
    throw std::invalid_argument(
        fmt::format("{} processes cannot be started; it must be 1 .. {}", options.processes, most_launched_processes));
  }
  if (options.command.empty()) throw start_error("no program is given");
  return launcher(options).run();
}

}  // namespace tri::host
