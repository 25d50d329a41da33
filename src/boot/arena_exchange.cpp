#include "boot/arena_exchange.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <system_error>
#include <thread>

#include "boot/peer_table.hpp"

namespace tri::boot {
namespace {

// The other end died or refuses the job. The process that monitors it reports which, and that ends this process, too.
[[noreturn]] void wait_for_the_end() {
  std::this_thread::sleep_for(std::chrono::seconds(10));
  throw job_error("the first process of this host is gone");
}

[[noreturn]] void report_peer_timeout(const std::vector<std::string>& names, time_limit limit) {
  throw job_error(fmt::format("{} {} said nothing for {} s (--tri-start-timeout-s)", fmt::join(names, ", "),
                              names.size() == 1 ? "has" : "have", limit.seconds()));
}

os::packet receive_until(std::chrono::steady_clock::time_point until, const os::packet_socket& socket,
                         const std::string& name, time_limit limit) {
  os::packet received = socket.receive_until(until);
  if (received.what == os::packet::state::nothing_yet) report_peer_timeout({name}, limit);
  return received;
}

bool other_end_is_gone(const std::system_error& problem) {
  const int error = problem.code().value();
  return error == ECONNREFUSED || error == EPIPE || error == ECONNRESET;
}

// At the first process of the host: the others that have connected. A connection that has not identified itself yet
// waits in parallel.
class arrivals {
 public:
  struct member {
    os::packet_socket socket;
    os::packet hello;
  };
  arrivals(os::packet_socket& listener, const machine_members& members) : listener_(listener), members_(members) {}

  // The next one that has sent something or closed. Nothing when none has until then.
  std::optional<member> next(std::chrono::steady_clock::time_point until) {
    while (true) {
      for (auto each = silent_.begin(); each != silent_.end(); ++each) {
        os::packet said = each->receive(false);
        if (said.what == os::packet::state::nothing_yet) continue;
        member found{std::move(*each), std::move(said)};
        silent_.erase(each);
        return found;
      }
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
      if (left <= 0) return std::nullopt;
      std::vector<pollfd> waiting{{listener_.fd(), POLLIN, 0}};
      for (const os::packet_socket& each : silent_) waiting.push_back({each.fd(), POLLIN, 0});
      if (poll(waiting.data(), waiting.size(), static_cast<int>(std::min<std::int64_t>(left, 1'000'000))) < 0 &&
          errno != EINTR)
        throw std::system_error(errno, std::generic_category(), "cannot wait for the processes of this host");
      accept();
    }
  }

 private:
  void accept() {
    os::packet_socket socket = listener_.accept();
    if (!socket || socket.peer_user() != geteuid()) return;
    if (std::find(members_.pids.begin(), members_.pids.end(), socket.peer_pid()) != members_.pids.end())
      silent_.push_back(std::move(socket));
  }

  os::packet_socket& listener_;
  const machine_members& members_;
  std::vector<os::packet_socket> silent_;
};

}  // namespace

std::chrono::steady_clock::time_point time_limit::from_now() const {
  if (is_none()) return std::chrono::steady_clock::time_point::max();
  return std::chrono::steady_clock::now() +
         std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(seconds_));
}

