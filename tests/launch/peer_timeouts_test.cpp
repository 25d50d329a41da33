// Timeouts of silent peers, with the times passed in.
#include "launch/peer_timeouts.hpp"

#include <gtest/gtest.h>

namespace tri::launch {
namespace {

constexpr std::int64_t second = 1'000'000'000;

TEST(peer_timeouts, reports_each_once_when_its_time_is_over) {
  peer_timeouts watch(30 * second);
  EXPECT_EQ(watch.next_ns(), std::nullopt);
  watch.begins(1, 5 * second);
  watch.begins(2, 7 * second);
  EXPECT_EQ(watch.next_ns(), 35 * second);
  EXPECT_EQ(watch.overdue(35 * second - 1), std::nullopt);
  EXPECT_EQ(watch.overdue(35 * second), 1);
  EXPECT_EQ(watch.overdue(36 * second), std::nullopt);
  EXPECT_EQ(watch.next_ns(), 37 * second);
  EXPECT_EQ(watch.overdue(1000 * second), 2);
  EXPECT_EQ(watch.overdue(1000 * second), std::nullopt);
  EXPECT_EQ(watch.next_ns(), std::nullopt);
}

TEST(peer_timeouts, what_is_heard_in_time_does_not_time_out) {
  peer_timeouts watch(30 * second);
  for (int heard = 0; heard < 1000; heard += 29) {
    watch.begins(7, heard * second);
    EXPECT_EQ(watch.overdue((heard + 29) * second), std::nullopt);
  }
  watch.ends(7);
  EXPECT_EQ(watch.overdue(100'000 * second), std::nullopt);
}

TEST(peer_timeouts, without_a_limit_nothing_times_out) {
  peer_timeouts watch(0);
  watch.begins(1, 0);
  EXPECT_EQ(watch.overdue(1'000'000 * second), std::nullopt);
  EXPECT_EQ(watch.next_ns(), std::nullopt);
}

}  // namespace
}  // namespace tri::launch
