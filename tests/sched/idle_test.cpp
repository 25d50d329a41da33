// What an idle PE is told to do, turn by turn, with a clock made of numbers.
#include "sched/idle.hpp"

#include <gmock/gmock.h>

#include <vector>

namespace tri::sched {
namespace {

std::vector<idle_step> steps(idle_policy policy, std::vector<std::uint64_t> times) {
  std::vector<idle_step> result;
  for (const std::uint64_t now : times) result.push_back(policy.next(now));
  return result;
}

TEST(idle, spin_never_gives_the_core_away) {
  idle_policy policy(host::idle_policy::spin, true, 100);
  for (std::uint64_t now = 0; now < 10'000; ++now) ASSERT_EQ(policy.next(now), idle_step::spin);
}

TEST(idle, yield_never_sleeps_but_yields) {
  idle_policy policy(host::idle_policy::yield, false, 100);
  int yields = 0;
  for (std::uint64_t now = 0; now < 1000; ++now) {
    const idle_step step = policy.next(now);
    ASSERT_NE(step, idle_step::sleep);
    yields += step == idle_step::yield ? 1 : 0;
  }
  EXPECT_GT(yields, 10);
}

TEST(idle, sleep_sleeps_after_two_looks) {
  EXPECT_EQ(steps(idle_policy(host::idle_policy::sleep, false, 1'000'000), {0, 0, 0, 0}),
            (std::vector{idle_step::spin, idle_step::spin, idle_step::sleep, idle_step::sleep}));
}

TEST(idle, automatic_spins_then_yields_then_sleeps) {
  idle_policy policy(host::idle_policy::automatic, false, 100);
  EXPECT_EQ(policy.next(1000), idle_step::spin);
  EXPECT_EQ(policy.next(1099), idle_step::spin);
  EXPECT_EQ(policy.next(1100), idle_step::yield);
  EXPECT_EQ(policy.next(1124), idle_step::yield);
  EXPECT_EQ(policy.next(1125), idle_step::sleep);
  policy.busy();
  EXPECT_EQ(policy.next(5000), idle_step::spin) << "starts again after work";
  EXPECT_EQ(policy.next(5099), idle_step::spin);
}

TEST(idle, automatic_with_more_pes_than_cores_sleeps_after_a_few_looks) {
  idle_policy policy(host::idle_policy::automatic, true, 1'000'000'000);
  int looks = 0;
  while (policy.next(0) == idle_step::spin) ASSERT_LT(++looks, 10);
  EXPECT_EQ(policy.next(0), idle_step::sleep);
  policy.busy();
  EXPECT_EQ(policy.next(0), idle_step::spin);
}

}  // namespace
}  // namespace tri::sched
