#include "launch/local_processes.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <system_error>

#include "config/configuration.hpp"
#include "os/child_process.hpp"
#include "os/folder.hpp"
#include "os/process_tree.hpp"

namespace tri::launch {
namespace {

constexpr int most_accepted_at_once = 64;

// While a process is started: its three streams, the pipe that reports success, and files that the C library opens.
constexpr std::size_t files_of_a_start = 12;

// Said before anything runs: later a process would wait for an answer that we cannot receive.
void check_limit_of_files(int processes, bool capture_output) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const std::size_t for_each = capture_output ? 4 : 2;  // its socket and its arena, and two pipes
  const std::size_t needed =
      os::names_in("/proc/self/fd").size() + files_of_a_start + for_each * static_cast<std::size_t>(processes);
  if (limit.rlim_cur >= needed) return;
  throw os::start_error(fmt::format(
      "{} process{} of a job need {} open files here, but the limit is {} (ulimit -n, which cannot be raised "
      "beyond ulimit -Hn); ask for a limit of {} or more, or start fewer processes",
      processes, processes == 1 ? "" : "es", needed, limit.rlim_cur, needed));
}

// Random, because any process of the machine can see and use the names of abstract sockets.
std::string new_job_name() { return fmt::format("trireme-{}-{}", getpid(), os::random_text()); }

}  // namespace

local_processes::local_processes(const local_job& job, const launcher_mode& mode, process_events& events)
    : job_(job), mode_(mode), events_(events), job_name_(new_job_name()) {}

local_processes::~local_processes() {
  if (!ended_) os::end_descendants([] {});
}

void local_processes::start() {
  const std::string path = os::find_program(job_.command.at(0));
  check_limit_of_files(job_.count, job_.capture_output);
  listener_ = os::packet_socket::listen(job_name_);
  for (int i = 0; i < job_.count; ++i) start(job_.first + i, path);
}

std::vector<std::string> local_processes::environment_of(int process) const {
  std::map<std::string, std::string> variables;
  for (const std::string& text : job_.environment) {
    const std::size_t equals = std::min(text.find('='), text.size());
    variables[text.substr(0, equals)] = equals < text.size() ? text.substr(equals + 1) : "";
  }
  variables[config::job_variable] = job_name_;
  variables[config::process_variable] = std::to_string(process);
  variables[config::processes_variable] = std::to_string(job_.processes);
  variables[config::machines_variable] = std::to_string(job_.machines);
  std::vector<std::string> list;
  for (const auto& [name, value] : variables) list.push_back(fmt::format("{}={}", name, value));
  return list;
}

os::unique_fd local_processes::output_pipe(int process, bool error) {
  os::pipe_ends ends = os::open_pipe();
  fcntl(ends.read.get(), F_SETFL, O_NONBLOCK);
  streams_.push_back({std::move(ends.read), process, error});
  return std::move(ends.write);
}

void local_processes::start(int process, const std::string& path) {
  os::start_request request;
  request.path = path;
  request.arguments = job_.command;
  request.environment = environment_of(process);
  request.signal_mask = mode_.mask_of_children();
  request.open_files = mode_.files_before();
  os::unique_fd nothing, output, error;
  if (process != job_.first || !job_.input_for_first) {  // only one process can read the user's input
    nothing = os::unique_fd(open("/dev/null", O_RDONLY | O_CLOEXEC));
    request.input = nothing.get();
  }
  if (job_.capture_output) {
    output = output_pipe(process, false);
    error = output_pipe(process, true);
    request.output = output.get();
    request.error = error.get();
  }
  const pid_t pid = start_program(request);
  process_of_pid_[pid] = process;
  events_.started(process, pid);
}

void local_processes::watch(std::vector<pollfd>& watched) const {
  watched.push_back({listener_.fd(), POLLIN, 0});
  for (const auto& each : connections_) watched.push_back({each->socket.fd(), POLLIN, 0});
  for (const stream& each : streams_)
    if (events_.wants_output(each.error)) watched.push_back({each.from.get(), POLLIN, 0});
}

// Exits are collected first, then the sockets are read, then the exits are reported: what a process sent before it
// ended
// ("left") comes before its end.
void local_processes::collect() {
  std::vector<std::pair<int, int>> changes;
  int status = 0;
  for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0;) {
    const auto found = process_of_pid_.find(pid);
    if (found == process_of_pid_.end()) continue;  // an orphan that was given to us
    changes.emplace_back(found->second, status);
    if (WIFEXITED(status) || WIFSIGNALED(status)) process_of_pid_.erase(found);
  }
  accept_new();
  for (const auto& each : connections_) read_connection(*each);
  std::erase_if(connections_, [](const auto& each) { return !each->socket; });
  for (const auto& [process, wait_status] : changes) {
    if (WIFEXITED(wait_status) || WIFSIGNALED(wait_status))
      events_.exited(process, wait_status);
    else
      events_.stopped(process, WIFSTOPPED(wait_status));
  }
}

