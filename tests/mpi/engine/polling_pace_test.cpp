// When a rank that polls between pieces of its own work offers its core, and whether the cores are the job's.
#include "mpi/engine/polling_pace.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <optional>

#include "mpi/engine/core_share.hpp"

namespace tri::mpi {
namespace {

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
