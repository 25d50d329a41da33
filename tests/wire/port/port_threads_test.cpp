// Ports used by several threads at once, over the loop network: senders, threads that make progress, and sleepers.
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "wire/conduit_port.hpp"
#include "wire/loop/loop_conduit.hpp"

namespace tri::wire::test {
namespace {

using loop_port = conduit_port<loop_conduit>;

std::vector<std::byte> address_of(peer_number peer) {
  return encode_address({}, false, std::as_bytes(std::span(&peer, 1)));
}

struct heading {
  std::uint64_t thread;
  std::uint64_t number;
};

/// Each thread's messages come in its order; each is answered by a message from inside the callback.
struct answering_user final : port_user {
  static constexpr unsigned threads = 4;

  void* memory_for(peer_number, std::span<const std::byte>, std::size_t bytes) override { return std::malloc(bytes); }
  void arrived(peer_number from, std::span<const std::byte> header, void* body, std::size_t bytes) override {
    cost += message_cost(bytes);
    heading of = {};
    std::memcpy(&of, header.data(), sizeof of);
    if (of.number != next[of.thread]) wrong = true;
    next[of.thread] = of.number + 1;
    std::free(body);
    if (answers_through != nullptr) answers_through->send(from, header, {});
    // Only inside progress(), so by one thread at a time; atomic for those who wait. pairs: user.count
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  void abandoned(void*) override { wrong = true; }
  void peer_failed(peer_number, const std::string&) override { wrong = true; }
  std::uint64_t memory_given_back() override { return given_back.load(); }

  std::atomic<std::uint64_t> cost{0};        // of all that arrived
  std::atomic<std::uint64_t> given_back{0};  // of it; by a thread of its own
  port* answers_through = nullptr;
  std::array<std::uint64_t, threads> next = {};
  std::atomic<std::uint64_t> count{0};
  bool wrong = false;
};

// Four threads send from 0 to 1 while two make progress on each side; 1 answers.
void senders_and_progress_at_once(std::uint64_t memory, std::uint64_t per_thread) {
  const std::uint64_t all = answering_user::threads * per_thread;
  loop_network network(2, {.seed = 11, .longest_delay = 8, .piece_bytes = 512});
  std::array<answering_user, 2> users;
  port_options options;
  options.short_limit = 200;
  options.eager_limit = 500;
  options.message_memory = memory;
  loop_port first(0, 2, users[0], address_of, options, network, 0U);
  loop_port second(1, 2, users[1], address_of, options, network, 1U);
  users[1].answers_through = &second;
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (port* const wire : {static_cast<port*>(&first), static_cast<port*>(&second)})
    for (int copies = 0; copies < 2; ++copies)
      threads.emplace_back([&done, wire] {
        while (!done.load())
          if (!wire->progress()) std::this_thread::yield();
      });
  threads.emplace_back([&] {  // gives back what came
    while (!done.load()) {
      for (answering_user& user : users) user.given_back = user.cost.load();
      std::this_thread::yield();
    }
  });
  static const std::array<std::byte, 2000> block = {};
  static std::atomic<std::uint64_t> released{0};
  released = 0;
  for (std::uint64_t thread = 0; thread < answering_user::threads; ++thread) {
    threads.emplace_back([&first, thread, per_thread] {
      for (std::uint64_t number = 0; number < per_thread; ++number) {
        const heading header = {.thread = thread, .number = number};
        const std::size_t bytes = number % 50 == 0 ? block.size() : number % 7 == 0 ? 300 : 8;
        first.send(
            1, std::as_bytes(std::span(&header, 1)),
            {.block = const_cast<std::byte*>(block.data()), .bytes = bytes, .release = [](void*) { ++released; }});
        if (number % 64 == 0) first.flush();
      }
    });
  }
  // pairs: user.count
  while (users[0].count.load(std::memory_order_acquire) < all || !first.is_idle() || !second.is_idle())
    std::this_thread::yield();
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(users[0].wrong);
  EXPECT_FALSE(users[1].wrong);
  EXPECT_EQ(users[1].count.load(), all);
  EXPECT_EQ(released.load(), all);
  EXPECT_EQ(first.counters().messages_sent, all);
  EXPECT_EQ(first.counters().messages_arrived, all);
  EXPECT_EQ(first.counters().waiting, 0U);
  if (memory == no_limit) return;
  EXPECT_GT(first.counters().waited, 0U);
  EXPECT_LE(second.counters().memory_peak, std::max(memory, message_cost(block.size())));
}

TEST(port_threads, senders_and_progress_at_once) { senders_and_progress_at_once(no_limit, 2000); }
TEST(port_threads, senders_and_progress_in_little_memory) { senders_and_progress_at_once(20'000, 300); }
TEST(port_threads, senders_and_progress_without_memory) { senders_and_progress_at_once(0, 50); }

// Each side sleeps whenever it may, and only messages wake it. A wake that is lost hangs the test.
TEST(port_threads, sleepers_are_woken) {
  constexpr std::uint64_t rounds = 1000;
  loop_network network(2, {.seed = 4, .longest_delay = 3});
  std::array<answering_user, 2> users;
  loop_port first(0, 2, users[0], address_of, {}, network, 0U);
  loop_port second(1, 2, users[1], address_of, {}, network, 1U);
  users[1].answers_through = &second;
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> sleeps{0};
  const auto serve = [&](port& wire) {
    while (!done.load()) {
      if (wire.progress() || !wire.prepare_sleep()) continue;
      pollfd waiting = {.fd = wire.wake_descriptor(), .events = POLLIN, .revents = 0};
      ++sleeps;
      ASSERT_EQ(poll(&waiting, 1, -1), 1);
    }
  };
  std::thread at_first([&] { serve(first); });
  std::thread at_second([&] { serve(second); });
  for (std::uint64_t number = 0; number < rounds; ++number) {
    const heading header = {.thread = 0, .number = number};
    first.send(1, std::as_bytes(std::span(&header, 1)), {});
    while (users[0].count.load(std::memory_order_acquire) <= number) std::this_thread::yield();  // pairs: user.count
  }
  done = true;
  // Whoever sleeps has to look at `done`.
  for (port* const wire : {static_cast<port*>(&first), static_cast<port*>(&second)}) {
    const heading header = {.thread = 1, .number = 0};
    wire->send(wire == &first ? 1 : 0, std::as_bytes(std::span(&header, 1)), {});
    wire->flush();
  }
  at_first.join();
  at_second.join();
  EXPECT_GT(sleeps.load(), 0U);
}

// While a thread sleeps, what others send must not stay in an open packet: who sent it may be busy for long. That
// others have made progress meanwhile does not wake the sleeper.
TEST(port_threads, nothing_stays_behind_while_a_thread_sleeps) {
  loop_network network(2, {.seed = 5, .longest_delay = 1});
  std::array<answering_user, 2> users;
  loop_port first(0, 2, users[0], address_of, {}, network, 0U);
  loop_port second(1, 2, users[1], address_of, {}, network, 1U);
  const auto send = [&](std::uint64_t number) {
    const heading header = {.thread = 0, .number = number};
    first.send(1, std::as_bytes(std::span(&header, 1)), {});
    return first.counters().short_packets;
  };
  EXPECT_EQ(send(0), 0U) << "nobody sleeps, so it waits for others";
  std::atomic<int> step{0};
  std::thread sleeper([&] {
    while (!first.prepare_sleep()) first.progress();
    step = 1;
    while (step.load() == 1) std::this_thread::yield();
    first.progress();
    step = 3;
  });
  while (step.load() == 0) std::this_thread::yield();
  EXPECT_EQ(first.counters().short_packets, 1U);
  first.progress();
  EXPECT_EQ(send(1), 2U);
  first.progress();
  EXPECT_EQ(send(2), 3U);
  step = 2;
  while (step.load() == 2) std::this_thread::yield();
  EXPECT_EQ(send(3), 3U) << "nobody sleeps any more";
  first.flush();
  sleeper.join();
  while (users[1].count.load(std::memory_order_acquire) < 4) {  // pairs: user.count
    first.progress();
    second.progress();
  }
}

}  // namespace
}  // namespace tri::wire::test