void local_processes::accept_new() {
  // At most this many at a time: untrusted peers that keep connecting must not starve the processes of the job.
  for (int count = 0; count < most_accepted_at_once; ++count) {
    os::packet_socket socket = listener_.accept();
    if (!socket) return;
    if (socket.peer_user() != geteuid()) continue;  // closes it
    connections_.push_back(std::make_unique<connection>());
    connections_.back()->socket = std::move(socket);
  }
}

void local_processes::read_connection(connection& from) {
  try {
    while (from.socket) {
      os::packet received = from.socket.receive(false);
      if (received.what == os::packet::state::nothing_yet) return;
      if (received.what == os::packet::state::closed) break;
      handle(from, boot::decode(received.bytes), received.fds);
    }
  } catch (const std::exception& problem) {
    if (from.process >= 0) {
      events_.broke_protocol(from.process, problem.what());
    } else {
      reject(from, problem.what());
    }
  }
  // Closed by the other end, or of no use any more.
  if (from.process >= 0) {
    connection_of_process_.erase(from.process);
    events_.disconnected(from.process);
  }
  from.socket.close();
}

void local_processes::handle(connection& from, const boot::bootstrap_message& message,
                             std::vector<os::unique_fd>& fds) {
  if (const auto* hello = std::get_if<boot::hello_message>(&message); hello != nullptr && from.process < 0) {
    handle_hello(from, *hello, fds);
  } else if (from.process < 0) {
    from.socket.close();  // an untrusted peer that does not introduce itself
  } else {
    events_.said(from.process, from.socket.peer_pid(), message);
  }
}

void local_processes::reject(connection& from, const std::string& reason) {
  try {
    from.socket.send(encode(boot::rejected_message{reason}), {}, false);
  } catch (const std::system_error&) {  // it did not wait for the answer
  }
  from.socket.close();
}

void local_processes::handle_hello(connection& from, const boot::hello_message& hello,
                                   std::vector<os::unique_fd>& fds) {
  if (hello.has_arena > 1 || fds.size() != hello.has_arena) {
    return reject(from,
                  fmt::format("the hello announces {} descriptors and comes with {}", hello.has_arena, fds.size()));
  }
  if (hello.process < job_.first || hello.process >= job_.first + job_.count)
    return reject(from, fmt::format("there is no process {} in this job of {}", hello.process, job_.processes));
  if (joined_[hello.process]) {
    return reject(from,
                  fmt::format("process {} of this job has joined already; a program that is started by a process "
                              "of a job does not belong to it: remove TRIREME_JOB from its environment, or start it "
                              "with `trireme run`",
                              hello.process));
  }
  joined_[hello.process] = true;
  from.process = hello.process;
  connection_of_process_[hello.process] = &from;
  if (!fds.empty()) arenas_[hello.process] = std::move(fds[0]);
  events_.said(hello.process, from.socket.peer_pid(), hello);
}

void local_processes::refuse(int process, const std::string& text) {
  const auto found = connection_of_process_.find(process);
  if (found == connection_of_process_.end()) return;
  connection& from = *found->second;
  from.process = -1;
  joined_[process] = false;
  connection_of_process_.erase(found);
  arenas_.erase(process);
  reject(from, text);
}

void local_processes::send(int process, const boot::bootstrap_message& message) {
  const auto to = connection_of_process_.find(process);
  if (to == connection_of_process_.end()) return;  // it is gone, which is known or will be
  std::vector<int> fds;
  if (const auto* table = std::get_if<boot::peers_message>(&message)) {
    for (const boot::peer_entry& each : table->entries)
      if (each.has_arena != 0) fds.push_back(arenas_.at(each.process).get());
  }
  try {
    to->second->socket.send(encode(message), fds, false);
  } catch (const std::system_error& problem) {
    if (problem.code().value() != EPIPE && problem.code().value() != ECONNRESET)
      events_.broke_protocol(process, problem.what());
  }
}

void local_processes::signal(int signal, int except) {
  pid_t spared = 0;
  for (const auto& [pid, process] : process_of_pid_)
    if (process == except) spared = pid;
  os::signal_descendants(signal, spared);
}

bool local_processes::read_output() {
  bool some = false;
  for (stream& each : streams_) some = read_stream(each) || some;
  std::erase_if(streams_, [](const stream& each) { return !each.from; });
  return some;
}

// Nothing while the output is full: then the process has to wait, as it would with that output for itself.
bool local_processes::read_stream(stream& from) {
  if (!events_.wants_output(from.error)) return false;
  std::array<char, 65536> buffer;
  const ssize_t length = read(from.from.get(), buffer.data(), buffer.size());
  if (length < 0) return false;
  events_.printed(from.process, from.error, {buffer.data(), static_cast<std::size_t>(length)});
  if (length == 0) from.from.reset();
  return true;
}

void local_processes::end() {
  os::end_descendants([this] { read_output(); });
  ended_ = true;
}

}  // namespace tri::launch
