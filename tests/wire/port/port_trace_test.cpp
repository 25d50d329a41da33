// What a port tells of traced messages: each leaves once, in the order of its pair, before it arrives. Over the loop
// network, whose links delay what they carry by seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "wire/conduit_port.hpp"
#include "wire/loop/loop_conduit.hpp"

namespace tri::wire::test {
namespace {

using loop_port = conduit_port<loop_conduit>;

/// Remembers in which order messages left and arrived, all processes together.
struct history {
  std::map<std::uint64_t, int> left;                                       // by name, how often
  std::map<std::uint64_t, int> arrived;                                    // the same
  std::map<std::pair<peer_number, peer_number>, std::uint64_t> last_left;  // names grow
  std::vector<std::vector<std::uint64_t>> order;                           // by process: names as they arrived
  std::string complaint;
};

class tracing_user final : public port_user {
 public:
  tracing_user(peer_number self, history& all) : self_(self), all_(all) {}
  void* memory_for(peer_number, std::span<const std::byte>, std::size_t bytes) override { return std::malloc(bytes); }
  void arrived(peer_number from, std::span<const std::byte> header, void* body, std::size_t bytes) override {
    std::free(body);
    given_back_ += message_cost(bytes);
    std::uint64_t name = 0;
    std::memcpy(&name, header.data(), sizeof name);
    if (name % 2 == 0) return;  // not traced
    ++all_.arrived[name];
    if (all_.left[name] != 1)
      all_.complaint = "message " + std::to_string(name) + " of " + std::to_string(from) + " arrived and had left " +
                       std::to_string(all_.left[name]) + " times";
    all_.order[self_].push_back(name);
  }
  void abandoned(void* place) override { std::free(place); }
  void peer_failed(peer_number peer, const std::string& why) override {
    all_.complaint = "lost " + std::to_string(peer) + ": " + why;
  }
  std::uint64_t memory_given_back() override { return given_back_; }
  void left(peer_number to, std::uint64_t trace) override {
    ++all_.left[trace];
    std::uint64_t& last = all_.last_left[{self_, to}];
    if (trace <= last) all_.complaint = "message " + std::to_string(trace) + " left after " + std::to_string(last);
    last = trace;
  }

 private:
  const peer_number self_;
  history& all_;
  std::uint64_t given_back_ = 0;
};

std::vector<std::byte> address_of(peer_number peer) {
  return encode_address({}, false, std::as_bytes(std::span(&peer, 1)));
}

// Odd messages are traced. Name: 1000 * number + 2 * sender + 1 if traced, so it grows for each sender.
void run(std::uint64_t seed, const port_options& options, history& all) {
  constexpr peer_number peers = 4;
  constexpr std::uint64_t messages = 60;
  all.order.resize(peers);
  loop_network network(peers, {.seed = seed, .longest_delay = 40, .piece_bytes = 128});
  std::deque<tracing_user> users;
  std::vector<std::unique_ptr<loop_port>> ports;
  for (peer_number self = 0; self < peers; ++self) {
    users.emplace_back(self, all);
    ports.push_back(std::make_unique<loop_port>(self, peers, users.back(), address_of, options, network, self));
  }
  constexpr std::size_t sizes[] = {0, 8, 90, 150, 280, 400, 2000};  // short, eager, rendezvous
  for (std::uint64_t number = 1; number <= messages; ++number) {
    for (peer_number from = 1; from < peers; ++from) {
      const bool traced = number % 3 != 0;
      const std::uint64_t name = 1000 * number + 2 * from + (traced ? 1 : 0);
      const std::size_t bytes = sizes[(number * 5 + from + seed) % std::size(sizes)];
      message_body body{.trace = traced ? name : 0};
      if (bytes != 0) {
        body.block = std::malloc(bytes);
        body.bytes = bytes;
        body.release = std::free;
        std::memset(body.block, 0, bytes);
      }
      ports[from]->send(0, std::as_bytes(std::span(&name, 1)), body);
    }
    for (const auto& port : ports) port->progress();
  }
  for (int step = 0; step < 1'000'000 && all.arrived.size() < 3 * messages * 2 / 3; ++step)
    for (const auto& port : ports) port->progress();
  ASSERT_EQ(all.complaint, "");
  ASSERT_EQ(all.left.size(), 3 * messages * 2 / 3);
  ASSERT_EQ(all.arrived.size(), all.left.size());
  for (const auto& [name, times] : all.left) ASSERT_EQ(times, 1) << name;
  for (const auto& [name, times] : all.arrived) ASSERT_EQ(times, 1) << name;
}

port_options small_limits() {
  port_options options;
  options.short_limit = 100;
  options.eager_limit = 300;
  options.packet_bytes = 260;
  return options;
}

TEST(port_trace, traced_messages_leave_once_before_they_arrive) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    history plain, bounded;
    ASSERT_NO_FATAL_FAILURE(run(seed, small_limits(), plain));
    port_options little = small_limits();
    little.message_memory = 1024;  // most wait for it
    ASSERT_NO_FATAL_FAILURE(run(seed, little, bounded));
  }
}

// FA-01: what is sent in turns arrives in another order, but each sender's in its own.
TEST(port_trace, delayed_links_change_the_order_of_arrival_only) {
  std::size_t changed = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    history all;
    ASSERT_NO_FATAL_FAILURE(run(seed, small_limits(), all));
    const std::vector<std::uint64_t>& physical = all.order[0];
    if (!std::is_sorted(physical.begin(), physical.end())) ++changed;
    for (std::uint64_t sender = 1; sender < 4; ++sender) {
      std::vector<std::uint64_t> own;
      for (const std::uint64_t name : physical)
        if (name % 1000 / 2 == sender) own.push_back(name);
      EXPECT_TRUE(std::is_sorted(own.begin(), own.end())) << "sender " << sender;
      EXPECT_EQ(own.size(), 40u);
    }
  }
  EXPECT_GT(changed, 30u);
}

}  // namespace
}  // namespace tri::wire::test
