// What an idle PE is told to do for each value of the option `idle`, turn by turn, with a clock made of numbers.
#include "sched/idle_limits.hpp"

#include <gmock/gmock.h>

#include <vector>

#include "support/wait_steps.hpp"

namespace tri::sched {
namespace {

using arena::wait_policy;
using arena::wait_step;

std::vector<wait_step> steps(wait_policy policy, std::vector<std::uint64_t> times) {
  std::vector<wait_step> result;
  for (const std::uint64_t now : times) result.push_back(policy.next(now));
  return result;
}

TEST(idle_limits, spin_never_gives_the_core_away) {
  wait_policy policy(idle_limits(config::idle_policy::spin, true, 100));
  for (std::uint64_t now = 0; now < 10'000; ++now) ASSERT_EQ(policy.next(now), wait_step::poll);
}

TEST(idle_limits, yield_never_sleeps_but_yields) {
  wait_policy policy(idle_limits(config::idle_policy::yield, false, 100));
  int yields = 0;
  for (std::uint64_t now = 0; now < 1000; ++now) {
    const wait_step step = policy.next(now);
    ASSERT_NE(step, wait_step::sleep);
    yields += step == wait_step::yield ? 1 : 0;
  }
  EXPECT_GT(yields, 10);
}

TEST(idle_limits, sleep_sleeps_after_two_looks) {
  EXPECT_EQ(steps(wait_policy(idle_limits(config::idle_policy::sleep, false, 1'000'000)), {0, 0, 0, 0}),
            (std::vector{wait_step::poll, wait_step::poll, wait_step::sleep, wait_step::sleep}));
}

TEST(idle_limits, automatic_spins_then_yields_then_sleeps) {
  testing::expect_polls_then_yields_then_sleeps(wait_policy(idle_limits(config::idle_policy::automatic, false, 100)),
                                                100, 25);
}

TEST(idle_limits, automatic_with_more_pes_than_cores_sleeps_after_a_few_looks) {
  wait_policy policy(idle_limits(config::idle_policy::automatic, true, 1'000'000'000));
  int looks = 0;
  while (policy.next(0) == wait_step::poll) ASSERT_LT(++looks, 10);
  EXPECT_EQ(policy.next(0), wait_step::sleep);
  policy.busy();
  EXPECT_EQ(policy.next(0), wait_step::poll);
}

}  // namespace
}  // namespace tri::sched
