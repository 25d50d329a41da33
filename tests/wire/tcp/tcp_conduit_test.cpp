// The conduit over TCP: what every conduit promises, and what happens when the other side is slow, gone, somebody else
// or out of order. Nothing here depends on time, except that a pause of the conduit passes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "wire/conduit/conduit_rules.hpp"
#include "wire/port.hpp"
#include "wire/support/forked_processes.hpp"
#include "wire/tcp/frame_stream.hpp"
#include "wire/tcp/loopback_sockets.hpp"
#include "wire/tcp/tcp_conduit.hpp"

namespace tri::wire::test {
namespace {

using testing::check;
using testing::check_equal;
using testing::check_throws;

// Who waits for a welcome waits for a short time.
const tcp_options on_loopback = {
    .network = "lo", .longest_packet = std::size_t{1} << 20, .time_to_welcome_ns = 50'000'000};

TEST(tcp_conduit, keeps_its_promises) {
  const ended_processes ended = run_processes(2, [](unsigned self, shared_by_processes& shared) {
    tcp_conduit wire(self, 2, on_loopback);
    shared.publish(self, wire.address());
    check(wire.state(1 - self) == peer_state::unknown, "a peer is known before it is connected");
    wire.connect(1 - self, shared.address_of(1 - self));
    check(wire.state(1 - self) == peer_state::connected, "a connected peer is not known");
    conduit_player<tcp_conduit> player(wire, self);
    player.send_all();
    while (!player.finished()) player.step();
    ++shared.marks[0];
    while (shared.marks[0].load() < 2) player.step();
    ++shared.marks[1];
    shared.await_mark(1, 2);  // the peer is in a step no more: it would see us close as a failure
    check(player.counts.refused > 0 && player.counts.filled > 0, "bodies were refused and filled");
    check(player.failures.empty(), "no peer failed");
    while (!wire.close(player, false)) {
    }
    ++shared.marks[2];
    shared.await_mark(2, 2);
  });
  EXPECT_EQ(ended.complaint, "");
  EXPECT_TRUE(ended.ends[0].clean() && ended.ends[1].clean());
}

// Writes down what it is told.
struct recorder final : conduit_events {
  void packet(std::span<const std::byte>, std::span<const std::byte> body) override { packets.push_back(body.size()); }
  void announced(std::span<const std::byte>, std::size_t, announcement body) override { offers.push_back(body); }
  void filled(packet_token, bool whole) override { (whole ? whole_bodies : broken_bodies) += 1; }
  void sent(packet_token) override { ++sent_count; }
  void peer_failed(peer_number peer, const std::string& why) override { failures.emplace_back(peer, why); }
  void turned_away() override { ++turned_away_count; }

