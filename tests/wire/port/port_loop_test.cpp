// Ports over the loop network: thousands of orders, delays and failures by seed, all in one thread and in virtual time.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "support/check.hpp"
#include "wire/conduit_port.hpp"
#include "wire/loop/loop_conduit.hpp"
#include "wire/support/checked_messages.hpp"

namespace tri::wire::test {
namespace {

using loop_port = conduit_port<loop_conduit>;

port_options small_limits(std::uint64_t seed) {
  port_options options;
  options.short_limit = 100;
  options.eager_limit = 300;
  options.packet_bytes = 260;
  options.coalesce_messages = std::array<std::uint32_t, 3>{0, 1, 3}[seed % 3];
  options.close_timeout_ms = 0;  // of dead peers; the others have nothing left
  return options;
}

/// Processes of a job, as far as their wire goes.
struct job {
  job(std::size_t peers, const loop_options& network_options, const port_options& options)
      : network(peers, network_options) {
    for (peer_number self = 0; self < peers; ++self) {
      users.emplace_back(self);
      ports.push_back(std::make_unique<loop_port>(self, peers, users.back(), address_of, options, network, self));
    }
  }
  static std::vector<std::byte> address_of(peer_number peer) {
    return encode_address({}, false, std::as_bytes(std::span(&peer, 1)));
  }
  void send(peer_number from, peer_number to, std::size_t bytes) {
    send_checked(*ports[from], bodies, from, to, sent[{from, to}]++, bytes);
  }
  void step() {
    for (const auto& wire : ports) wire->progress();
    for (const checking_user& user : users) user.verify();
  }
  bool idle() const {
    return std::all_of(ports.begin(), ports.end(), [](const auto& wire) { return wire->is_idle(); });
  }

  loop_network network;
  std::deque<checking_user> users;
  std::vector<std::unique_ptr<loop_port>> ports;
  body_store bodies;
  std::map<std::pair<peer_number, peer_number>, std::uint64_t> sent;
};

constexpr int most_steps = 2'000'000;

// The random part of a run: somebody sends something, or all make progress.
void send_some(job& all, std::mt19937_64& random, std::size_t messages, const std::vector<std::size_t>& sizes) {
  const std::size_t peers = all.ports.size();
  for (std::size_t sent = 0; sent < messages;) {
    if (random() % 4 == 0) {
      all.step();
      continue;
    }
    const auto from = static_cast<peer_number>(random() % peers);
    const auto to = static_cast<peer_number>((from + 1 + random() % (peers - 1)) % peers);
    all.send(from, to, sizes[random() % sizes.size()]);
    if (random() % 10 == 0) all.ports[from]->flush();
    ++sent;
  }
}

TEST(conduit_port_loop, everything_arrives_in_order_for_every_seed) {
  std::uint64_t early = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const port_options options = small_limits(seed);
    const std::uint64_t released_before = body_store::released();
    job all(2 + seed % 3,
            {.seed = seed, .longest_delay = 1 + static_cast<std::uint32_t>(seed % 30), .piece_bytes = 128}, options);
    ASSERT_NO_THROW(send_some(all, random, 120, sizes_around(options)));
    for (int step = 0; step < most_steps && !all.idle(); ++step) ASSERT_NO_THROW(all.step());
    ASSERT_TRUE(all.idle());
    for (const auto& [pair, count] : all.sent) ASSERT_EQ(all.users[pair.second].arrived_from(pair.first), count);
    ASSERT_EQ(body_store::released() - released_before, all.bodies.made());
    for (const checking_user& user : all.users) {
      ASSERT_EQ(user.places_in_use(), 0U);
      ASSERT_EQ(user.failures.size(), 0U);
    }
    for (const auto& wire : all.ports) early += wire->counters().arrived_early;
  }
  EXPECT_GT(early, 1000U) << "the network never put anything out of order, so nothing was tested";
}

// Peers that are cut off: each side finds out by its heartbeats, once, and not before it had time to be answered.
TEST(conduit_port_loop, a_peer_that_says_nothing_is_lost) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    port_options options = small_limits(seed);
    options.heartbeats_until_failed = static_cast<std::uint8_t>(2 + seed % 4);
    options.peer_timeout_in_words = "a while";
    job all(3, {.seed = seed, .longest_delay = 5, .piece_bytes = 64}, options);
    const auto heartbeat_all = [&] {
      for (const auto& wire : all.ports) wire->heartbeat();
      for (int step = 0; step < 100; ++step) all.step();  // there and back, with all delays
    };
    for (peer_number from = 0; from < 3; ++from) all.send(from, (from + 1) % 3, seed % 400);
    for (int step = 0; step < 100; ++step) all.step();
    // Nobody sends anything else: what follows are heartbeats, each requested and answered.
    for (int heartbeat = 0; heartbeat < 20; ++heartbeat) heartbeat_all();
    for (const checking_user& user : all.users) ASSERT_EQ(user.failures.size(), 0U);
    for (const auto& wire : all.ports) ASSERT_GT(wire->counters().heartbeats, 10U);

