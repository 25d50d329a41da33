// `trireme exec --virtual auto`: from given samples and variables, whether virtual threads are used.
#include "noise/virtual_thread_choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace tri::tools {
namespace {

using schedules::core_samples;
using ::testing::HasSubstr;

constexpr double us = 1000.0;

// Core 3 is half as fast as core 0.
std::vector<core_samples> two_cores() {
  return {{0, std::vector<double>(1000, 100 * us)}, {3, std::vector<double>(1000, 200 * us)}};
}

// A core that loses so much beside its undisturbed time, all of it in one of ten quanta.
std::vector<core_samples> a_core_that_loses(double more) {
  core_samples disturbed{1, std::vector<double>(900, 20 * us)};
  for (std::size_t index = 5; index < 900; index += 10) disturbed.times[index] += 10 * more * 20 * us;
  return {{0, std::vector<double>(900, 20 * us)}, disturbed};
}

TEST(virtual_thread_choice, none_where_cores_are_quiet_and_eight_where_one_loses_much) {
  EXPECT_EQ(choose_virtual_threads(a_core_that_loses(0.0)).per_thread, 0u);
  EXPECT_EQ(choose_virtual_threads(a_core_that_loses(0.08)).per_thread, 0u);  // 0.08 / 1.08
  const virtual_thread_choice noisy = choose_virtual_threads(a_core_that_loses(0.20));
  EXPECT_EQ(noisy.per_thread, 8u);
  EXPECT_THAT(noisy.reason, HasSubstr("core 1 loses 16.7 % of its time, the most of 2 cores"));
}

TEST(virtual_thread_choice, what_passes_does_not_count) {
  std::vector<core_samples> cores = a_core_that_loses(0.0);
  std::fill_n(cores[0].times.begin() + 400, 200, 100 * us);  // a fifth of the time, in the middle
  EXPECT_EQ(choose_virtual_threads(cores).per_thread, 0u);
}

TEST(virtual_thread_choice, a_core_that_is_slow_all_the_time_counts) {
  EXPECT_EQ(choose_virtual_threads(two_cores()).per_thread, 8u);
  EXPECT_THAT(choose_virtual_threads(two_cores()).reason, HasSubstr("core 3 loses 50.0 %"));
}

TEST(virtual_thread_choice, what_speaks_against_sampling) {
  const auto with = [](const std::string& name, const std::string& value) {
    return [=](const char* asked) { return asked == name ? value : std::string(); };
  };
  EXPECT_EQ(obstacle_to_sampling(with("", ""), 2, std::nullopt), "");
  EXPECT_EQ(obstacle_to_sampling(with("OMP_NUM_THREADS", "16"), 2, 2.0), "");
  EXPECT_EQ(obstacle_to_sampling(with("OMP_NUM_THREADS", "1"), 2, std::nullopt), "OMP_NUM_THREADS is 1");
  EXPECT_EQ(obstacle_to_sampling(with("OMP_NUM_THREADS", "1,4"), 2, std::nullopt), "OMP_NUM_THREADS is 1");
  EXPECT_THAT(obstacle_to_sampling(with("OMPI_COMM_WORLD_LOCAL_SIZE", "4"), 8, std::nullopt), HasSubstr("4 ranks"));
  EXPECT_THAT(obstacle_to_sampling(with("MPI_LOCALNRANKS", "2"), 8, std::nullopt), HasSubstr("2 ranks"));
  EXPECT_EQ(obstacle_to_sampling(with("MPI_LOCALNRANKS", "1"), 8, std::nullopt), "");
  EXPECT_THAT(obstacle_to_sampling(with("", ""), 64, 1.5), HasSubstr("the time of 1.5 processors, and 64"));
  EXPECT_THAT(obstacle_to_sampling(with("", ""), 1, std::nullopt), HasSubstr("there is one core"));
}

TEST(virtual_thread_choice, one_core_has_nobody_to_help) {
  const std::vector<core_samples> one = {two_cores()[0]};
  EXPECT_EQ(choose_virtual_threads(one).per_thread, 0u);
  EXPECT_THAT(choose_virtual_threads(one).reason, HasSubstr("there is one core"));
  const std::vector<core_samples> empty = {{0, {}}, {1, {}}};
  EXPECT_THROW(choose_virtual_threads(empty), std::invalid_argument);
}

}  // namespace
}  // namespace tri::tools
