// Ports with a limit on the memory of messages, over the loop network: all orders and delays from a seed, in one thread
// and in virtual time. Receivers keep what arrives and give it back late; what they hold is counted here, apart from
// the port's own account.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <regex>
#include <string>
#include <vector>

#include "wire/conduit_port.hpp"
#include "wire/loop/loop_conduit.hpp"
#include "wire/support/checked_messages.hpp"

namespace tri::wire::test {
namespace {

using loop_port = conduit_port<loop_conduit>;

port_options with_memory(std::uint64_t seed, std::uint64_t memory) {
  port_options options;
  options.short_limit = 100;
  options.eager_limit = 300;
  options.packet_bytes = 260;
  options.coalesce_messages = std::array<std::uint32_t, 3>{0, 1, 3}[seed % 3];
  options.close_timeout_ms = 0;
  options.message_memory = memory;
  return options;
}

// Checks contents and order, and keeps the memory of each message until run() is called for it.
class slow_user final : public port_user {
 public:
  explicit slow_user(peer_number self) : inner_(self) {}

  void* memory_for(peer_number from, std::span<const std::byte> header, std::size_t bytes) override {
    return inner_.memory_for(from, header, bytes);
  }
  void arrived(peer_number from, std::span<const std::byte> header, void* body, std::size_t bytes) override {
    inner_.arrived(from, header, body, bytes);
    held_.push_back(message_cost(bytes));
    in_use += held_.back();
    most_in_use = std::max(most_in_use, held_.size() == 1 ? 0 : in_use);
  }
  void abandoned(void* place) override { inner_.abandoned(place); }
  void peer_failed(peer_number peer, const std::string& why) override { inner_.peer_failed(peer, why); }
  std::uint64_t memory_given_back() override { return given_back_; }

  bool run() {
    if (held_.empty()) return false;
    in_use -= held_.front();
    given_back_ += held_.front();
    held_.pop_front();
    return true;
  }
  checking_user& checks() { return inner_; }

  std::uint64_t in_use = 0;
  std::uint64_t most_in_use = 0;  // when more than one message was there

 private:
  checking_user inner_;
  std::deque<std::uint64_t> held_;
  std::uint64_t given_back_ = 0;
};

struct bounded_job {
  bounded_job(std::size_t peers, const loop_options& network_options, const port_options& options)
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
    for (slow_user& user : users) user.checks().verify();
  }
  bool idle() const {
    return std::all_of(ports.begin(), ports.end(), [](const auto& wire) { return wire->is_idle(); });
  }