    all.network.cut_off(2);
    for (int heartbeat = 0; heartbeat + 1 < options.heartbeats_until_failed; ++heartbeat) heartbeat_all();
    for (const checking_user& user : all.users) ASSERT_EQ(user.failures.size(), 0U) << "too early";
    for (int heartbeat = 0; heartbeat < 3; ++heartbeat) heartbeat_all();
    for (const peer_number peer : {0U, 1U}) {
      ASSERT_EQ(all.users[peer].failures.size(), 1U);
      ASSERT_EQ(all.users[peer].failures.front().first, 2U);
      ASSERT_EQ(all.users[peer].failures.front().second, "nothing has been heard of it for a while");
    }
    ASSERT_EQ(all.users[2].failures.size(), 2U);
    for (int heartbeat = 0; heartbeat < 20; ++heartbeat) heartbeat_all();
    ASSERT_EQ(all.users[0].failures.size(), 1U) << "told twice, or of a peer that answers";
  }
}

// A process whose threads compute makes progress at its heartbeats only, which is enough; one that has disconnected is
// expected to say nothing.
TEST(conduit_port_loop, a_peer_that_computes_answers_at_its_heartbeats) {
  port_options options = small_limits(1);
  options.heartbeats_until_failed = 4;
  job all(2, {.seed = 1, .longest_delay = 1}, options);
  all.send(0, 1, 10);
  for (int step = 0; step < 20; ++step) all.step();
  for (int heartbeat = 0; heartbeat < 100; ++heartbeat) {
    for (int step = 0; step < 20; ++step) all.ports[0]->progress();
    all.ports[0]->heartbeat();
    all.ports[1]->heartbeat();
  }
  ASSERT_EQ(all.users[0].failures.size(), 0U);
  ASSERT_EQ(all.users[1].failures.size(), 0U);
  EXPECT_GT(all.ports[1]->counters().heartbeats, 20U);

  // Without those it is taken for lost.
  for (int heartbeat = 0; heartbeat < 6; ++heartbeat) {
    for (int step = 0; step < 20; ++step) all.ports[0]->progress();
    all.ports[0]->heartbeat();
  }
  ASSERT_EQ(all.users[0].failures.size(), 1U);
}

// ... whatever came before the question.
TEST(conduit_port_loop, a_peer_that_computes_takes_all_that_has_come_at_a_heartbeat) {
  port_options options = small_limits(1);
  options.heartbeats_until_failed = 4;
  options.coalesce_messages = 1;
  job all(2, {.seed = 1, .longest_delay = 1}, options);
  all.send(0, 1, 10);
  for (int step = 0; step < 20; ++step) all.step();
  all.ports[1]->heartbeat();
  for (int message = 0; message < 1000; ++message) all.send(0, 1, 50);
  for (int step = 0; step < 5000; ++step) all.ports[0]->progress();  // until all of it is there
  all.ports[1]->heartbeat();
  EXPECT_EQ(all.users[1].arrived_from(0), 1001U);
}

