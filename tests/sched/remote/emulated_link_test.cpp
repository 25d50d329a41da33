// The times of a network that is not there.
#include "sched/remote/emulated_link.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace tri::sched {
namespace {

TEST(emulated_link, takes_latency_and_bandwidth) {
  EXPECT_TRUE(emulated_link({}, 0).is_immediate());
  emulated_link link({.latency_ns = 1000, .bytes_per_second = 1'000'000'000}, 0);
  EXPECT_FALSE(link.is_immediate());
  EXPECT_EQ(link.completion_ns(5000, 100), 6100);
  EXPECT_EQ(link.completion_ns(5000, 100), 6200);  // behind the first; the latencies overlap
  EXPECT_EQ(link.completion_ns(9000, 1), 10'001);  // the link was idle
  emulated_link only_latency({.latency_ns = 7}, 0);
  EXPECT_EQ(only_latency.completion_ns(1, std::numeric_limits<std::uint32_t>::max()), 8);
}

TEST(emulated_link, lets_accesses_overtake_each_other) {
  const link_options options{.latency_ns = 100, .reorder_ns = 50};
  emulated_link link(options, 3), same(options, 3);
  bool one_overtakes = false;
  std::int64_t before = 0;
  for (int i = 0; i < 100; ++i) {
    const std::int64_t now = i;
    const std::int64_t due = link.completion_ns(now, 8);
    EXPECT_GE(due, now + 100);
    EXPECT_LE(due, now + 150);
    EXPECT_EQ(due, same.completion_ns(now, 8));  // the seed decides
    one_overtakes = one_overtakes || due < before;
    before = due;
  }
  EXPECT_TRUE(one_overtakes);
}

}  // namespace
}  // namespace tri::sched
