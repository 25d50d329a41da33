// Ticks and nanoseconds: monotonic, and converted both ways.
#include "os/clock.hpp"

#include <gtest/gtest.h>

namespace tri::os {
namespace {

TEST(clock, both_are_monotonic_and_agree) {
  EXPECT_GT(ns_per_tick(), 0);
  EXPECT_EQ(ns_per_tick(), ns_per_tick());
  const std::int64_t ns_before = now_ns();
  const std::uint64_t ticks_begin = ticks();
  while (now_ns() - ns_before < 20'000'000) {
  }
  const std::uint64_t ticks_end = ticks();
  const std::int64_t ns_after = now_ns();
  ASSERT_GT(ticks_end, ticks_begin);
  // The ticks lie inside the two outer times, so no preemption can make them longer than that.
  EXPECT_LE(ticks_to_ns(ticks_end - ticks_begin), 1.01 * static_cast<double>(ns_after - ns_before));
  EXPECT_GE(ticks_to_ns(ticks_end - ticks_begin), 0.5 * 20'000'000);
}

TEST(clock, conversions_are_inverse) {
  const std::uint64_t difference = 1'000'000'000;
  EXPECT_NEAR(static_cast<double>(ns_to_ticks(ticks_to_ns(difference))), 1e9, 2);
}

}  // namespace
}  // namespace tri::os