// A body on its way gets time by its size, and no more than that.
TEST(conduit_port_loop, an_interrupted_body_is_waited_for_by_its_size) {
  port_options options = small_limits(1);
  options.heartbeats_until_failed = 3;
  options.least_bytes_per_heartbeat = 1000;
  job all(2, {.seed = 1, .longest_delay = 1, .piece_bytes = 64}, options);
  all.send(0, 1, 5'000);
  const auto is_coming = [&] { return all.users[1].places_in_use() == 1; };
  for (int step = 0; step < 100 && !is_coming(); ++step) all.step();
  ASSERT_TRUE(is_coming());
  all.network.cut_off(0);
  const auto heartbeat = [&] {
    for (int step = 0; step < 20; ++step) all.ports[1]->progress();
    all.ports[1]->heartbeat();
  };
  for (int heartbeats = 0; heartbeats < 3 + 5; ++heartbeats) heartbeat();
  EXPECT_EQ(all.users[1].failures.size(), 0U);
  for (int heartbeats = 0; heartbeats < 2; ++heartbeats) heartbeat();
  EXPECT_EQ(all.users[1].failures.size(), 1U);
}

// Who waits at the end of a job for what is under way sees by these that it still moves (sched/process_runtime.cpp),
// also where another thread is at the wire.
TEST(conduit_port_loop, moves_are_counted_within_a_body_and_not_for_heartbeats) {
  for (const bool funnelled : {false, true}) {
    SCOPED_TRACE(funnelled);
    port_options options = small_limits(1);
    options.heartbeats_until_failed = 4;
    options.funnelled = funnelled;
    job all(2, {.seed = 1, .longest_delay = 1, .piece_bytes = 64}, options);
    all.send(0, 1, 5'000);
    for (int step = 0; step < 100 && all.users[1].places_in_use() == 0; ++step) all.step();
    ASSERT_EQ(all.users[1].places_in_use(), 1U);
    for (int look = 0; look < 3; ++look) {
      const std::uint64_t before = all.ports[1]->counters().moves;
      for (int step = 0; step < 10; ++step) all.step();
      EXPECT_GT(all.ports[1]->counters().moves, before);
      ASSERT_EQ(all.users[1].arrived_from(0), 0U);
    }
    for (int step = 0; step < 1000; ++step) all.step();
    ASSERT_EQ(all.users[1].arrived_from(0), 1U);

    for (const auto& wire : all.ports) {
      const port_counters before = wire->counters();
      for (int heartbeat = 0; heartbeat < 20; ++heartbeat) {
        for (const auto& each : all.ports) each->heartbeat();
        for (int step = 0; step < 20; ++step) all.step();
      }
      EXPECT_GT(wire->counters().heartbeats, before.heartbeats + 5);
      EXPECT_EQ(wire->counters().moves, before.moves);
    }
  }
}

TEST(conduit_port_loop, a_peer_that_has_ended_gets_no_heartbeat_requests) {
  port_options options = small_limits(1);
  options.close_timeout_ms = 1000;
  job all(2, {.seed = 1, .longest_delay = 1}, options);
  all.send(0, 1, 10);
  all.send(1, 0, 10);
  for (int step = 0; step < 50; ++step) all.step();
  all.ports[1].reset();
  for (int step = 0; step < 50; ++step) all.ports[0]->progress();
  const std::uint64_t before = all.ports[0]->counters().heartbeats;
  for (int heartbeat = 0; heartbeat < 20; ++heartbeat) {
    all.ports[0]->heartbeat();
    for (int step = 0; step < 20; ++step) all.ports[0]->progress();
  }
  EXPECT_EQ(all.ports[0]->counters().heartbeats, before);
  EXPECT_EQ(all.users[0].failures.size(), 0U);
}

// A peer dies in the middle. The others get all that they send to each other, hear of the death once, and keep nothing.
TEST(conduit_port_loop, loss_of_a_peer_for_every_seed) {
  std::uint64_t abandoned = 0, dropped = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed * 77);
    const port_options options = small_limits(seed);
    const std::uint64_t released_before = body_store::released();
    constexpr std::size_t peers = 3;
    {
      job all(peers, {.seed = seed, .longest_delay = 25, .piece_bytes = 64}, options);
      send_some(all, random, 20 + random() % 60, sizes_around(options));
      const auto dead = static_cast<peer_number>(random() % peers);
      all.network.kill(dead);
      ASSERT_NO_THROW(send_some(all, random, 60, sizes_around(options)));
      const auto settled = [&] {
        for (peer_number peer = 0; peer < peers; ++peer)
          if (peer != dead && (!all.ports[peer]->is_idle() || all.users[peer].failures.empty())) return false;
        return true;
      };
      for (int step = 0; step < most_steps && !settled(); ++step) ASSERT_NO_THROW(all.step());
      ASSERT_TRUE(settled());
      for (int step = 0; step < 200; ++step) ASSERT_NO_THROW(all.step());
      for (const auto& [pair, count] : all.sent) {
        if (pair.first == dead || pair.second == dead) continue;
        ASSERT_EQ(all.users[pair.second].arrived_from(pair.first), count);
      }
      for (peer_number peer = 0; peer < peers; ++peer) {
        if (peer == dead) continue;
        ASSERT_EQ(all.users[peer].failures.size(), 1U);
        ASSERT_EQ(all.users[peer].failures.front().first, dead);
        ASSERT_EQ(all.users[peer].places_in_use(), 0U);
        abandoned += all.users[peer].abandoned_count;
        dropped += all.ports[peer]->counters().dropped;
      }
      all.ports[dead].reset();
      for (auto& wire : all.ports) wire.reset();
      ASSERT_EQ(body_store::released() - released_before, all.bodies.made());
      for (const checking_user& user : all.users) ASSERT_EQ(user.places_in_use(), 0U);
    }
  }
  EXPECT_GT(abandoned, 50U);
  EXPECT_GT(dropped, 1000U);
}

