#include "host/job.hpp"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "host/bootstrap_messages.hpp"
#include "host/configuration.hpp"
#include "host/placement.hpp"

namespace tri::host {
namespace {

int launcher_number(const char* variable, int lowest, int highest) {
  const char* const text = std::getenv(variable);
  const std::string_view word = text != nullptr ? text : "";
  int number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size() || number < lowest || number > highest) {
    throw job_error(fmt::format("{} is '{}', but with {} set it must be {} .. {}: start the program with `trireme run`",
                                variable, word, job_variable, lowest, highest));
  }
  return number;
}

constexpr int most_processes = 1 << 20;

// What the user may lose when the process ends at once: standard output that is not written yet. A thread that holds
// the lock of the stream (it may be blocked in a full pipe) must not keep us here.
void write_out_standard_output() {
  if (ftrylockfile(stdout) != 0) return;
  fflush_unlocked(stdout);
  funlockfile(stdout);
}

// The next message; a closed socket means that the launcher is gone or ends the job, and then this process ends too.
packet receive_or_exit(const packet_socket& socket) {
  packet received = socket.receive();
  if (received.what == packet::state::closed) {
    std::fputs("trireme: the launcher is gone; this process ends\n", stderr);
    _exit(1);
  }
  return received;
}

template <class Message>
Message expect(const bootstrap_message& message) {
  if (const auto* rejected = std::get_if<rejected_message>(&message)) throw job_error(rejected->text);
  if (const auto* expected = std::get_if<Message>(&message)) return *expected;
  throw protocol_error(fmt::format("the launcher sent '{}' instead of '{}'", name_of(message), name_of(Message{})));
}

}  // namespace

int first_process_of(int host, int processes, int hosts) {
  return static_cast<int>(static_cast<std::int64_t>(host) * processes / hosts);
}

int host_of(int process, int processes, int hosts) {
  int host = static_cast<int>(static_cast<std::int64_t>(process) * hosts / processes);
  while (first_process_of(host + 1, processes, hosts) <= process) ++host;  // rounding leaves us at most one short
  return host;
}

job job::join(const configuration& values, int own_arena_fd, std::uint64_t fingerprint) {
  job joined;
  const char* const name = std::getenv(job_variable);
  int processes = 1;
  if (name != nullptr) {
    processes = launcher_number(processes_variable, 1, most_processes);
    joined.process_ = launcher_number(process_variable, 0, processes - 1);
  }
  if (values.hosts > processes) {
    throw configuration_error(fmt::format("hosts is {}, but the job has only {} process{}; each host needs one",
                                          values.hosts, processes, processes == 1 ? "" : "es"));
  }
  joined.hosts_ = values.hosts;
  joined.pes_ = resolve_pes(values, processes);
  joined.peers_.resize(static_cast<std::size_t>(processes));
  if (name == nullptr) {
    joined.peers_[0] = {0, getpid(), 0, 0, own_arena_fd};
    return joined;
  }
  // Also where a wrapper script stands between the launcher and us, its end must be ours.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    joined.socket_ = packet_socket::connect(name);
    joined.greet(own_arena_fd, fingerprint);
    joined.take_table(own_arena_fd);
  } catch (const job_error&) {
    throw;
  } catch (const std::exception& problem) {
    throw job_error(fmt::format("process {} cannot join the job: {}", joined.process_, problem.what()));
  }
  return joined;
}

void job::greet(int own_arena_fd, std::uint64_t fingerprint) {
  hello_message hello;
  hello.process = process_;
  hello.pes = pes_;
  hello.hosts = hosts_;
  hello.has_arena = own_arena_fd >= 0 ? 1 : 0;
  hello.fingerprint = fingerprint;
  socket_.send(encode(hello), std::span(&own_arena_fd, hello.has_arena));
}

void job::take_table(int own_arena_fd) {
  int next = 0;
  while (next < processes()) {
    packet received = receive_or_exit(socket_);
    const auto part = expect<peers_message>(decode(received.bytes));
    std::size_t used_fds = 0;
    for (const peer_entry& entry : part.entries) {
      if (entry.process != next || next >= processes()) {
        throw protocol_error(fmt::format("process {} stands at place {} of the table", entry.process, next));
      }
      peer& place = peers_[static_cast<std::size_t>(next++)];
      place = {entry.process, entry.pid, entry.host, entry.local_rank, -1};
      if (entry.has_arena == 0) continue;
      if (used_fds == received.fds.size()) throw protocol_error("descriptors of arenas are missing");
      place.arena_fd = received.fds[used_fds].get();
      fds_.push_back(std::move(received.fds[used_fds++]));
    }
    if (used_fds != received.fds.size()) throw protocol_error("more descriptors than arenas");
  }
  peers_[static_cast<std::size_t>(process_)].arena_fd = own_arena_fd;
  check_table();
  socket_.send(encode(peers_taken_message{}));
  expect<start_message>(decode(receive_or_exit(socket_).bytes));
}

void job::check_table() const {
  for (const peer& each : peers_) {
    const int host = host_of(each.process, processes(), hosts_);
    if (each.host != host || each.local_rank != each.process - first_process_of(host, processes(), hosts_)) {
      throw protocol_error(
          fmt::format("process {} is said to be process {} of host {}", each.process, each.local_rank, each.host));
    }
    if (each.arena_fd >= 0 && each.host != self().host)
      throw protocol_error("an arena of another host came with the table");
  }
}

void job::barrier() {
  ++epoch_;
  if (!launched()) return;
  socket_.send(encode(barrier_message{epoch_}));
  const auto released = expect<released_message>(decode(receive_or_exit(socket_).bytes));
  if (released.epoch != epoch_)
    throw protocol_error(fmt::format("barrier {} was released instead of {}", released.epoch, epoch_));
}

void job::leave(int exit_status) {
  if (left_) return;
  left_ = true;
  if (launched()) socket_.send(encode(left_message{exit_status}));
}

void job::fail(const std::string& message) const {
  bool told = false;
  if (launched()) {
    try {
      socket_.send(encode(failed_message{message}));
      told = true;
    } catch (const std::exception&) {  // the launcher is gone: say it ourselves
    }
  }
  if (!told) std::fputs(fmt::format("trireme: {}\n", message).c_str(), stderr);
  write_out_standard_output();
  _exit(1);
}

}  // namespace tri::host