std::vector<os::packet_socket> lead_exchange(os::packet_socket& listener, const machine_members& members,
                                             const layout& hosts, const own_facts& own, time_limit limit,
                                             roster& table) {
  const hello_message own_hello = hello_of(members.first, own);
  const auto size = static_cast<std::size_t>(members.count());
  std::vector<os::packet_socket> sockets(size);  // of the others, by place
  std::vector<os::unique_fd> arenas(size);
  std::vector<peer_entry> entries(size);
  for (int place = 0; place < members.count(); ++place) {
    const int process = members.first + place;
    entries[static_cast<std::size_t>(place)] = {
        process, members.pids[static_cast<std::size_t>(place)], hosts.host_of(process), hosts.local_rank_of(process), 0,
        0};
  }
  entries[0].has_arena = own_hello.has_arena;
  arrivals others(listener, members);
  // One limit for all arrivals and one for all answers: the followers wait twice as long.
  const auto all_have_come = limit.from_now();
  for (int missing = members.count() - 1; missing > 0; --missing) {
    std::optional<arrivals::member> arrived = others.next(all_have_come);
    if (!arrived) {
      std::vector<std::string> names;
      for (std::size_t place = 1; place < size; ++place)
        if (!sockets[place]) names.push_back(members.names[place]);
      report_peer_timeout(names, limit);
    }
    os::packet_socket& socket = arrived->socket;
    os::packet& received = arrived->hello;
    if (received.what == os::packet::state::closed) throw protocol_error("a process of this host went away");
    const auto hello = expect<hello_message>(decode(received.bytes));
    const int place = hello.process - members.first;
    const auto index = static_cast<std::size_t>(place);
    if (place < 1 || place >= members.count() || sockets[index] || members.pids[index] != socket.peer_pid() ||
        hello.has_arena > 1 || received.fds.size() != hello.has_arena)
      throw protocol_error(fmt::format("a process of this host says that it is process {}", hello.process));
    const std::string difference = difference_between(hello, own_hello, members.names[0]);
    if (!difference.empty()) throw job_error(fmt::format("{} {}", members.names[index], difference));
    entries[index].has_arena = hello.has_arena;
    if (hello.has_arena != 0) arenas[index] = std::move(received.fds[0]);
    sockets[index] = std::move(socket);
  }
  const auto fd_of = [&](const peer_entry& entry) {
    const int place = entry.process - members.first;
    return place == 0 ? own.arena_fd : arenas[static_cast<std::size_t>(place)].get();
  };
  const auto all_have_answered = limit.from_now();
  // One table after the other: the number of descriptors in flight is limited (ETOOMANYREFS).
  for (std::size_t to = 1; to < size; ++to) {
    std::vector<peer_entry> seen = entries;
    for (peer_entry& each : seen)
      if (each.host != entries[to].host) each.has_arena = 0;
    for (const peers_message& part : parts_of_table(seen)) {
      std::vector<int> fds;
      for (const peer_entry& each : part.entries)
        if (each.has_arena != 0) fds.push_back(fd_of(each));
      sockets[to].send(encode(part), fds);
    }
    const os::packet taken = receive_until(all_have_answered, sockets[to], members.names[to], limit);
    if (taken.what == os::packet::state::closed) throw protocol_error(members.names[to] + " went away");
    expect<peers_taken_message>(decode(taken.bytes));
  }
  for (std::size_t to = 1; to < size; ++to) sockets[to].send(encode(start_message{}));
  for (std::size_t place = 0; place < size; ++place) {
    const peer_entry& entry = entries[place];
    peer& known = table.peers[static_cast<std::size_t>(entry.process)];
    known = {entry.process, entry.pid, entry.host, entry.local_rank, -1};
    if (place == 0 || entry.has_arena == 0 || entry.host != entries[0].host) continue;
    known.arena_fd = arenas[place].get();
    table.fds.push_back(std::move(arenas[place]));
  }
  sockets.erase(sockets.begin());
  return sockets;
}

std::vector<os::packet_socket> follow_exchange(const std::string& socket_name, int process,
                                               const machine_members& members, const own_facts& own, time_limit limit,
                                               roster& table) {
  const hello_message hello = hello_of(process, own);
  // When two wait for each other, the first process knows more: it must report first.
  const time_limit timeout(2 * limit.seconds());
  const auto receive = [&](const os::packet_socket& from) {
    os::packet received = receive_until(timeout.from_now(), from, members.names[0], timeout);
    if (received.what == os::packet::state::closed) wait_for_the_end();
    return received;
  };
  os::packet_socket socket;
  try {
    socket = os::packet_socket::connect(
        socket_name, std::chrono::ceil<std::chrono::seconds>(std::chrono::duration<double>(timeout.seconds())));
    if (socket.peer_user() != geteuid() || socket.peer_pid() != members.pids[0])
      throw protocol_error(
          fmt::format("process {} listens at @{} instead of {}", socket.peer_pid(), socket_name, members.names[0]));
    socket.send(encode(hello), std::span(&own.arena_fd, hello.has_arena));
  } catch (const std::system_error& problem) {
    if (other_end_is_gone(problem)) wait_for_the_end();
    throw;
  }
  take_table([&] { return receive(socket); }, members.first, members.count(), table);
  socket.send(encode(peers_taken_message{}));
  expect<start_message>(decode(receive(socket).bytes));
  std::vector<os::packet_socket> remaining;
  remaining.push_back(std::move(socket));
  return remaining;
}

}  // namespace tri::boot