// Receivers with a place for one announced body at a time never stop, although bodies of all senders wait.
TEST(conduit_port_loop, one_place_is_enough_for_every_seed) {
  struct poor_user final : port_user {
    void* memory_for(peer_number, std::span<const std::byte>, std::size_t bytes) override {
      if (in_use) return nullptr;
      in_use = true;
      return std::malloc(bytes);
    }
    void arrived(peer_number, std::span<const std::byte>, void* body, std::size_t) override {
      std::free(body);
      in_use = false;
      ++count;
    }
    void abandoned(void*) override { FAIL(); }
    void peer_failed(peer_number, const std::string&) override { FAIL(); }
    bool in_use = false;
    std::uint64_t count = 0;
  };
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    loop_network network(3, {.seed = seed, .longest_delay = 30, .piece_bytes = 200});
    std::array<poor_user, 3> users;
    std::vector<std::unique_ptr<loop_port>> ports;
    for (peer_number self = 0; self < 3; ++self)
      ports.push_back(
          std::make_unique<loop_port>(self, 3, users[self], job::address_of, small_limits(seed), network, self));
    std::vector<std::byte> block(1000);
    for (int message = 0; message < 20; ++message)
      for (const peer_number from : {0U, 1U}) ports[from]->send(2, {}, {.block = block.data(), .bytes = block.size()});
    for (int step = 0; step < most_steps && users[2].count < 40; ++step)
      for (const auto& wire : ports) wire->progress();
    ASSERT_EQ(users[2].count, 40U);
    EXPECT_GT(ports[2]->counters().memory_refused, 0U);
  }
}

