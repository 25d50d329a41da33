// The method of measuring, driven by operations that report made-up times, so nothing here depends on the machine's
// load.
#include "framework/batches.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "framework/cacheline.hpp"
#include "framework/pinned_thread.hpp"
#include "os/cpu/pinning.hpp"

namespace tri::bench {
namespace {

const batch_options short_run = {
    .batch_time_ms = 1, .warm_up_ms = 0, .repetitions = 10, .min_time_s = 0, .max_time_s = 5};

TEST(batches, calibrates_a_batch_to_the_asked_time) {
  const batch_runner runner(short_run);
  const samples result = runner.collect(
      [](std::uint64_t operations) { return batch_result{.elapsed_ns = 50.0 * static_cast<double>(operations)}; });
  EXPECT_NEAR(static_cast<double>(result.operations_in_one_batch), 1e6 / 50, 1e6 / 500);
  EXPECT_THAT(result.operation_ns, testing::Each(testing::DoubleNear(50, 1e-6)));
  EXPECT_GE(result.operation_ns.size() + result.disturbed, 10U);
}

TEST(batches, operation_longer_than_a_batch_runs_once_in_it) {
  const batch_runner runner(short_run);
  const samples result = runner.collect(
      [](std::uint64_t operations) { return batch_result{.elapsed_ns = 1e8 * static_cast<double>(operations)}; });
  EXPECT_EQ(result.operations_in_one_batch, 1U);
}

TEST(batches, sets_disturbed_batches_aside_while_most_are_clean) {
  const batch_runner runner(short_run);
  int call = 0;
  const samples result = runner.collect([&](std::uint64_t operations) {
    const bool disturbed = ++call % 4 == 0;
    return batch_result{.elapsed_ns = (disturbed ? 900.0 : 10.0) * static_cast<double>(operations),
                        .disturbed = disturbed};
  });
  EXPECT_GE(result.disturbed, 2U);
  EXPECT_THAT(result.operation_ns, testing::Each(testing::DoubleNear(10, 1e-6)));
}

TEST(batches, keeps_all_batches_when_most_are_disturbed) {
  const batch_runner runner(short_run);
  const samples result = runner.collect([](std::uint64_t operations) {
    return batch_result{.elapsed_ns = 10.0 * static_cast<double>(operations), .disturbed = true};
  });
  EXPECT_EQ(result.disturbed, 0U);
  EXPECT_EQ(result.operation_ns.size(), 10U);
}

TEST(batches, keeps_the_hand_off_of_each_batch) {
  const batch_runner runner(short_run);
  const samples result = runner.collect([](std::uint64_t operations) {
    return batch_result{.elapsed_ns = 200.0 * static_cast<double>(operations), .handoff_ns = 100};
  });
  EXPECT_EQ(result.handoff_ns.size(), result.operation_ns.size());
}

TEST(batches, refuses_operations_that_report_nonsense) {
  const batch_runner runner(short_run);
  EXPECT_THROW(runner.collect([](std::uint64_t) { return batch_result{.elapsed_ns = 0}; }), std::logic_error);
  EXPECT_THROW(runner.collect([](std::uint64_t) { return batch_result{.elapsed_ns = -1}; }), std::logic_error);
  int call = 0;
  EXPECT_THROW(runner.collect([&](std::uint64_t) {
    return batch_result{.elapsed_ns = 1e6, .handoff_ns = ++call % 2 == 0 ? 100.0 : 0.0};
  }),
               std::logic_error);
}

TEST(batches, times_by_the_clock) {
  const batch_runner runner(short_run);
  std::uint64_t calls = 0;
  const samples result = runner.time([&](std::uint64_t operations) {
    for (std::uint64_t index = 0; index < operations; ++index) {
      calls += 1;
      asm volatile("" : "+r"(calls));
    }
  });
  EXPECT_GT(calls, 0U);
  EXPECT_THAT(result.operation_ns, testing::Each(testing::Gt(0.0)));
}

TEST(pinned_thread, runs_work_on_its_cpu_and_reports_failures) {
  const int cpu = os::cpus_of_this_thread().back();
  pinned_thread thread(cpu);
  int seen = -1;
  thread.start([&] { seen = os::current_cpu(); });
  thread.wait();
  EXPECT_EQ(seen, cpu);
  thread.start([] { throw std::runtime_error("from the thread"); });
  EXPECT_THROW(thread.wait(), std::runtime_error);
  thread.start([&] { seen = 7; });
  thread.wait();
  EXPECT_EQ(seen, 7);
}

TEST(cacheline_handoff, can_be_used_again_and_again_by_either_order_of_arrival) {
  const std::vector<int> cpus = os::cpus_of_this_thread();
  cacheline_handoff line;
  pinned_thread leader(cpus.front());
  pinned_thread follower(cpus.back());
  for (int round = 0; round < 200; ++round) {
    double one_way_ns = 0;
    const auto lead = [&] { one_way_ns = line.lead(20); };
    const auto follow = [&] { line.follow(20); };
    if (round % 2 == 0) {
      leader.start(lead);
      follower.start(follow);
    } else {
      follower.start(follow);
      leader.start(lead);
    }
    leader.wait();
    follower.wait();
    ASSERT_GT(one_way_ns, 0);
  }
}

}  // namespace
}  // namespace tri::bench
