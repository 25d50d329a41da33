// What an untrusted peer of the host finds of two processes that talk through UCX, and what it can do to them. The
// processes choose no transports, as jobs do.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "wire/packet_format.hpp"
#include "wire/packet_secret.hpp"
#include "wire/port.hpp"
#include "wire/support/checked_messages.hpp"
#include "wire/support/forked_processes.hpp"
#include "wire/support/own_sockets.hpp"
#include "wire/ucx/ucx_conduit.hpp"

namespace tri::wire::test {
namespace {

using testing::check;
using testing::check_equal;

// System V segments that this process has made.
std::size_t own_segments() {
  const auto rows = rows_of("/proc/sysvipc/shm");
  return static_cast<std::size_t>(std::count_if(
      rows.begin(), rows.end(), [](const auto& row) { return row.size() > 4 && row[4] == std::to_string(getpid()); }));
}

port_options on_loopback() {
  port_options options;
  options.devices = "lo";
  return options;
}

// An empty datagram to each socket to which the kernel gave a name, as any user may send one.
void send_empty_datagrams() {
  const int untrusted_socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
  for (const std::string& name : autobound_sockets({})) {
    sockaddr_un to = {.sun_family = AF_UNIX, .sun_path = {}};
    std::copy(name.begin(), name.end(), to.sun_path + 1);
    sendto(untrusted_socket, nullptr, 0, 0, reinterpret_cast<const sockaddr*>(&to),
           static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size()));
  }
  close(untrusted_socket);
}

// Messages of all protocols go to and fro while nobody of the host finds a socket or a segment of theirs, and another
// user sends to what there is.
TEST(ucx_untrusted_peer, of_the_host_finds_nothing) {
  if (geteuid() != 0) GTEST_SKIP() << "becoming another user needs root";
  constexpr std::uint64_t rounds = 40;
  const ended_processes ended = run_processes(3, [](unsigned self, shared_by_processes& shared) {
    if (self == 2) {
      shared.await_mark(0, 2);  // both talk
      turn_into_nobody();
      for (int i = 0; i < 100; ++i) send_empty_datagrams();
      ++shared.marks[1];
      return;
    }
    checking_user user(self);
    body_store bodies;
    const port_options options = on_loopback();
    auto wire = open_port(
        conduit_choice::ucx, self, 2, user, [&shared](peer_number peer) { return shared.address_of(peer); }, options);
    shared.publish(self, wire->address());
    const std::vector<std::size_t> sizes = sizes_around(options);
    for (std::uint64_t number = 0; number < rounds; ++number) {
      if (number == rounds / 2) {
        ++shared.marks[0];
        check(autobound_sockets(own_sockets()).empty(), "UCX has opened an abstract socket");
        check_equal(own_segments(), std::size_t{0});
        while (shared.marks[1].load() == 0) wire->progress();  // the untrusted peer has sent everything
      }
      send_checked(*wire, bodies, self, 1 - self, number, sizes[number % sizes.size()]);
      while (user.arrived() <= number) wire->progress();
    }
    user.verify();
    check(user.failures.empty(), "no peer failed");
    for (++shared.marks[2]; shared.marks[2].load() < 2 || !wire->is_idle();) wire->progress();
  });
  EXPECT_EQ(ended.complaint, "");
  for (const process_end& end : ended.ends) EXPECT_TRUE(end.clean());
}

TEST(ucx_untrusted_peer, listens_on_the_chosen_network_only) {
  const ended_processes ended = run_processes(1, [](unsigned, shared_by_processes&) {
    checking_user user(0);
    const auto wire = open_port(conduit_choice::ucx, 0, 2, user, {}, on_loopback());
    const std::set<std::string> loopback_alone = {"0100007F"};
    check(listening_addresses() == loopback_alone, "UCX listens elsewhere than on 127.0.0.1");
  });
  EXPECT_EQ(ended.complaint, "");
}

struct no_events final : conduit_events {
  void packet(std::span<const std::byte>, std::span<const std::byte>) override {}
  void announced(std::span<const std::byte>, std::size_t, announcement) override {}
  void filled(packet_token, bool) override {}
  void sent(packet_token) override { ++count; }
  void peer_failed(peer_number, const std::string&) override {}
  std::uint64_t count = 0;
};

// Packets of one who speaks UCX and knows where process 0 listens, but not its secret. Returns how many.
std::uint64_t send_forged_packets(std::span<const std::byte> port_address_of_victim) {
  ucx_conduit wire(3, {.transports = "tcp", .devices = "lo"});
  wire.connect(0, decode_address(0, port_address_of_victim).of_conduit);
  no_events events;
  packet_record record;
  std::uint64_t sent = 0, under_way = 0;
  const auto send = [&](sending how, std::span<const std::byte> header, std::span<const std::byte> body) {
    if (wire.send(0, how, header, body, &record) == send_result::under_way) ++under_way;
    while (events.count < under_way) wire.progress(events);
    ++sent;
  };
  const auto bytes_of = [](const auto& value) { return std::as_bytes(std::span(&value, 1)); };
  const std::array<std::byte, 3> too_short = {};
  send(sending::copied, {}, too_short);
  for (const auto kind : {packet_kind::disconnect, packet_kind::heartbeat, packet_kind::credit})
    send(sending::copied, {}, bytes_of(packet_head{.tag = 1, .sequence = 0, .from = 1, .kind = kind, .messages = 0}));
  send(sending::copied, {}, bytes_of(packet_head{.tag = 1, .sequence = 0, .from = 77777, .messages = 9}));
  const packet_head alone = {.tag = 1, .sequence = 20, .from = 1, .kind = packet_kind::one_message, .messages = 1};
  const std::vector<std::byte> large(1 << 20);
  send(sending::copied, bytes_of(alone), std::span(large).first(5000));
  send(sending::announced, bytes_of(alone), large);  // refused, and given back
  wire.close(events, true);
  return sent;
}

// What UCX itself turns away: bytes that do not begin as its connections do.
void send_garbage(std::uint16_t port) {
  std::mt19937 random(15);
  for (const std::size_t size : {0, 1, 7, 8, 9, 1000, 20000}) {
    const int connection = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(connection, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
      throw std::runtime_error(std::string("cannot connect: ") + std::strerror(errno));
    std::vector<char> bytes(size);
    for (char& each : bytes) each = static_cast<char>(random());
    static_cast<void>(::send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL));
    close(connection);
  }
}

TEST(ucx_untrusted_peer, of_the_network_is_counted_and_dropped) {
  constexpr std::uint64_t rounds = 40;
  for (const bool checks : {false, true}) {
    const ended_processes ended = run_processes(3, [checks](unsigned self, shared_by_processes& shared) {
      if (self == 2) {
        shared.await_mark(0, 2);  // both talk
        shared.marks[3] = send_forged_packets(shared.address_of(0));
        send_garbage(static_cast<std::uint16_t>(shared.marks[4].load()));
        ++shared.marks[1];
        return;
      }
      checking_user user(self);
      body_store bodies;
      port_options options = on_loopback();
      options.checks = checks;
      auto wire = open_port(
          conduit_choice::ucx, self, 2, user, [&shared](peer_number peer) { return shared.address_of(peer); }, options);
      if (self == 0) shared.marks[4] = listening_port();
      shared.publish(self, wire->address());
      const std::vector<std::size_t> sizes = sizes_around(options);
      for (std::uint64_t number = 0; number < rounds; ++number) {
        if (number == rounds / 2) {
          ++shared.marks[0];
          while (shared.marks[1].load() == 0) wire->progress();
          while (self == 0 && wire->counters().foreign_packets < shared.marks[3]) wire->progress();
        }
        send_checked(*wire, bodies, self, 1 - self, number, sizes[number % sizes.size()]);
        while (user.arrived() <= number) wire->progress();
      }
      user.verify();
      check(user.failures.empty(), "no peer failed");
      check_equal(wire->counters().foreign_packets, self == 0 ? shared.marks[3].load() : 0);
      check_equal(wire->counters().unchecked_packets, std::uint64_t{0});
      for (++shared.marks[2]; shared.marks[2].load() < 2 || !wire->is_idle();) wire->progress();
    });
    EXPECT_EQ(ended.complaint, "");
    for (const process_end& end : ended.ends) EXPECT_TRUE(end.clean());
  }
}

}  // namespace
}  // namespace tri::wire::test
