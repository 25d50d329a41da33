// What a waiting thread is told to do, poll by poll, with a clock made of numbers.
#include "arena/wait_policy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "support/wait_steps.hpp"

namespace tri::arena {
namespace {

TEST(wait_policy, polls_then_offers_the_core_now_and_then_and_sleeps_after_both_limits) {
  wait_policy policy({.polls = 10, .polls_between = 4, .yield_ticks = 100, .least_yields = 3});
  for (int poll = 1; poll < 10; ++poll) EXPECT_EQ(policy.next(1000), wait_step::poll) << poll;
  // Time runs from the first offer on, not from the first poll.
  EXPECT_EQ(policy.next(1000), wait_step::yield);
  for (int offer = 0; offer < 2; ++offer) {
    for (int poll = 0; poll < 3; ++poll) EXPECT_EQ(policy.next(1500), wait_step::poll);
    EXPECT_EQ(policy.next(1500), wait_step::yield) << "time is up, but the core was not offered often enough";
  }
  for (int poll = 0; poll < 3; ++poll) EXPECT_EQ(policy.next(1500), wait_step::poll);
  EXPECT_EQ(policy.next(1500), wait_step::sleep);
}

TEST(wait_policy, does_not_sleep_before_its_time) {
  wait_policy policy({.polls = 1, .polls_between = 1, .yield_ticks = 100, .least_yields = 0});
  for (std::uint64_t now = 1000; now < 1100; ++now) EXPECT_EQ(policy.next(now), wait_step::yield) << now;
  EXPECT_EQ(policy.next(1100), wait_step::sleep);
}

TEST(wait_policy, polls_for_a_time_where_it_shall) {
  const wait_policy policy({.polls = 1, .poll_ticks = 100, .polls_between = 1, .yield_ticks = 25});
  testing::expect_polls_then_yields_then_sleeps(policy, 100, 25);
}

TEST(wait_policy, polls_for_ever_where_it_shall) {
  wait_policy policy({.polls = wait_policy::for_ever});
  for (std::uint64_t now = 0; now < 10'000; ++now) ASSERT_EQ(policy.next(now << 40), wait_step::poll);
}

TEST(wait_policy, begins_anew_when_something_was_found) {
  wait_policy policy({.polls = 2, .polls_between = 1, .yield_ticks = 10, .least_yields = 1});
  EXPECT_EQ(policy.next(0), wait_step::poll);
  EXPECT_EQ(policy.next(0), wait_step::yield);
  EXPECT_EQ(policy.next(10), wait_step::sleep);
  policy.busy();
  EXPECT_EQ(policy.next(20), wait_step::poll);
  EXPECT_EQ(policy.next(20), wait_step::yield);
  EXPECT_EQ(policy.next(29), wait_step::yield);
  EXPECT_EQ(policy.next(30), wait_step::sleep);
}

// With more ranks than cores.
wait_policy::limits shared_cores() { return {.polls = 2, .polls_between = 1, .yield_ticks = 1000, .least_yields = 0}; }
// What it does after its looks.
wait_step after_polls(wait_policy& policy) {
  EXPECT_EQ(policy.next(0), wait_step::poll);
  return policy.next(0);
}

TEST(wait_policy, sleeps_after_a_time_of_yields) {
  wait_policy policy(shared_cores());
  EXPECT_EQ(after_polls(policy), wait_step::yield);
  for (std::uint64_t now = 50; now < 1000; now += 50) EXPECT_EQ(policy.next(now), wait_step::yield) << now;
  EXPECT_EQ(policy.next(1000), wait_step::sleep);
}

TEST(wait_policy, sleeps_at_once_after_an_expensive_yield_and_tries_again_later_each_time) {
  for (const bool found : {false, true}) {  // whether or not something had come by its end
    wait_policy policy(shared_cores());
    for (std::uint32_t asleep = 16; asleep <= 8192; asleep *= 2) {
      ASSERT_EQ(after_polls(policy), wait_step::yield) << asleep;
      policy.was_expensive();
      if (!found) {
        EXPECT_EQ(policy.next(1), wait_step::sleep);
        EXPECT_EQ(policy.next(1), wait_step::sleep) << "woken for nothing";
      }
      policy.busy();
      for (std::uint32_t wait = 1; wait < std::min(asleep, wait_policy::most_waits_asleep); ++wait) {
        ASSERT_EQ(after_polls(policy), wait_step::sleep) << asleep << " " << wait;
        policy.busy();
      }
    }
  }
}

// A rank that finds its messages at once does not keep the penalty until its next long wait.
TEST(wait_policy, waits_that_find_something_at_once_count) {
  wait_policy policy(shared_cores());
  ASSERT_EQ(after_polls(policy), wait_step::yield);
  policy.was_expensive();
  policy.busy();
  for (std::uint32_t wait = 1; wait < wait_policy::fewest_waits_asleep; ++wait) policy.busy();
  EXPECT_EQ(after_polls(policy), wait_step::yield);
}

TEST(wait_policy, sleeps_after_many_vain_yields_of_one_wait) {
  wait_policy::limits limits = shared_cores();
  limits.most_vain_yields = 3;
  wait_policy policy(limits);
  for (int wait = 0; wait < 10; ++wait) {  // two of each wait do no harm
    EXPECT_EQ(after_polls(policy), wait_step::yield);
    policy.was_vain();
    EXPECT_EQ(policy.next(0), wait_step::yield);
    policy.was_vain();
    EXPECT_EQ(policy.next(0), wait_step::yield);
    policy.busy();
  }
  EXPECT_EQ(after_polls(policy), wait_step::yield);
  for (int yield = 1; yield < 3; ++yield) {
    policy.was_vain();
    EXPECT_EQ(policy.next(0), wait_step::yield);
  }
  policy.was_vain();
  EXPECT_EQ(policy.next(0), wait_step::sleep);
  policy.busy();
  for (std::uint32_t wait = 1; wait < wait_policy::fewest_waits_asleep; ++wait) {
    EXPECT_EQ(after_polls(policy), wait_step::sleep);
    policy.busy();
  }
  EXPECT_EQ(after_polls(policy), wait_step::yield);
}

TEST(wait_policy, forgets_expensive_yields_after_many_cheap_ones) {
  wait_policy policy(shared_cores());
  const auto waits_asleep_after_an_expensive_yield = [&] {
    EXPECT_EQ(after_polls(policy), wait_step::yield);
    policy.was_expensive();
    policy.busy();
    std::uint32_t waits = 1;
    for (; after_polls(policy) == wait_step::sleep; ++waits) policy.busy();
    return waits;
  };
  const auto cheap_waits = [&](std::uint32_t count) {
    policy.busy();
    for (std::uint32_t wait = 1; wait < count; ++wait) {
      EXPECT_EQ(after_polls(policy), wait_step::yield);
      policy.busy();
    }
  };
  EXPECT_EQ(waits_asleep_after_an_expensive_yield(), 16u);
  cheap_waits(63);
  EXPECT_EQ(waits_asleep_after_an_expensive_yield(), 32u);
  cheap_waits(64);
  EXPECT_EQ(waits_asleep_after_an_expensive_yield(), 32u);
  cheap_waits(1000);
  EXPECT_EQ(waits_asleep_after_an_expensive_yield(), 16u);
}

}  // namespace
}  // namespace tri::arena
