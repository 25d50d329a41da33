// How ranks wait: the steps of one, and whether the cores are theirs.
#include "mpi/engine/wait_policy.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "mpi/engine/core_share.hpp"
#include "mpi/engine/polling_pace.hpp"

namespace tri::mpi {
namespace {

TEST(wait_policy, polls_then_offers_the_core_now_and_then_and_sleeps_after_both_limits) {
  wait_policy policy({.polls = 10, .polls_between = 4, .awake_ticks = 100, .least_yields = 3});
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
  wait_policy policy({.polls = 1, .polls_between = 1, .awake_ticks = 100, .least_yields = 0});
  for (std::uint64_t now = 1000; now < 1100; ++now) EXPECT_EQ(policy.next(now), wait_step::yield) << now;
  EXPECT_EQ(policy.next(1100), wait_step::sleep);
}

TEST(wait_policy, begins_anew_when_something_was_found) {
  wait_policy policy({.polls = 2, .polls_between = 1, .awake_ticks = 10, .least_yields = 1});
  EXPECT_EQ(policy.next(0), wait_step::poll);
  EXPECT_EQ(policy.next(0), wait_step::yield);
  EXPECT_EQ(policy.next(10), wait_step::sleep);
  policy.busy();
  EXPECT_EQ(policy.next(20), wait_step::poll);
  EXPECT_EQ(policy.next(20), wait_step::yield);
  EXPECT_EQ(policy.next(29), wait_step::yield);
  EXPECT_EQ(policy.next(30), wait_step::sleep);
}

TEST(polling_pace, tells_loops_that_only_look_from_programs_that_work_between) {
  polling_pace pace({.own_work = 500, .shortest_offer = 2000, .longest_offer = 16000});
  for (int look = 0; look < 1000; ++look) pace.looked(100);
  EXPECT_FALSE(pace.works_between());
  pace.looked(3000);  // an interrupt
  EXPECT_FALSE(pace.works_between());
  for (int look = 0; look < 20; ++look) pace.looked(1600);
  EXPECT_TRUE(pace.works_between());
  for (int look = 0; look < 40; ++look) pace.looked(100);
  EXPECT_FALSE(pace.works_between());
}

TEST(polling_pace, offers_the_core_more_seldom_when_no_rank_takes_it) {
  polling_pace pace({.own_work = 500, .shortest_offer = 2000, .longest_offer = 16000});
  std::uint64_t now = 1'000'000;
  const auto until_next_offer = [&] {
    const std::uint64_t from = now;
    while (!pace.is_time_to_offer(now)) ++now;
    return now - from;
  };
  pace.offered(now, false);
  for (const std::uint64_t expected : {2000u, 4000u, 8000u, 16000u, 16000u}) {
    EXPECT_EQ(until_next_offer(), expected);
    pace.offered(now, true);
  }
  pace.offered(now, false);
  EXPECT_EQ(until_next_offer(), 2000u);
}

// With more ranks than cores.
wait_policy::limits shared_cores() { return {.polls = 2, .polls_between = 1, .awake_ticks = 1000, .least_yields = 0}; }
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

TEST(wait_policy, sleeps_at_once_after_a_dear_yield_and_tries_again_later_each_time) {
  for (const bool found : {false, true}) {  // whether or not something had come by its end
    wait_policy policy(shared_cores());
    for (std::uint32_t asleep = 16; asleep <= 8192; asleep *= 2) {
      ASSERT_EQ(after_polls(policy), wait_step::yield) << asleep;
      policy.was_dear();
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

TEST(wait_policy, forgets_dear_yields_after_many_cheap_ones) {
  wait_policy policy(shared_cores());
  const auto waits_asleep_after_a_dear_yield = [&] {
    EXPECT_EQ(after_polls(policy), wait_step::yield);
    policy.was_dear();
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
  EXPECT_EQ(waits_asleep_after_a_dear_yield(), 16u);
  cheap_waits(63);
  EXPECT_EQ(waits_asleep_after_a_dear_yield(), 32u);
  cheap_waits(64);
  EXPECT_EQ(waits_asleep_after_a_dear_yield(), 32u);
  cheap_waits(1000);
  EXPECT_EQ(waits_asleep_after_a_dear_yield(), 16u);
}

TEST(core_share, is_judged_by_what_the_job_got_of_what_there_was) {
  core_share share(2, 1000, 500);
  EXPECT_TRUE(share.are_enough());
  EXPECT_FALSE(share.is_due(1000 + core_share::shortest_window_ns - 1));
  std::int64_t now = 1000 + core_share::shortest_window_ns;
  std::int64_t used = 500;
  ASSERT_TRUE(share.is_due(now));
  share.judge(now, used += core_share::shortest_window_ns);  // one core of two
  EXPECT_FALSE(share.are_enough());
  EXPECT_FALSE(share.is_due(now + 1));
  share.judge(now += 100'000'000, used += 161'000'000);
  EXPECT_TRUE(share.are_enough());
  share.judge(now += 100'000'000, used += 159'000'000);
  EXPECT_FALSE(share.are_enough()) << "only what came since counts";
}

TEST(core_share, knows_what_processes_have_used) {
  const std::optional<std::int64_t> before = processor_time_ns(getpid());
  ASSERT_TRUE(before);
  for (std::uint64_t i = 0; i < 1'000'000; ++i) asm volatile("" : : "r"(i));  // nothing that can be left out
  EXPECT_GT(processor_time_ns(getpid()), before);
  EXPECT_EQ(processor_time_ns(5'000'000), std::nullopt) << "Linux gives out 4,194,304 at most";
}

}  // namespace
}  // namespace tri::mpi