// FA-13: 10^4 messages of 1 MB that nobody takes: nothing of them is stored at the receiver or on the way.
TEST(conduit_port_loop, ten_thousand_unmatched_megabytes_are_stored_nowhere) {
  loop_network network(2, {.seed = 5, .longest_delay = 3, .piece_bytes = 1'000'000});
  struct late_user final : port_user {
    void* memory_for(peer_number, std::span<const std::byte>, std::size_t bytes) override {
      if (!open) return nullptr;
      open = false;
      place.resize(bytes);
      return place.data();
    }
    void arrived(peer_number, std::span<const std::byte> header, void*, std::size_t bytes) override {
      std::uint64_t number = 0;
      std::memcpy(&number, header.data(), sizeof number);
      if (number != count || bytes != place.size() || place.back() != std::byte{7}) wrong = true;
      place.back() = std::byte{0};
      ++count;
      open = true;
    }
    void abandoned(void*) override { wrong = true; }
    void peer_failed(peer_number, const std::string&) override { wrong = true; }
    std::vector<std::byte> place;
    bool open = false, wrong = false;
    std::uint64_t count = 0;
  } sender_user, user;
  port_options options;
  loop_port sender(0, 2, sender_user, job::address_of, options, network, 0U);
  loop_port receiver(1, 2, user, job::address_of, options, network, 1U);
  constexpr std::uint64_t messages = 10'000;
  std::vector<std::byte> block(1'000'000, std::byte{7});
  for (std::uint64_t number = 0; number < messages; ++number) {
    sender.send(1, std::as_bytes(std::span(&number, 1)), {.block = block.data(), .bytes = block.size()});
    receiver.progress();
    ASSERT_EQ(network.bytes_stored(), 0U);
  }
  for (int step = 0; step < 100; ++step) receiver.progress();
  EXPECT_EQ(user.count, 0U);
  EXPECT_TRUE(user.place.empty());
  EXPECT_EQ(sender.counters().rendezvous_sent, messages);
  user.open = true;  // one place for all: each is used, then the next one comes
  while (user.count < messages) {
    receiver.progress();
    sender.progress();
  }
  EXPECT_FALSE(user.wrong);
}

// FA-14: which protocol a size takes, at its limits.
TEST(conduit_port_loop, protocol_by_size) {
  loop_network network(2, {});
  checking_user sender_user(0), receiver_user(1);
  port_options options;
  options.short_limit = 1024;
  options.eager_limit = 131072;
  loop_port sender(0, 2, sender_user, job::address_of, options, network, 0U);
  loop_port receiver(1, 2, receiver_user, job::address_of, options, network, 1U);
  body_store bodies;
  struct expectation {
    std::size_t bytes;
    std::array<std::uint64_t, 3> counters;  // short, eager, rendezvous
  };
  std::uint64_t number = 0;
  for (const expectation& expected : {expectation{1024, {1, 0, 0}}, expectation{1025, {1, 1, 0}},
                                      expectation{131072, {1, 2, 0}}, expectation{131073, {1, 2, 1}}}) {
    send_checked(sender, bodies, 0, 1, number++, expected.bytes - sizeof(checked_header));
    const port_counters counters = sender.counters();
    EXPECT_EQ((std::array{counters.short_sent, counters.eager_sent, counters.rendezvous_sent}), expected.counters)
        << expected.bytes << " bytes";
  }
  while (receiver_user.arrived() < number) {
    sender.progress();
    receiver.progress();
  }
  EXPECT_NO_THROW(receiver_user.verify());
}

