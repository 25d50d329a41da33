// The table of processes with the descriptors of their arenas, on its way over a packet_socket: a launcher (or the
// first process of a host) sends it, a process receives it. Both sides validate their input. One thread.
#pragma once

#include <functional>
#include <span>

#include "boot/bootstrap_messages.hpp"
#include "boot/job_layout.hpp"
#include "boot/membership.hpp"
#include "os/packet_socket.hpp"

namespace tri::boot {

// The next message of a kind. Throws job_error for 'rejected', protocol_error for another.
template <class Message>
Message expect(const bootstrap_message& message) {
  if (const auto* rejected = std::get_if<rejected_message>(&message)) throw job_error(rejected->text);
  if (const auto* expected = std::get_if<Message>(&message)) return *expected;
  throw_unexpected(message, name_of(Message{}));
}
[[noreturn]] void throw_unexpected(const bootstrap_message& message, const char* instead_of);

// How a process introduces itself; the descriptor of its arena, if it has one, travels along.
hello_message hello_of(int process, const own_facts& own);

// The messages that the entries need.
std::vector<peers_message> parts_of_table(std::span<const peer_entry> entries);

// Receives the entries of processes [first, first + count) into table.peers, which has room for them.
void take_table(const std::function<os::packet()>& receive, int first, int count, roster& table);

// Checks that entries and descriptors match the layout of the hosts, as seen by `process`. Throws protocol_error.
void check_table(const roster& table, const layout& hosts, int process);

}  // namespace tri::boot
