// The seeds of a PE: newest first for the owner, oldest first for thieves, rings that grow, and nothing lost or taken
// twice between many threads.
#include "sched/seeds/seed_deque.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "sched/sched_memory.hpp"
#include "trireme/detail/os/sanitizer.hpp"

namespace tri::sched {
namespace {

using namespace testing;

envelope seed_of(std::uint64_t number) {
  envelope made{};
  fill(made, 1, number);
  return made;
}

struct with_arena : ::testing::Test {
  open_arena arena;
  seed_deque deque;
};

TEST_F(with_arena, the_owner_takes_the_newest_and_others_the_oldest) {
  envelope seed{};
  EXPECT_TRUE(deque.seems_empty());
  EXPECT_FALSE(deque.pop(seed));
  EXPECT_EQ(deque.steal(seed), seed_deque::outcome::empty);
  for (std::uint64_t i = 0; i < 10; ++i) deque.push(seed_of(i));
  EXPECT_EQ(deque.size(), 10);
  ASSERT_EQ(deque.steal(seed), seed_deque::outcome::taken);
  EXPECT_EQ(seed.element, 0U);
  ASSERT_TRUE(deque.pop(seed));
  EXPECT_EQ(seed.element, 9U);
  EXPECT_EQ(seed.source, 1U);
  EXPECT_EQ(seed.used_bytes(), 32);
  for (std::uint64_t i = 8; i > 0; --i) {
    ASSERT_TRUE(deque.pop(seed));
    EXPECT_EQ(seed.element, i);
  }
  EXPECT_FALSE(deque.pop(seed));
  EXPECT_FALSE(deque.pop(seed));
  EXPECT_TRUE(deque.seems_empty());
}

// Beyond several sizes of the ring, with its beginning anywhere.
TEST_F(with_arena, grows_and_keeps_the_order) {
  envelope seed{};
  std::uint64_t next = 0, oldest = 0;
  for (int round = 1; round <= 60; ++round) {
    for (int i = 0; i < 13 * round; ++i) deque.push(seed_of(next++));
    for (int i = 0; i < 7 * round; ++i) {
      ASSERT_EQ(deque.steal(seed), seed_deque::outcome::taken);
      ASSERT_EQ(seed.element, oldest++);
    }
  }
  while (deque.pop(seed)) ASSERT_EQ(seed.element, --next);
  EXPECT_EQ(next, oldest);
}

TEST(seed_deque, a_push_without_memory_changes_nothing) {
  open_arena arena(std::size_t{2} << 20);
  seed_deque deque;
  std::uint64_t pushed = 0;
  EXPECT_THROW(for (;; ++pushed) deque.push(seed_of(pushed)), arena::arena_exhausted);
  EXPECT_GT(pushed, 64U);
  envelope seed{};
  for (std::uint64_t left = pushed; left > 0; --left) {
    ASSERT_TRUE(deque.pop(seed));
    ASSERT_EQ(seed.element, left - 1);
  }
  EXPECT_FALSE(deque.pop(seed));
  deque.push(seed_of(5));
  EXPECT_TRUE(deque.pop(seed));
}

TEST_F(with_arena, one_owner_and_many_thieves_take_each_seed_once) {
  constexpr int thieves = 3;
  const std::uint64_t seeds = os::under_thread_sanitizer ? 20'000 : 400'000;
  std::vector<std::atomic<std::uint8_t>> seen(seeds);
  std::atomic<std::uint64_t> taken{0};
  std::atomic<int> damaged{0};
  const auto note = [&](const envelope& seed) {
    std::uint64_t words[4];
    std::memcpy(words, seed.payload, sizeof words);
    for (const std::uint64_t word : words)
      if (word != seed.element) ++damaged;
    if (seen[seed.element].fetch_add(1) != 0) ++damaged;
    ++taken;
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < thieves; ++i)
    threads.emplace_back([&] {
      envelope seed{};
      while (taken < seeds)
        if (deque.steal(seed) == seed_deque::outcome::taken)
          note(seed);
        else
          std::this_thread::yield();
    });
  envelope seed{};
  std::uint64_t next = 0;
  // Bursts of all sizes, so that the last seed is often wanted by all, and rings grow.
  for (std::uint64_t burst = 1; next < seeds; burst = burst * 5 % 997) {
    for (std::uint64_t i = 0; i < burst && next < seeds; ++i) deque.push(seed_of(next++));
    for (std::uint64_t i = 0; i < burst / 2 + 1 && deque.pop(seed); ++i) note(seed);
  }
  while (deque.pop(seed)) note(seed);
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(taken, seeds);
  EXPECT_EQ(damaged, 0);
}

}  // namespace
}  // namespace tri::sched