// How many messages travel in a packet, by each of the bounds.
class coalescing : public ::testing::Test {
 protected:
  // Sends messages of 8 bytes without any progress, then makes it; returns the packets.
  std::uint64_t packets_for(std::uint64_t messages, const port_options& options, std::uint64_t pause_ns = 0) {
    loop_network network(2, {});
    checking_user sender_user(0), receiver_user(1);
    loop_port sender(0, 2, sender_user, job::address_of, options, network, 0U);
    loop_port receiver(1, 2, receiver_user, job::address_of, options, network, 1U);
    body_store bodies;
    for (std::uint64_t number = 0; number < messages; ++number) {
      send_checked(sender, bodies, 0, 1, number, 8);
      for (const std::int64_t until = os::now_ns() + static_cast<std::int64_t>(pause_ns); os::now_ns() < until;) {
      }
    }
    before_progress_ = sender.counters().short_packets;
    while (receiver_user.arrived() < messages) {
      sender.progress();
      receiver.progress();
    }
    EXPECT_NO_THROW(receiver_user.verify());
    filled_ = sender.counters().packets_filled;
    return sender.counters().short_packets;
  }

  port_options options_;
  std::uint64_t before_progress_ = 0;
  std::uint64_t filled_ = 0;
};

constexpr std::size_t one_message = sizeof(message_head) + sizeof(checked_header) + 8;

TEST_F(coalescing, by_bytes) {
  options_.coalesce_us = 0;
  options_.packet_bytes = sizeof(packet_head) + 50 * one_message + one_message / 2;
  EXPECT_EQ(packets_for(1000, options_), 20U);
  EXPECT_EQ(before_progress_, 19U) << "the last packet is open until somebody makes progress";
  EXPECT_EQ(filled_, 19U);
}

TEST_F(coalescing, by_messages) {
  options_.coalesce_us = 0;
  options_.coalesce_messages = 7;
  EXPECT_EQ(packets_for(700, options_), 100U);
  EXPECT_EQ(before_progress_, 100U);
  options_.coalesce_messages = 1;
  EXPECT_EQ(packets_for(100, options_), 100U);
}

