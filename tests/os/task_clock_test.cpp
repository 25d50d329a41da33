// The clock of a thread: what it adds up is between two readings of the system's clock around it, whatever the thread
// slept and what else ran.
#include "os/task_clock.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <thread>

#include "os/clock.hpp"
#include "os/cpu/pinning.hpp"

namespace tri::os {
namespace {

using way = task_clock::way;

double ns_between(std::uint64_t begin, std::uint64_t end) { return ticks_to_ns(end - begin); }

void compute_ns(std::int64_t ns) {
  const std::int64_t end = now_ns() + ns;
  while (now_ns() < end) {
  }
}

void sleep_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

class task_clocks : public testing::TestWithParam<way> {};

TEST_P(task_clocks, sleep_is_not_counted) {
  task_clock clock(GetParam());
  sleep_ms(1);
  const std::int64_t system_before = cpu_time_of_this_thread_ns();
  const std::uint64_t before = clock.read();
  sleep_ms(50);
  const std::uint64_t after = clock.read();
  const std::int64_t system_after = cpu_time_of_this_thread_ns();
  // What the system counted lies around it; 1 % for the two units.
  EXPECT_LE(ns_between(before, after), 1.01 * static_cast<double>(system_after - system_before) + 1'000);
  EXPECT_LT(ns_between(before, after), 25e6);
}

TEST_P(task_clocks, work_is_counted) {
  task_clock clock(GetParam());
  const std::uint64_t before = clock.read();
  const std::int64_t system_before = cpu_time_of_this_thread_ns();
  compute_ns(20'000'000);
  const std::int64_t system_after = cpu_time_of_this_thread_ns();
  const std::uint64_t after = clock.read();
  EXPECT_GE(ns_between(before, after), 0.99 * static_cast<double>(system_after - system_before));
}

TEST_P(task_clocks, is_never_less_than_before) {
  task_clock clock(GetParam());
  std::uint64_t last = clock.read();
  for (int i = 0; i < 20'000; ++i) {
    if (i % 4'000 == 0) sleep_ms(1);
    const std::uint64_t now = clock.read();
    ASSERT_GE(now, last);
    last = now;
  }
}

TEST_P(task_clocks, others_on_the_same_cpu_are_not_counted) {
  const int cpu = cpus_of_this_thread().front();
  std::array<double, 2> counted{};
  std::array<double, 2> by_the_system{};
  const auto compute = [&](std::size_t me) {
    pin_this_thread(cpu);
    task_clock clock(GetParam());
    sleep_ms(1);
    const std::int64_t system_before = cpu_time_of_this_thread_ns();
    const std::uint64_t before = clock.read();
    compute_ns(200'000'000);
    sleep_ms(1);  // the last difference is the system's as well
    const std::uint64_t after = clock.read();
    by_the_system[me] = static_cast<double>(cpu_time_of_this_thread_ns() - system_before);
    counted[me] = ns_between(before, after);
  };
  std::thread other(compute, 1);
  std::thread one(compute, 0);
  one.join();
  other.join();
  for (const std::size_t me : {0U, 1U}) {
    EXPECT_LE(counted[me], 1.02 * by_the_system[me] + 10'000);
    EXPECT_GE(counted[me], 0.98 * by_the_system[me] - 10'000);
  }
  // Together no more than the one CPU had, and what a thread began before and ended after the other.
  EXPECT_LT(counted[0] + counted[1], 1.5 * 200e6 + 1e6);
}

INSTANTIATE_TEST_SUITE_P(ways, task_clocks, testing::Values(way::restartable_sequences, way::system_calls));

TEST(task_clock, asks_the_system_only_after_a_switch) {
  task_clock clock;
  if (clock.used() == way::system_calls) GTEST_SKIP() << "no restartable sequences";
  const std::uint64_t before_sleep = clock.system_readings();
  sleep_ms(1);
  clock.read();
  EXPECT_GT(clock.system_readings(), before_sleep);
  // A thread can be switched off at any time, but not a hundred times in a row between two readings.
  int asked = 0;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t before = clock.system_readings();
    clock.read();
    asked += clock.system_readings() == before ? 0 : 1;
  }
  EXPECT_LT(asked, 50);
}

TEST(task_clock, asks_the_system_each_time_where_it_must) {
  task_clock clock(way::system_calls);
  const std::uint64_t before = clock.system_readings();
  for (int i = 0; i < 10; ++i) clock.read();
  EXPECT_EQ(clock.system_readings(), before + 10);
}

TEST(task_clock, two_of_one_thread_disturb_each_other_and_stay_right) {
  task_clock one, two;
  const std::uint64_t one_before = one.read(), two_before = two.read();
  sleep_ms(20);
  for (int i = 0; i < 100; ++i) {
    one.read();
    two.read();
  }
  EXPECT_LT(ns_between(one_before, one.read()), 10e6);
  EXPECT_LT(ns_between(two_before, two.read()), 10e6);
}

TEST(task_clock, is_one_for_each_thread) {
  task_clock* const mine = &task_clock::of_this_thread();
  EXPECT_EQ(mine, &task_clock::of_this_thread());
  std::thread([mine] { EXPECT_NE(mine, &task_clock::of_this_thread()); }).join();
}

}  // namespace
}  // namespace tri::os
