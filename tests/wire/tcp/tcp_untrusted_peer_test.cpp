// What untrusted peers of the network and other users of the host can do to two processes that talk through the conduit
// over TCP: take up a few descriptors for a while, and be counted. Untrusted peers are processes of their own.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <fstream>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "wire/port.hpp"
#include "wire/port/port_processes.hpp"
#include "wire/support/checked_messages.hpp"
#include "wire/support/forked_processes.hpp"
#include "wire/support/own_sockets.hpp"
#include "wire/tcp/frame_stream.hpp"
#include "wire/tcp/loopback_sockets.hpp"

namespace tri::wire::test {
namespace {

using testing::check;
using testing::check_equal;

TEST(tcp_untrusted_peer, listens_on_the_chosen_network_only) {
  const ended_processes ended = run_processes(1, [](unsigned, shared_by_processes&) {
    checking_user user(0);
    port_options options = over_loopback();
    auto wire = open_port(conduit_choice::tcp, 0, 2, user, {}, options);
    const std::string ip4 = "0100007F", ip6 = "00000000000000000000000001000000";
    std::set<std::string> listening = listening_addresses();
    check_equal(listening.erase(ip4), std::size_t{1});
    listening.erase(ip6);  // where the host has it
    check(listening.empty(), "the wire listens elsewhere than on 127.0.0.1 and ::1");
    check(autobound_sockets(own_sockets()).empty(), "the wire has opened an abstract socket");
    wire.reset();
    options.devices = "127.0.0.0/8";
    wire = open_port(conduit_choice::tcp, 0, 2, user, {}, options);
    check(listening_addresses() == std::set{ip4}, "the wire listens outside of the network 127.0.0.0/8");
  });
  EXPECT_EQ(ended.complaint, "");
}

std::uint64_t private_bytes() {
  std::uint64_t kib = 0;
  for (const auto& row : rows_of("/proc/self/smaps_rollup"))
    if (row.size() > 1 && row[0] == "Private_Dirty:") kib = std::stoull(row[1]);
  return kib * 1024;
}

// Two processes talk, a third one knows where process 0 listens and `annoys` it meanwhile, then the two go on. All that
// it did is counted, nobody is lost, and memory does not grow with it.
void survive(const std::function<std::uint64_t(std::uint16_t port)>& annoy, bool before_they_connect = false) {
  constexpr std::uint64_t rounds = 40;
  enum : std::size_t { ready, annoyed, count, port_number, over };
  const ended_processes ended = run_processes(3, [&](unsigned self, shared_by_processes& shared) {
    if (self == 2) {
      shared.await_mark(ready, 2);
      shared.marks[count] = annoy(static_cast<std::uint16_t>(shared.marks[port_number].load()));
      ++shared.marks[annoyed];
      shared.await_mark(over, 2);  // keeps what it has open
      return;
    }
    checking_user user(self);
    body_store bodies;
    const port_options options = over_loopback();
    const auto wire = open_port(
        conduit_choice::tcp, self, 2, user, [&shared](peer_number peer) { return shared.address_of(peer); }, options);
    if (self == 0) shared.marks[port_number] = listening_port();
    shared.publish(self, wire->address());
    const std::vector<std::size_t> sizes = sizes_around(options);
    const auto be_annoyed = [&] {
      wire->progress();
      const std::uint64_t memory = private_bytes();
      ++shared.marks[ready];
      while (shared.marks[annoyed].load() == 0) wire->progress();
      while (self == 0 && wire->counters().foreign_connections < shared.marks[count].load()) wire->progress();
      if (self == 0) check(private_bytes() < memory + (std::uint64_t{4} << 20), "untrusted peers take memory");
    };
    if (before_they_connect) be_annoyed();
    for (std::uint64_t number = 0; number < rounds; ++number) {
      if (number == rounds / 2 && !before_they_connect) be_annoyed();
      send_checked(*wire, bodies, self, 1 - self, number, sizes[number % sizes.size()]);
      while (user.arrived() <= number) wire->progress();
    }
    user.verify();
    check(user.failures.empty(), "no peer failed");
    check_equal(wire->counters().foreign_packets, std::uint64_t{0});
    if (self == 0) check(wire->counters().foreign_connections > 0, "no untrusted peer was counted");
    if (self == 1) check_equal(wire->counters().foreign_connections, std::uint64_t{0});
    for (++shared.marks[over]; shared.marks[over].load() < 2 || !wire->is_idle();) wire->progress();
  });
  EXPECT_EQ(ended.complaint, "");
  for (const process_end& end : ended.ends) EXPECT_TRUE(end.clean());
}

// More than are listened to; the oldest make room. Returns how many of them must be gone by now.
std::uint64_t hold_silent_connections(std::uint16_t port) {
  static std::vector<os::unique_fd> held;
  for (int i = 0; i < 500; ++i) held.push_back(connect_to(port));
  return 500 - 64;
}

// One sends less than a greeting, or as much, or more, and goes.
std::uint64_t send_garbage(std::uint16_t port, std::span<const std::byte> begin) {
  std::mt19937 random(15);
  std::uint64_t count = 0;
  for (int round = 0; round < 20; ++round) {
    for (const std::size_t size : {0, 1, 4, 8, 9, 16, 40, 55, 56, 57, 64, 1000, 9000, 20000}) {
      const os::unique_fd connection = connect_to(port);
      std::vector<std::byte> bytes(begin.begin(), begin.end());
      for (std::size_t i = 0; i < size; ++i) bytes.push_back(static_cast<std::byte>(random()));
      if (!bytes.empty()) send_bytes(connection, bytes);
      ++count;
    }
  }
  return count;
}

TEST(tcp_untrusted_peer, silent_ones_make_room_for_others) { survive(hold_silent_connections); }

TEST(tcp_untrusted_peer, silent_ones_do_not_keep_peers_out) {
  survive(hold_silent_connections, /*before_they_connect=*/true);
}

TEST(tcp_untrusted_peer, garbage_is_counted_and_dropped) {
  survive([](std::uint16_t port) { return send_garbage(port, {}); });
}

// UCX's own first bytes, which its listener believes.
TEST(tcp_untrusted_peer, one_that_speaks_ucx_is_counted_and_dropped) {
  survive([](std::uint16_t port) {
    const std::uint64_t magic = 0xCAFEBABE12345678;
    return send_garbage(port, std::as_bytes(std::span(&magic, 1)));
  });
}

// Knows all but the token: the right greeting by process 1, and what would follow it.
TEST(tcp_untrusted_peer, one_without_the_token_is_counted_and_dropped) {
  const auto greet_wrongly = [](std::uint16_t port) {
    const frame_stream stream = frame_stream().packet(0, 5000).announce(1, 30, 100'000).body(1, 100'000);
    std::uint64_t count = 0;
    for (int round = 0; round < 200; ++round) {
      const os::unique_fd connection = connect_to(port);
      const token_bytes token = round == 0 ? token_bytes{} : make_token();
      send_bytes(connection, make_greeting(token, make_token(), {.from = 1, .to = 0, .peers = 2}));
      send_bytes(connection, stream.bytes());
      ++count;
    }
    return count;
  };
  survive(greet_wrongly);
  survive(greet_wrongly, /*before_they_connect=*/true);
}

TEST(tcp_untrusted_peer, another_user_is_counted_and_dropped) {
  if (geteuid() != 0) GTEST_SKIP() << "becoming another user needs root";
  survive([](std::uint16_t port) {
    turn_into_nobody();
    return send_garbage(port, {}) + hold_silent_connections(port);
  });
}

}  // namespace
}  // namespace tri::wire::test