  loop_network network;
  std::deque<slow_user> users;
  std::vector<std::unique_ptr<loop_port>> ports;
  body_store bodies;
  std::map<std::pair<peer_number, peer_number>, std::uint64_t> sent;
};

constexpr std::array<std::uint64_t, 7> memory_sizes = {0, 64, 200, 1000, 3000, 20'000, 1'000'000};
constexpr int most_steps = 2'000'000;

void send_some(bounded_job& all, std::mt19937_64& random, std::size_t messages, const std::vector<std::size_t>& sizes) {
  const std::size_t peers = all.ports.size();
  for (std::size_t sent = 0; sent < messages; ++sent) {
    const auto from = static_cast<peer_number>(random() % peers);
    all.send(from, static_cast<peer_number>((from + 1 + random() % (peers - 1)) % peers),
             sizes[random() % sizes.size()]);
    if (random() % 3 == 0) all.step();
    if (random() % 4 == 0) all.users[random() % peers].run();
  }
}

TEST(port_memory, everything_arrives_in_order_within_every_limit) {
  std::uint64_t waited = 0, waited_in_plenty = 0, notes_of_plenty = 0;
  for (std::uint64_t seed = 1; seed <= 420; ++seed) {
    const std::uint64_t memory = memory_sizes[seed % memory_sizes.size()];
    SCOPED_TRACE("seed " + std::to_string(seed) + ", memory " + std::to_string(memory));
    std::mt19937_64 random(seed);
    const port_options options = with_memory(seed, memory);
    const std::uint64_t released_before = body_store::released();
    const std::size_t peers = 2 + seed % 3;
    bounded_job all(
        peers, {.seed = seed, .longest_delay = 1 + static_cast<std::uint32_t>(seed % 30), .piece_bytes = 128}, options);
    ASSERT_NO_THROW(send_some(all, random, 120, sizes_around(options)));
    const auto done = [&] {
      for (const auto& [pair, count] : all.sent)
        if (all.users[pair.second].checks().arrived_from(pair.first) != count) return false;
      return all.idle();
    };
    for (int step = 0; step < most_steps && !done(); ++step) {
      ASSERT_NO_THROW(all.step());
      if (random() % 3 == 0) all.users[random() % peers].run();
    }
    ASSERT_TRUE(done());
    ASSERT_EQ(body_store::released() - released_before, all.bodies.made());
    // A message that is larger than what can be free comes alone, or beside what is set aside for silent peers.
    const std::uint64_t bound = memory >= 2000 ? memory : memory / 4 + message_cost(3 * options.eager_limit + 7);
    for (peer_number peer = 0; peer < peers; ++peer) {
      ASSERT_LE(all.users[peer].most_in_use, bound);
      ASSERT_EQ(all.users[peer].checks().places_in_use(), 0U);
      const port_counters counters = all.ports[peer]->counters();
      ASSERT_EQ(counters.waiting, 0U);
      waited += counters.waited;
      if (memory != memory_sizes.back()) continue;
      notes_of_plenty += counters.memory_control_messages;
      waited_in_plenty += counters.waited;
    }
  }
  EXPECT_GT(waited, 10'000U) << "nobody ever waited for memory, so nothing was tested";
  EXPECT_EQ(waited_in_plenty, 0U);
  EXPECT_LE(notes_of_plenty, 60U * 12) << "a grant in advance for each pair, and nothing is asked";
}

// A peer dies in the middle. What waited for its memory is released, what it was granted goes to the others.
TEST(port_memory, loss_of_a_peer_for_every_seed) {
  for (std::uint64_t seed = 1; seed <= 280; ++seed) {
    const std::uint64_t memory = memory_sizes[seed % 6];
    SCOPED_TRACE("seed " + std::to_string(seed) + ", memory " + std::to_string(memory));
    std::mt19937_64 random(seed * 77);
    const port_options options = with_memory(seed, memory);
    const std::uint64_t released_before = body_store::released();
    constexpr std::size_t peers = 3;
    bounded_job all(peers, {.seed = seed, .longest_delay = 25, .piece_bytes = 64}, options);
    send_some(all, random, 20 + random() % 60, sizes_around(options));
    const auto dead = static_cast<peer_number>(random() % peers);
    all.network.kill(dead);
    ASSERT_NO_THROW(send_some(all, random, 60, sizes_around(options)));
    const auto done = [&] {
      for (const auto& [pair, count] : all.sent) {
        if (pair.first == dead || pair.second == dead) continue;
        if (all.users[pair.second].checks().arrived_from(pair.first) != count) return false;
      }
      for (peer_number peer = 0; peer < peers; ++peer)
        if (peer != dead && (!all.ports[peer]->is_idle() || all.users[peer].checks().failures.empty())) return false;
      return true;
    };
    for (int step = 0; step < most_steps && !done(); ++step) {
      ASSERT_NO_THROW(all.step());
      if (random() % 3 == 0) all.users[random() % peers].run();
    }
    ASSERT_TRUE(done());
    all.ports[dead].reset();
    for (auto& wire : all.ports) wire.reset();
    ASSERT_EQ(body_store::released() - released_before, all.bodies.made());
  }
}

// Messages that do not count pass those that wait.
TEST(port_memory, messages_that_do_not_count_pass_those_that_wait) {
  struct listener final : port_user {
    void* memory_for(peer_number, std::span<const std::byte>, std::size_t) override { return nullptr; }
    void arrived(peer_number, std::span<const std::byte> header, void*, std::size_t) override {
      std::memcpy(&last, header.data(), sizeof last);
      ++count;
    }
    void abandoned(void*) override { FAIL(); }
    void peer_failed(peer_number, const std::string&) override { FAIL(); }
    std::uint64_t last = 0, count = 0;
  } sender_user, user;
  loop_network network(2, {.seed = 3});
  port_options options;
  options.message_memory = 256;
  loop_port sender(0, 2, sender_user, bounded_job::address_of, options, network, 0U);
  loop_port receiver(1, 2, user, bounded_job::address_of, options, network, 1U);
  for (std::uint64_t number = 1; number <= 100; ++number) sender.send(1, std::as_bytes(std::span(&number, 1)), {});
  const auto steps = [&] {
    for (int step = 0; step < 1000; ++step) {
      sender.progress();
      receiver.progress();
    }
  };
  steps();
  EXPECT_EQ(user.count, 4U) << "the receiver gives nothing back";
  EXPECT_TRUE(receiver.memory_is_asked_for());
  EXPECT_FALSE(receiver.prepare_sleep()) << "nothing would wake it when memory is given back";
  const std::uint64_t urgent = 1000;
  sender.send(1, std::as_bytes(std::span(&urgent, 1)), {.copies = 0});
  steps();
  EXPECT_EQ(user.last, urgent);
  EXPECT_EQ(user.count, 5U);
  EXPECT_FALSE(sender.is_idle());
  sender.drop_waiting();
  steps();
  EXPECT_TRUE(sender.is_idle());
  EXPECT_EQ(sender.counters().dropped, 96U);
  EXPECT_EQ(user.count, 5U);
}

// A process that was told another limit sends what it has no right to.
TEST(port_memory, limits_that_differ_are_told) {
  loop_network network(2, {.seed = 3});
  slow_user sender_user(0), user(1);
  port_options options;
  options.message_memory = 1 << 20;
  loop_port sender(0, 2, sender_user, bounded_job::address_of, options, network, 0U);
  options.message_memory = 4096;
  loop_port receiver(1, 2, user, bounded_job::address_of, options, network, 1U);
  body_store bodies;
  for (std::uint64_t number = 0; number < 100; ++number) send_checked(sender, bodies, 0, 1, number, 8);
  for (int step = 0; step < 1000 && user.checks().failures.empty(); ++step) {
    sender.progress();
    receiver.progress();
  }
  ASSERT_EQ(user.checks().failures.size(), 1U);
  // How many of them came in its first packet is a matter of time.
  EXPECT_TRUE(std::regex_match(user.checks().failures[0].second,
                               std::regex("it sent messages of [0-9]+ bytes for which it was granted no memory; is "
                                          "port_options::message_memory \\(--tri-message-memory\\) the same in all "
                                          "processes\\?")))
      << user.checks().failures[0].second;
  EXPECT_EQ(user.checks().places_in_use(), 0U);
}

}  // namespace
}  // namespace tri::wire::test
