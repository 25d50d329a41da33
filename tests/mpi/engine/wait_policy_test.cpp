#include "mpi/engine/wait_policy.hpp"

#include <gtest/gtest.h>

namespace tri::mpi {
namespace {

TEST(wait_policy, looks_then_offers_the_core_now_and_then_and_sleeps_after_both_limits) {
  wait_policy policy({.looks = 10, .looks_between = 4, .awake_ticks = 100, .least_yields = 3});
  for (int look = 1; look < 10; ++look) EXPECT_EQ(policy.next(1000), wait_step::look) << look;
  // Time runs from the first offer on, not from the first look.
  EXPECT_EQ(policy.next(1000), wait_step::yield);
  for (int offer = 0; offer < 2; ++offer) {
    for (int look = 0; look < 3; ++look) EXPECT_EQ(policy.next(1500), wait_step::look);
    EXPECT_EQ(policy.next(1500), wait_step::yield) << "time is up, but the core was not offered often enough";
  }
  for (int look = 0; look < 3; ++look) EXPECT_EQ(policy.next(1500), wait_step::look);
  EXPECT_EQ(policy.next(1500), wait_step::sleep);
}

TEST(wait_policy, does_not_sleep_before_its_time) {
  wait_policy policy({.looks = 1, .looks_between = 1, .awake_ticks = 100, .least_yields = 0});
  for (std::uint64_t now = 1000; now < 1100; ++now) EXPECT_EQ(policy.next(now), wait_step::yield) << now;
  EXPECT_EQ(policy.next(1100), wait_step::sleep);
}

TEST(wait_policy, begins_anew_when_something_was_found) {
  wait_policy policy({.looks = 2, .looks_between = 1, .awake_ticks = 10, .least_yields = 1});
  EXPECT_EQ(policy.next(0), wait_step::look);
  EXPECT_EQ(policy.next(0), wait_step::yield);
  EXPECT_EQ(policy.next(10), wait_step::sleep);
  policy.busy();
  EXPECT_EQ(policy.next(20), wait_step::look);
  EXPECT_EQ(policy.next(20), wait_step::yield);
  EXPECT_EQ(policy.next(29), wait_step::yield);
  EXPECT_EQ(policy.next(30), wait_step::sleep);
}

TEST(wait_policy, more_ranks_than_cores_sleep_after_few_looks_without_offering_the_core) {
  wait_policy policy({.looks = 4, .looks_between = 1, .awake_ticks = 0, .least_yields = 0});
  for (int look = 1; look < 4; ++look) EXPECT_EQ(policy.next(0), wait_step::look);
  EXPECT_EQ(policy.next(0), wait_step::sleep);
}

}  // namespace
}  // namespace tri::mpi