TEST_F(coalescing, by_age) {
  options_.coalesce_us = 1;
  EXPECT_EQ(packets_for(50, options_, 50'000), 25U) << "each message finds the one before older than the bound";
  EXPECT_EQ(before_progress_, 25U);
  options_.coalesce_us = 4'000'000'000;
  EXPECT_EQ(packets_for(50, options_, 50'000), 1U);
}

TEST_F(coalescing, by_flush) {
  loop_network network(2, {});
  checking_user sender_user(0);
  loop_port sender(0, 2, sender_user, job::address_of, port_options{}, network, 0U);
  body_store bodies;
  send_checked(sender, bodies, 0, 1, 0, 8);
  send_checked(sender, bodies, 0, 1, 1, 8);
  EXPECT_FALSE(sender.is_idle());
  sender.flush();
  EXPECT_EQ(sender.counters().short_packets, 1U);
}

// A message behind one to another peer does not wait for it.
TEST(conduit_port_loop, a_large_message_holds_back_only_its_own_sender) {
  loop_network network(3, {.seed = 3, .longest_delay = 50, .piece_bytes = 64});
  std::deque<checking_user> users;
  std::vector<std::unique_ptr<loop_port>> ports;
  for (peer_number self = 0; self < 3; ++self) {
    users.emplace_back(self);
    ports.push_back(std::make_unique<loop_port>(self, 3, users[self], job::address_of, port_options{}, network, self));
  }
  body_store bodies;
  send_checked(*ports[0], bodies, 0, 2, 0, 1'000'000);  // 15625 pieces
  send_checked(*ports[0], bodies, 0, 2, 1, 64);
  send_checked(*ports[1], bodies, 1, 2, 0, 64);
  while (users[2].arrived_from(1) == 0)
    for (const auto& wire : ports) wire->progress();
  EXPECT_EQ(users[2].arrived_from(0), 0U) << "the large message cannot be there yet";
  while (users[2].arrived_from(0) < 2)
    for (const auto& wire : ports) wire->progress();
  EXPECT_NO_THROW(users[2].verify());
}

// What no port of this job would send. The conduit of process 1 stands for a program that is out of order, or for a
// untrusted peer, who does not know the tag.
class malformed_packets : public ::testing::Test {
 protected:
  struct deaf final : conduit_events {
    void packet(std::span<const std::byte>, std::span<const std::byte>) override {}
    void announced(std::span<const std::byte>, std::size_t, announcement) override {}
    void filled(packet_token, bool) override {}
    void sent(packet_token) override {}
    void peer_failed(peer_number, const std::string&) override {}
  };
  static constexpr std::uint64_t tag = 0x1122'3344'5566'7788;
  static port_options with_tag() {
    port_options options;
    options.secret.tag = tag;
    return options;
  }

  malformed_packets() {
    const peer_number to = 0;
    untrusted_client_.connect(0, std::as_bytes(std::span(&to, 1)));
  }
  template <class Packet>
  void send(const Packet& packet) {
    send_bytes({}, std::as_bytes(std::span(&packet, 1)));
  }
  void send_bytes(std::span<const std::byte> header, std::span<const std::byte> body) {
    packet_record record;
    ASSERT_EQ(untrusted_client_.send(0, sending::copied, header, body, &record), send_result::done);
  }
  void progress() {
    for (int step = 0; step < 100; ++step) port_.progress();
  }
  void expect_failed(const std::string& why) {
    progress();
    ASSERT_EQ(user_.failures.size(), 1U);
    EXPECT_EQ(user_.failures[0].second, why);
    EXPECT_TRUE(port_.is_idle());
  }

  loop_network network_{2, {.late_percent = 0}};
  checking_user user_{0};
  loop_port port_{0, 2, user_, job::address_of, with_tag(), network_, 0U};
  loop_conduit untrusted_client_{network_, 1};
};

TEST_F(malformed_packets, of_untrusted_peers_are_counted_and_dropped) {
  const std::array<std::byte, sizeof(packet_head) - 1> too_short = {};
  send_bytes({}, too_short);
  send_bytes({}, {});
  for (const std::uint64_t guess : {std::uint64_t{0}, tag ^ 1, tag ^ std::uint64_t{1} << 63})
    for (const peer_number from : {0U, 1U, 77777U})
      for (const auto kind : {packet_kind::short_messages, packet_kind::disconnect, static_cast<packet_kind>(99)})
        send(packet_head{.tag = guess, .sequence = 0, .from = from, .kind = kind, .messages = 1});
  progress();
  EXPECT_EQ(port_.counters().foreign_packets, 2U + 3 * 3 * 3);
  EXPECT_EQ(user_.arrived(), 0U);
  EXPECT_TRUE(user_.failures.empty());
  EXPECT_TRUE(port_.is_idle());
}

TEST_F(malformed_packets, of_an_unknown_sender_are_refused) {
  const auto send_as = [&](peer_number from) {
    send(packet_head{.tag = tag, .sequence = 0, .from = from, .kind = packet_kind::disconnect, .messages = 0});
  };
  const std::string words = "a malformed packet came over the wire: its field 'from' is ";
  for (const peer_number from : {2U, 0xffffffffU}) {
    send_as(from);
    testing::check_throws<std::runtime_error>([&] { progress(); },
                                              words + std::to_string(from) + ", which must be 0 to 1");
  }
  send_as(0);
  testing::check_throws<std::runtime_error>([&] { progress(); }, words + "0, which must be");
}

TEST_F(malformed_packets, messages_that_are_not_in_it) {
  struct {
    packet_head head = {.tag = tag, .sequence = 0, .from = 1, .kind = packet_kind::short_messages, .messages = 2};
    message_head first = {.body_bytes = 0, .header_bytes = 0, .copies = 1};
    message_head second = {.body_bytes = 0xffffffff, .header_bytes = 0, .copies = 1};
  } packet;
  static_assert(sizeof packet == sizeof(packet_head) + 2 * sizeof(message_head));
  send(packet);
  expect_failed("it sent a malformed packet: its field 'body_bytes' is 4294967295, which must be 0");
  EXPECT_EQ(user_.arrived(), 0U) << "nothing of it is delivered";
}

TEST_F(malformed_packets, sequence_far_ahead) {
  send(packet_head{.tag = tag, .sequence = 1ULL << 40, .from = 1, .kind = packet_kind::disconnect, .messages = 0});
  expect_failed("it sent a malformed packet: its field 'sequence' is 1099511627776, which must be 0 to 2147483648");
}

TEST_F(malformed_packets, repeated_ones_are_counted_and_dropped) {
  struct {
    packet_head head = {.tag = tag, .sequence = 0, .from = 1, .kind = packet_kind::short_messages, .messages = 1};
    message_head first = {.body_bytes = 0, .header_bytes = 24, .copies = 1};
    checked_header header = {.from = 1, .to = 0, .number = 0, .bytes = 0};
  } packet;
  static_assert(sizeof packet == sizeof(packet_head) + sizeof(message_head) + sizeof(checked_header));
  send(packet);
  send(packet);
  packet.head.sequence = 2;  // waits for the one before it
  packet.header.number = 2;
  send(packet);
  send(packet);
  progress();
  EXPECT_EQ(user_.arrived(), 1U);
  EXPECT_EQ(port_.counters().repeated_packets, 2U);
  packet.head.sequence = 1;
  packet.header.number = 1;
  send(packet);
  send(packet);
  progress();
  EXPECT_EQ(user_.arrived(), 3U);
  EXPECT_EQ(port_.counters().repeated_packets, 3U);
  EXPECT_NO_THROW(user_.verify());
  for (int times = 0; times < 2; ++times)
    send(packet_head{.tag = tag, .sequence = 5, .from = 1, .kind = packet_kind::heartbeat, .messages = 0});
  progress();
  EXPECT_EQ(port_.counters().repeated_packets, 4U);
  EXPECT_TRUE(user_.failures.empty());
}

TEST(port_arguments, that_cannot_work_are_named) {
  loop_network network(3, {});
  checking_user user(1);
  const auto open = [&](peer_number self, port_options options) {
    loop_port(self, 3, user, job::address_of, options, network, self);
  };
  using testing::check_throws;
  check_throws<std::invalid_argument>([&] { open(3, {}); }, "process 3 among 3 processes: the last one is 2");
  port_options options;
  options.short_limit = 5000;
  options.eager_limit = 4000;
  check_throws<std::invalid_argument>([&] { open(0, options); }, "short_limit must not exceed eager_limit");
  options = {};
  options.packet_bytes = 1000;
  check_throws<std::invalid_argument>([&] { open(0, options); },
                                      "packets of 1000 bytes: with short messages of up to 1024");
  options = {};
  options.coalesce_messages = 70'000;
  check_throws<std::invalid_argument>([&] { open(0, options); }, "70000 messages in one packet: at most 65535");
  check_throws<std::invalid_argument>([] { conduit_named("ucs"); }, "there is no conduit 'ucs'; known: tcp, ucx, mpi");

  loop_port port(1, 3, user, job::address_of, {}, network, 1U);
  check_throws<std::invalid_argument>([&] { port.send(1, {}, {}); }, "process 1 sends to itself over the wire");
  check_throws<std::invalid_argument>([&] { port.send(3, {}, {}); }, "a message to process 3 of 3 processes");
  const std::array<std::byte, header_limit + 1> header = {};
  check_throws<std::invalid_argument>([&] { port.send(0, header, {}); },
                                      "a message header of 129 bytes; the wire takes up to 128");
}

}  // namespace
}  // namespace tri::wire::test
