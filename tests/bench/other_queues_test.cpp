// The queues that are measured beside the inbox (M16, M18, M21) keep what they promise: nothing lost, the order of each
// producer, and a full ring that says so.
#include "messages/other_queues.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

#include "trireme/detail/os/sanitizer.hpp"

namespace tri::bench {
namespace {

constexpr std::uint32_t producers = 3;

sched::envelope message_of(std::uint32_t producer, std::uint64_t number) {
  sched::envelope message{};
  message.source = producer;
  message.element = number;
  return message;
}

// `push(producer, message)` of each producer in a thread of its own; `pop(message)` here.
template <class Push, class Pop>
void expect_order_of_each_producer(Push&& push, Pop&& pop) {
  const std::uint64_t each = os::under_thread_sanitizer ? 5'000 : 50'000;
  std::vector<std::thread> threads;
  for (std::uint32_t producer = 0; producer < producers; ++producer)
    threads.emplace_back([&, producer] {
      for (std::uint64_t number = 0; number < each; ++number)
        while (!push(producer, message_of(producer, number))) std::this_thread::yield();
    });
  std::vector<std::uint64_t> seen(producers, 0);
  std::uint64_t wrong = 0;
  for (std::uint64_t taken = 0; taken < producers * each;) {
    sched::envelope message;
    if (!pop(message)) {
      std::this_thread::yield();
      continue;
    }
    wrong += message.element != seen[message.source]++ ? 1 : 0;
    ++taken;
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(seen, std::vector<std::uint64_t>(producers, each));
}

TEST(locked_ring, keeps_the_order_of_each_producer) {
  locked_ring ring(16);
  expect_order_of_each_producer([&](std::uint32_t, const sched::envelope& message) { return ring.push(message); },
                                [&](sched::envelope& message) { return ring.pop(message); });
}

TEST(locked_ring, says_when_it_is_full_or_empty) {
  locked_ring ring(4);
  sched::envelope message;
  EXPECT_FALSE(ring.pop(message));
  for (std::uint64_t number = 0; number < 4; ++number) EXPECT_TRUE(ring.push(message_of(0, number)));
  EXPECT_FALSE(ring.push(message_of(0, 4)));
  ASSERT_TRUE(ring.pop(message));
  EXPECT_EQ(message.element, 0u);
  EXPECT_TRUE(ring.push(message_of(0, 4)));
}

TEST(counted_ring, keeps_the_order_of_each_producer) {
  counted_ring ring(16);
  expect_order_of_each_producer([&](std::uint32_t, const sched::envelope& message) { return ring.push(message); },
                                [&](sched::envelope& message) { return ring.pop(message); });
}

TEST(counted_ring, says_when_it_is_full_or_empty) {
  counted_ring ring(2);
  sched::envelope message;
  EXPECT_FALSE(ring.pop(message));
  EXPECT_TRUE(ring.push(message_of(0, 0)));
  EXPECT_TRUE(ring.push(message_of(0, 1)));
  EXPECT_FALSE(ring.push(message_of(0, 2)));
  ASSERT_TRUE(ring.pop(message));
  EXPECT_EQ(message.element, 0u);
}

TEST(ring_per_producer, keeps_the_order_of_each_producer) {
  ring_per_producer rings(producers, 16);
  expect_order_of_each_producer(
      [&](std::uint32_t producer, const sched::envelope& message) { return rings.push(producer, message); },
      [&](sched::envelope& message) { return rings.pop(message); });
}

TEST(ring_per_producer, full_rings_are_independent) {
  ring_per_producer rings(2, 8);
  sched::envelope message;
  EXPECT_FALSE(rings.pop(message));
  for (std::uint64_t number = 0; number < 8; ++number) EXPECT_TRUE(rings.push(0, message_of(0, number)));
  EXPECT_FALSE(rings.push(0, message_of(0, 8)));
  EXPECT_TRUE(rings.push(1, message_of(1, 0)));
  std::vector<std::uint64_t> seen(2, 0);
  while (rings.pop(message)) EXPECT_EQ(message.element, seen[message.source]++);
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{8, 1}));
}

// One producer that floods does not keep another waiting.
TEST(ring_per_producer, takes_turns) {
  ring_per_producer rings(2, 64);
  for (std::uint64_t number = 0; number < 64; ++number) ASSERT_TRUE(rings.push(0, message_of(0, number)));
  ASSERT_TRUE(rings.push(1, message_of(1, 0)));
  sched::envelope message;
  int before = 0;
  for (; rings.pop(message) && message.source == 0; ++before) {
  }
  EXPECT_LE(before, 8);
}

TEST(ring_per_producer, refuses_sizes_that_are_not_powers_of_two) {
  EXPECT_THROW(ring_per_producer(1, 48), std::invalid_argument);
}

}  // namespace
}  // namespace tri::bench