  std::vector<std::size_t> packets;
  std::vector<announcement> offers;
  std::vector<std::pair<peer_number, std::string>> failures;
  int whole_bodies = 0, broken_bodies = 0;
  std::size_t sent_count = 0, turned_away_count = 0;
};

struct record : packet_record {};

void progress_until(tcp_conduit& wire, recorder& events, const std::function<bool()>& done) {
  while (!done()) wire.progress(events);
}

// Two in one process.
struct pair_of_conduits {
  explicit pair_of_conduits(bool connected = true) {
    if (!connected) return;
    first.connect(1, second.address());
    second.connect(0, first.address());
  }
  void until(const std::function<bool()>& done) {
    while (!done()) {
      first.progress(at_first);
      second.progress(at_second);
    }
  }
  /// A packet each way has come.
  void greet() {
    std::array<std::byte, 1> byte = {};
    static record records[2];
    first.send(1, sending::copied, {}, byte, &records[0]);
    second.send(0, sending::copied, {}, byte, &records[1]);
    until([&] { return !at_first.packets.empty() && !at_second.packets.empty(); });
    at_first = at_second = {};
  }
  tcp_conduit first{0, 2, on_loopback}, second{1, 2, on_loopback};
  recorder at_first, at_second;
};

// Who writes more than the other reads keeps the memory of its packets, and copies none of them.
TEST(tcp_conduit, packets_for_a_slow_reader_stay_where_they_are) {
  pair_of_conduits wires;
  wires.greet();
  constexpr std::size_t count = 1000, bytes = 60'000;
  const std::vector<std::byte> body(bytes, std::byte{7});
  std::vector<record> records(count);
  std::size_t under_way = 0;
  const std::size_t in_use_before = mallinfo2().uordblks + mallinfo2().hblkhd;
  for (record& each : records) {
    under_way += wires.first.send(1, sending::copied, {}, body, &each) == send_result::under_way ? 1 : 0;
    wires.first.progress(wires.at_first);
  }
  EXPECT_GT(under_way, 0U) << "60 MB were taken by a kernel whose reader reads nothing";
  EXPECT_LT(wires.at_first.sent_count, under_way);
  // (Sanitizers count nothing here.)
  EXPECT_LT(mallinfo2().uordblks + mallinfo2().hblkhd, in_use_before + 1'000'000);
  wires.until([&] { return wires.at_second.packets.size() == count; });
  wires.until([&] { return wires.at_first.sent_count == under_way; });
  EXPECT_EQ(std::count(wires.at_second.packets.begin(), wires.at_second.packets.end(), bytes), 1000);
  for (int step = 0; step < 10; ++step) EXPECT_FALSE(wires.first.progress(wires.at_first));
}

TEST(tcp_conduit, a_long_body_goes_where_it_is_accepted) {
  pair_of_conduits wires;
  wires.greet();
  std::vector<std::byte> body(30'000'000);
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<std::byte>(i * 7 + (i >> 12));
  std::vector<std::byte> place(body.size());
  record sent, placed;
  ASSERT_EQ(wires.first.send(1, sending::announced, {}, body, &sent), send_result::under_way);
  wires.until([&] { return wires.at_second.offers.size() == 1; });
  EXPECT_EQ(wires.at_first.sent_count, 0U);
  wires.second.accept(wires.at_second.offers[0], place.data(), place.size(), &placed);
  wires.until([&] { return wires.at_second.whole_bodies == 1 && wires.at_first.sent_count == 1; });
  EXPECT_EQ(place, body);
}

TEST(tcp_conduit, a_body_is_broken_when_its_sender_ends) {
  pair_of_conduits wires;
  wires.greet();
  const std::vector<std::byte> body(50'000'000);
  std::vector<std::byte> place(body.size());
  record sent, placed, unanswered;
  wires.first.send(1, sending::announced, {}, body, &sent);
  wires.first.send(1, sending::announced, {}, body, &unanswered);
  wires.until([&] { return wires.at_second.offers.size() == 2; });
  wires.second.accept(wires.at_second.offers[0], place.data(), place.size(), &placed);
  wires.first.progress(wires.at_first);
  EXPECT_TRUE(wires.first.close(wires.at_first, /*at_once=*/true));
  EXPECT_EQ(wires.at_first.sent_count, 2U);
  EXPECT_TRUE(wires.at_first.failures.empty());
  progress_until(wires.second, wires.at_second, [&] { return !wires.at_second.failures.empty(); });
  EXPECT_EQ(wires.at_second.broken_bodies, 1);
  EXPECT_EQ(wires.second.state(0), peer_state::failed);
  wires.second.accept(wires.at_second.offers[1], place.data(), place.size(), &placed);
  progress_until(wires.second, wires.at_second, [&] { return wires.at_second.broken_bodies == 2; });
  EXPECT_EQ(wires.at_second.failures.size(), 1U);
  EXPECT_EQ(wires.second.send(0, sending::copied, {}, body, &sent), send_result::done);
}

// What was sent before the end comes before the loss, whichever connection the kernel tells of first.
// As much as the kernel holds for a peer that does not read: several times what is read at once.
TEST(tcp_conduit, last_words_come_before_the_loss) {
  for (int round = 0; round < 20; ++round) {
    pair_of_conduits wires;
    wires.greet();
    std::vector<std::byte> body(1000);
    record of_first, of_second;
    std::size_t whole = 0;
    while (wires.first.send(1, sending::copied, {}, body, &of_first) == send_result::done) ++whole;
    ASSERT_GT(whole * body.size(), std::size_t{512} << 10);
    // Not read at its end, which resets that connection.
    for (int i = 0; i < 10; ++i)
      ASSERT_EQ(wires.second.send(0, sending::copied, {}, body, &of_second), send_result::done);
    ASSERT_TRUE(wires.first.close(wires.at_first, /*at_once=*/true));
    // Found broken by the one who writes, before it reads.
    wires.second.send(0, sending::copied, {}, body, &of_second);
    wires.second.send(0, sending::copied, {}, body, &of_second);
    progress_until(wires.second, wires.at_second, [&] { return !wires.at_second.failures.empty(); });
    EXPECT_EQ(wires.at_second.packets.size(), whole);
    EXPECT_EQ(wires.at_second.failures.size(), 1U);
  }
}

// ---- nobody, or somebody else

std::vector<std::byte> address_with(std::vector<tcp_endpoint> endpoints, const token_bytes& token = make_token()) {
  return encode_tcp_address({.token = token, .endpoints = std::move(endpoints)});
}

TEST(tcp_conduit, a_closed_port_is_a_loss) {
  tcp_endpoint nobody;
  {
    const plain_listener gone;
    nobody = gone.endpoint;
  }
  tcp_conduit wire(0, 2, on_loopback);
  recorder events;
  record sent;
  const std::vector<std::byte> body(100);
  wire.connect(1, address_with({nobody}));
  const send_result result = wire.send(1, sending::copied, {}, body, &sent);
  progress_until(wire, events, [&] { return !events.failures.empty(); });
  EXPECT_EQ(events.failures[0].second, "it cannot be reached at " + nobody.text() + ": Connection refused");
  EXPECT_EQ(events.sent_count, result == send_result::under_way ? 1U : 0U);
  EXPECT_TRUE(wire.close(events, false));
}

// Gets no more than a greeting, which does not help it; the process is found at its other address.
TEST(tcp_conduit, an_impostor_is_left) {
  const plain_listener impostor;
  tcp_conduit wire(0, 2, on_loopback), peer(1, 2, on_loopback);
  recorder events, at_peer;
  const tcp_address right = decode_tcp_address(1, peer.address());
  std::vector<tcp_endpoint> endpoints = right.endpoints;
  endpoints.insert(endpoints.begin(), impostor.endpoint);
  wire.connect(1, address_with(endpoints, right.token));
  record sent;
  const std::vector<std::byte> body(100, std::byte{42});
  ASSERT_EQ(wire.send(1, sending::copied, {}, body, &sent), send_result::under_way);
  const os::unique_fd connection = impostor.accept();
  std::array<std::byte, 1000> seen = {};
  progress_until(wire, events, [&] { return peek_bytes(connection, seen) > 0; });
  for (int step = 0; step < 100; ++step) wire.progress(events);
  ASSERT_EQ(peek_bytes(connection, seen), static_cast<ssize_t>(sizeof(greeting_bytes)));
  // The best it can do: a welcome made without the token.
  greeting_bytes greeting;
  std::memcpy(greeting.data(), seen.data(), greeting.size());
  send_bytes(connection, make_welcome(make_token(), greeting));
  while (at_peer.packets.empty()) {
    wire.progress(events);
    peer.progress(at_peer);
  }
  EXPECT_EQ(at_peer.packets[0], 100U);
  EXPECT_TRUE(events.failures.empty());
}

// It takes the connection and says nothing: it could be the process that computes, so it is waited for beside the
// other.
TEST(tcp_conduit, a_silent_impostor_is_left) {
  const plain_listener impostor;
  tcp_conduit wire(0, 2, on_loopback), peer(1, 2, on_loopback);
  recorder events, at_peer;
  const tcp_address right = decode_tcp_address(1, peer.address());
  std::vector<tcp_endpoint> endpoints = right.endpoints;
  endpoints.insert(endpoints.begin(), impostor.endpoint);
  wire.connect(1, address_with(endpoints, right.token));
  record sent;
  const std::vector<std::byte> body(100, std::byte{42});
  ASSERT_EQ(wire.send(1, sending::copied, {}, body, &sent), send_result::under_way);
  const os::unique_fd connection = impostor.accept();
  while (at_peer.packets.empty()) {
    wire.progress(events);
    peer.progress(at_peer);
  }
  std::array<std::byte, 100> seen = {};
  // The greeting, and then the end.
  ASSERT_EQ(recv(connection.get(), seen.data(), seen.size(), MSG_WAITALL),
            static_cast<ssize_t>(sizeof(greeting_bytes)));
  EXPECT_TRUE(events.failures.empty());
  EXPECT_TRUE(at_peer.failures.empty());
  EXPECT_EQ(at_peer.turned_away_count, 0U);
}

// A process with two addresses, by hand, that computes at first: greetings wait at both, and it welcomes either.
TEST(tcp_conduit, whichever_connection_is_welcomed_is_used) {
  for (const int welcomed : {0, 1}) {
    const plain_listener listeners[2];
    tcp_conduit wire(0, 2, on_loopback);
    recorder events;
    const token_bytes token = make_token();
    wire.connect(1, address_with({listeners[0].endpoint, listeners[1].endpoint}, token));
    record sent;
    const std::vector<std::byte> body(10);
    wire.send(1, sending::copied, {}, body, &sent);
    os::unique_fd connections[2];
    greeting_bytes greetings[2];
    for (int i : {0, 1}) {
      // The order of nearness is not that of the list, where both are the same host: any of them comes first.
      pollfd waiting[2] = {{.fd = listeners[0].descriptor.get(), .events = POLLIN, .revents = 0},
                           {.fd = listeners[1].descriptor.get(), .events = POLLIN, .revents = 0}};
      while (poll(waiting, 2, 0) == 0) wire.progress(events);
      connections[i] = listeners[waiting[0].revents != 0 ? 0 : 1].accept();
      while (peek_bytes(connections[i], greetings[i]) < static_cast<ssize_t>(sizeof(greeting_bytes)))
        wire.progress(events);
      recv(connections[i].get(), greetings[i].data(), greetings[i].size(), 0);
    }
    EXPECT_NE(greetings[0], greetings[1]);
    const os::unique_fd& one = connections[welcomed];
    send_bytes(one, make_welcome(token, greetings[welcomed]));
    std::array<std::byte, 1000> seen = {};
    progress_until(wire, events,
                   [&] { return peek_bytes(one, seen) == static_cast<ssize_t>(sizeof(frame_head) + 10); });
    progress_until(wire, events, [&] { return peek_bytes(connections[1 - welcomed], seen) == -1; });
    EXPECT_TRUE(events.failures.empty());
    EXPECT_EQ(wire.state(1), peer_state::connected);
  }
}

// The one that was waited for ends: the other goes on.
TEST(tcp_conduit, an_unanswered_connection_that_ends_is_no_loss) {
  tcp_conduit wire(0, 2, on_loopback);
  recorder events;
  const token_bytes token = make_token();
  plain_listener first, second;
  wire.connect(1, address_with({first.endpoint, second.endpoint}, token));
  const auto accept_of = [&](plain_listener& listener) {
    pollfd waiting = {.fd = listener.descriptor.get(), .events = POLLIN, .revents = 0};
    while (poll(&waiting, 1, 0) == 0) wire.progress(events);
    return listener.accept();
  };
  os::unique_fd at_first = accept_of(first);
  const os::unique_fd at_second = accept_of(second);
  at_first.reset();
  for (int step = 0; step < 100; ++step) wire.progress(events);
  greeting_bytes greeting;
  while (peek_bytes(at_second, greeting) < static_cast<ssize_t>(greeting.size())) wire.progress(events);
  send_bytes(at_second, make_welcome(token, greeting));
  record sent;
  wire.send(1, sending::copied, {}, std::span(greeting).first(10), &sent);
  std::array<std::byte, 1000> seen = {};
  progress_until(wire, events, [&] {
    return peek_bytes(at_second, seen) == static_cast<ssize_t>(greeting.size() + sizeof(frame_head) + 10);
  });
  EXPECT_TRUE(events.failures.empty());
}

TEST(tcp_conduit, an_impostor_alone_is_a_loss) {
  const plain_listener impostor;
  tcp_conduit wire(0, 2, on_loopback);
  recorder events;
  wire.connect(1, address_with({impostor.endpoint}));
  const os::unique_fd connection = impostor.accept();
  send_bytes(connection, std::vector<char>(24, 'x'));
  progress_until(wire, events, [&] { return !events.failures.empty(); });
  EXPECT_EQ(events.failures[0].second,
            "it cannot be reached at " + impostor.endpoint.text() + ": the process that listens there is another one");
}

// A peer that is crowded by untrusted peers turns connections away: they come again.
TEST(tcp_conduit, comes_again_when_it_is_turned_away) {
  const plain_listener crowded;
  tcp_conduit wire(0, 2, on_loopback);
  recorder events;
  const token_bytes token = make_token();
  wire.connect(1, address_with({crowded.endpoint}, token));
  for (int i = 0; i < 4; ++i) {
    pollfd waiting = {.fd = crowded.descriptor.get(), .events = POLLIN, .revents = 0};
    while (poll(&waiting, 1, 0) == 0) wire.progress(events);
    const os::unique_fd dropped = crowded.accept();
  }
  EXPECT_TRUE(events.failures.empty());
  pollfd waiting = {.fd = crowded.descriptor.get(), .events = POLLIN, .revents = 0};
  while (poll(&waiting, 1, 0) == 0) wire.progress(events);
  const os::unique_fd taken = crowded.accept();
  greeting_bytes greeting;
  while (peek_bytes(taken, greeting) < static_cast<ssize_t>(greeting.size())) wire.progress(events);
  std::array<std::byte, 1000> seen = {};
  ASSERT_EQ(recv(taken.get(), seen.data(), seen.size(), 0), static_cast<ssize_t>(greeting.size()));
  send_bytes(taken, make_welcome(token, greeting));
  record sent;
  wire.send(1, sending::copied, {}, std::span(seen).first(10), &sent);
  progress_until(wire, events,
                 [&] { return peek_bytes(taken, seen) == static_cast<ssize_t>(sizeof(frame_head) + 10); });
}

// ---- a peer by hand, which knows the token

struct peer_by_hand {
  explicit peer_by_hand(tcp_conduit& wire, peer_number from = 1)
      : own(decode_tcp_address(0, wire.address())),
        greeting(make_greeting(own.token, make_token(), {.from = from, .to = 0, .peers = 3})),
        connection(connect_to(port_of(own))) {
    send_bytes(connection, greeting);
  }
  tcp_address own;
  greeting_bytes greeting;
  os::unique_fd connection;
};

TEST(tcp_conduit, a_malformed_frame_loses_its_sender_alone) {
  const std::vector<std::pair<frame_stream, std::string>> wrong = {
      {frame_stream().add({.kind = frame_kind::accept}), "its field `kind` is 4, which must be 1 to 3"},
      {frame_stream().add({.body_bytes = (std::uint64_t{1} << 20) + 1}),
       "its field `body_bytes` is 1048577, which must be 0 to 1048576"},
      {frame_stream().body(3, 8), "its fields `name` and `body_bytes` are 3 and 8, and no such body was accepted"}};
  for (const auto& [stream, words] : wrong) {
    tcp_conduit wire(0, 3, on_loopback);
    recorder events;
    const peer_by_hand one(wire, 1), other(wire, 2);
    send_bytes(one.connection, frame_stream().packet(0, 5).bytes());
    send_bytes(one.connection, stream.bytes());
    progress_until(wire, events, [&] { return !events.failures.empty(); });
    EXPECT_EQ(events.failures[0].first, 1U);
    EXPECT_EQ(events.failures[0].second, "it sent a malformed frame: " + words);
    EXPECT_EQ(events.packets, std::vector<std::size_t>{5});
    EXPECT_EQ(wire.state(1), peer_state::failed);
    send_bytes(other.connection, frame_stream().packet(0, 6).bytes());
    progress_until(wire, events, [&] { return events.packets.size() == 2; });
    EXPECT_EQ(events.failures.size(), 1U);
  }
}

TEST(tcp_conduit, a_stream_that_ends_in_a_packet_is_a_loss_that_says_so) {
  tcp_conduit wire(0, 3, on_loopback);
  recorder events;
  peer_by_hand one(wire);
  const frame_stream stream = frame_stream().packet(10, 3000);
  send_bytes(one.connection, std::span(stream.bytes()).first(1000));
  // Closed with bytes that nobody has read, the connection would be reset instead of ending.
  welcome_bytes welcome;
  progress_until(wire, events, [&] { return peek_bytes(one.connection, welcome) == sizeof welcome; });
  ASSERT_EQ(recv(one.connection.get(), welcome.data(), sizeof welcome, 0), ssize_t{sizeof welcome});
  one.connection.reset();
  progress_until(wire, events, [&] { return !events.failures.empty(); });
  EXPECT_TRUE(events.packets.empty());
  EXPECT_EQ(events.failures[0].second,
            "its connection broke (it was closed at the other end in the middle of a packet)");
}

TEST(tcp_conduit, a_peer_connects_once) {
  tcp_conduit wire(0, 3, on_loopback);
  recorder events;
  const peer_by_hand first(wire);
  std::array<std::byte, 100> seen = {};
  progress_until(wire, events, [&] { return peek_bytes(first.connection, seen) == sizeof(welcome_bytes); });
  {
    const peer_by_hand second(wire);  // at another address, before the first was welcomed
    progress_until(wire, events, [&] { return peek_bytes(second.connection, seen) == -1; });
  }
  EXPECT_EQ(events.turned_away_count, 0U);
  const os::unique_fd repeated = connect_to(port_of(first.own));
  send_bytes(repeated, first.greeting);
  progress_until(wire, events, [&] { return peek_bytes(repeated, seen) == -1; });
  EXPECT_EQ(events.turned_away_count, 1U);
  send_bytes(first.connection, frame_stream().packet(0, 7).bytes());
  progress_until(wire, events, [&] { return !events.packets.empty(); });
  EXPECT_TRUE(events.failures.empty());
}

TEST(tcp_conduit, packets_that_would_not_be_taken_are_not_sent) {
  pair_of_conduits wires;
  record sent;
  const std::vector<std::byte> longer(on_loopback.longest_packet + 1), header(longest_frame_header + 1);
  check_throws<std::length_error>([&] { wires.first.send(1, sending::copied, {}, longer, &sent); },
                                  "a packet of 0 and 1048577 bytes; over TCP up to 256 and 1048576 are possible");
  check_throws<std::length_error>([&] { wires.first.send(1, sending::announced, header, longer, &sent); },
                                  "a packet of 257 and 1048577 bytes");
}

// ---- the system's limits

// Without descriptors nobody is taken, nothing spins, and it goes on when there are some. The pause is the usual one of
// a second: a busy machine must not stretch the hundred looks over it.
TEST(tcp_conduit, waits_for_descriptors) {
  ::testing::internal::CaptureStderr();
  const ended_processes ended = run_processes(1, [](unsigned, shared_by_processes&) {
    tcp_conduit wire(0, 3, on_loopback);
    recorder events;
    const tcp_address own = decode_tcp_address(0, wire.address());
    const os::unique_fd connection = connect_to(port_of(own));
    send_bytes(connection, make_greeting(own.token, make_token(), {.from = 1, .to = 0, .peers = 3}));
    rlimit limit = {};
    getrlimit(RLIMIT_NOFILE, &limit);
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = 3;  // of no further one
    setrlimit(RLIMIT_NOFILE, &limit);
    pollfd waiting = {.fd = wire.wake_descriptor(), .events = POLLIN, .revents = 0};
    check_equal(poll(&waiting, 1, -1), 1);
    wire.progress(events);
    for (int step = 0; step < 100; ++step) check(!wire.progress(events), "it spins without descriptors");
    limit.rlim_cur = before;
    setrlimit(RLIMIT_NOFILE, &limit);
    send_bytes(connection, frame_stream().packet(0, 9).bytes());
    while (events.packets.empty()) {
      check(wire.prepare_sleep(), "it does not sleep");
      check_equal(poll(&waiting, 1, -1), 1);  // its timer
      wire.progress(events);
    }
  });
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "trireme: process 0 can open no further connection to another process and tries again every 1 s: Too many "
            "open files; `ulimit -n` sets the limit of open files\n");
  EXPECT_EQ(ended.complaint, "");
  EXPECT_TRUE(ended.ends[0].clean());
}

TEST(tcp_conduit, waits_for_descriptors_to_connect_with) {
  ::testing::internal::CaptureStderr();
  const ended_processes ended = run_processes(1, [](unsigned, shared_by_processes&) {
    tcp_conduit wire(0, 2, on_loopback), peer(1, 2, on_loopback);
    recorder events, at_peer;
    rlimit limit = {};
    getrlimit(RLIMIT_NOFILE, &limit);
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = 3;  // of no further one
    setrlimit(RLIMIT_NOFILE, &limit);
    wire.connect(1, peer.address());
    record sent;
    const std::vector<std::byte> body(9);
    check(wire.send(1, sending::copied, {}, body, &sent) == send_result::under_way, "it was sent without a connection");
    for (int step = 0; step < 100; ++step) check(!wire.progress(events), "it spins without descriptors");
    limit.rlim_cur = before;
    setrlimit(RLIMIT_NOFILE, &limit);
    check(wire.prepare_sleep(), "it does not sleep");
    pollfd waiting = {.fd = wire.wake_descriptor(), .events = POLLIN, .revents = 0};
    check_equal(poll(&waiting, 1, -1), 1);  // its timer
    while (at_peer.packets.empty()) {
      wire.progress(events);
      peer.progress(at_peer);
    }
    check(events.failures.empty(), "the peer counts as failed");
  });
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "trireme: process 0 can open no further connection to another process and tries again every 1 s: Too many "
            "open files; `ulimit -n` sets the limit of open files\n");
  EXPECT_EQ(ended.complaint, "");
  EXPECT_TRUE(ended.ends[0].clean());
}

