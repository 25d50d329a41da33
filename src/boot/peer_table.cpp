#include "boot/peer_table.hpp"

#include <fmt/format.h>

namespace tri::boot {

void throw_unexpected(const bootstrap_message& message, const char* instead_of) {
  throw protocol_error(fmt::format("the launcher sent '{}' instead of '{}'", name_of(message), instead_of));
}

hello_message hello_of(int process, const own_facts& own) {
  hello_message hello;
  hello.process = process;
  hello.pes = own.pes;
  hello.hosts = own.hosts;
  hello.has_arena = own.arena_fd >= 0 ? 1 : 0;
  hello.fingerprint = own.fingerprint;
  return hello;
}

std::vector<peers_message> parts_of_table(std::span<const peer_entry> entries) {
  std::vector<peers_message> parts;
  while (!entries.empty()) {
    const auto part = entries.first(std::min<std::size_t>(entries.size(), most_entries_of_a_message));
    entries = entries.subspan(part.size());
    parts.push_back({{part.begin(), part.end()}});
  }
  return parts;
}

void take_table(const std::function<os::packet()>& receive, int first, int count, roster& table) {
  int next = first;
  while (next < first + count) {
    os::packet received = receive();
    const auto part = expect<peers_message>(decode(received.bytes));
    std::size_t used_fds = 0;
    for (const peer_entry& entry : part.entries) {
      if (entry.process != next || next >= first + count)
        throw protocol_error(fmt::format("process {} stands at place {} of the table", entry.process, next));
      peer& place = table.peers[static_cast<std::size_t>(next++)];
      place = {entry.process, entry.pid, entry.host, entry.local_rank, -1};
      if (entry.has_arena == 0) continue;
      if (used_fds == received.fds.size()) throw protocol_error("descriptors of arenas are missing");
      place.arena_fd = received.fds[used_fds].get();
      table.fds.push_back(std::move(received.fds[used_fds++]));
    }
    if (used_fds != received.fds.size()) throw protocol_error("more descriptors than arenas");
  }
}

void check_table(const roster& table, const layout& hosts, int process) {
  for (const peer& each : table.peers) {
    if (each.host != hosts.host_of(each.process) || each.local_rank != hosts.local_rank_of(each.process)) {
      throw protocol_error(
          fmt::format("process {} is said to be process {} of host {}", each.process, each.local_rank, each.host));
    }
    if (each.arena_fd >= 0 && each.host != hosts.host_of(process))
      throw protocol_error("an arena of another host came with the table");
  }
}

}  // namespace tri::boot
