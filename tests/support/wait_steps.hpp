// What a waiting thread is told to do over a whole wait, with a clock made of numbers.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "arena/wait_policy.hpp"

namespace tri::testing {

/// It polls for `poll_ticks` from its first poll on, yields for `yield_ticks`, then sleeps; and so again in the next
/// wait.
inline void expect_polls_then_yields_then_sleeps(arena::wait_policy policy, std::uint64_t poll_ticks,
                                                 std::uint64_t yield_ticks) {
  using arena::wait_step;
  for (const std::uint64_t begin : {1000, 5000}) {
    const std::uint64_t first_yield = begin + poll_ticks;
    EXPECT_EQ(policy.next(begin), wait_step::poll) << begin;
    EXPECT_EQ(policy.next(first_yield - 1), wait_step::poll) << begin;
    EXPECT_EQ(policy.next(first_yield), wait_step::yield) << begin;
    EXPECT_EQ(policy.next(first_yield + yield_ticks - 1), wait_step::yield) << begin;
    EXPECT_EQ(policy.next(first_yield + yield_ticks), wait_step::sleep) << begin;
    policy.busy();
  }
}

}  // namespace tri::testing