// A forked child holds all descriptors open, and must not keep connections alive nor wake anybody for dead ones.
TEST(tcp_conduit, a_forked_child_keeps_nothing_alive) {
  const ended_processes ended = run_processes(1, [](unsigned, shared_by_processes&) {
    pair_of_conduits wires;
    wires.greet();
    const pid_t child = os::start_function([]() -> int {
      while (true) pause();
    });
    check(wires.first.close(wires.at_first, true), "it does not close");
    progress_until(wires.second, wires.at_second, [&] { return !wires.at_second.failures.empty(); });
    wires.second.progress(wires.at_second);
    for (int step = 0; step < 100; ++step) {
      check(!wires.second.progress(wires.at_second), "the set tells of a connection that was closed");
      check(!wires.first.progress(wires.at_first), "the set tells of a listener that was closed");
    }
    pollfd waiting = {.fd = wires.second.wake_descriptor(), .events = POLLIN, .revents = 0};
    check_equal(poll(&waiting, 1, 0), 0);
    os::kill_and_wait(child);
  });
  EXPECT_EQ(ended.complaint, "");
  EXPECT_TRUE(ended.ends[0].clean());
}

TEST(tcp_conduit, a_wake_up_is_kept_until_it_is_seen) {
  tcp_conduit wire(0, 2, on_loopback);
  recorder events;
  pollfd waiting = {.fd = wire.wake_descriptor(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&waiting, 1, 0), 0);
  wire.wake();
  EXPECT_TRUE(wire.prepare_sleep());
  EXPECT_EQ(poll(&waiting, 1, -1), 1);
  wire.progress(events);
  EXPECT_EQ(poll(&waiting, 1, 0), 0);
}

std::set<std::string> open_files() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) names.insert(entry.path().filename());
  return names;
}

TEST(tcp_conduit, leaves_no_descriptors_behind) {
  const std::set<std::string> before = open_files();
  {
    pair_of_conduits wires;
    wires.greet();
    for (const std::string& name : open_files()) {
      const int flags = fcntl(std::stoi(name), F_GETFD);
      if (flags < 0 || before.contains(name)) continue;
      EXPECT_NE(flags & FD_CLOEXEC, 0) << "descriptor " << name << " goes on to programs that are started";
    }
  }
  EXPECT_EQ(open_files().size(), before.size());
}

}  // namespace
}  // namespace tri::wire::test
