// Noise: recording, estimating, calibrating and making it; with clocks of our own, so every number is exact.
#include "schedules/learning/noise_samples.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <stdexcept>

#include "loops/calibration.hpp"
#include "sim/noise_generator.hpp"

namespace tri::schedules {
namespace {

using testing::DoubleEq;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

TEST(quanta, are_recorded_with_the_given_clock) {  // K33
  double clock = 100.0;
  int runs = 0;
  const core_samples recorded = record_quanta(
      3, 4, [&] { clock += ++runs == 3 ? 70000.0 : 20000.0; }, [&] { return clock; });
  EXPECT_EQ(recorded.core, 3);
  EXPECT_THAT(recorded.times, ElementsAre(20000.0, 20000.0, 70000.0, 20000.0));
  const sample_summary summary = summary_of(recorded.times);
  EXPECT_EQ(summary.least, 20000.0);
  EXPECT_EQ(summary.mean, 32500.0);
  EXPECT_EQ(summary.median, 20000.0);
  EXPECT_EQ(summary.largest, 70000.0);
}

TEST(quanta, least_mean_largest_are_in_order_and_bins_add_up) {  // K33
  std::mt19937_64 random(33);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> samples(1 + random() % 500);
    for (double& sample : samples) sample = static_cast<double>(random() % 400000) + 0.1;
    const sample_summary summary = summary_of(samples);
    ASSERT_LE(summary.least, summary.mean);
    ASSERT_LE(summary.mean, summary.largest);
    const std::vector<std::uint64_t> bins = histogram_of(samples);
    ASSERT_EQ(std::accumulate(bins.begin(), bins.end(), std::uint64_t{0}), samples.size());
  }
  const std::vector<double> equal(7, 0.1);
  EXPECT_EQ(summary_of(equal).mean, 0.1);
}

TEST(quanta, bin_60_is_300_to_305_microseconds) {  // K33
  const std::vector samples{0.0, 4999.0, 5000.0, 300000.0, 304999.0, 305000.0};
  const std::vector<std::uint64_t> bins = histogram_of(samples);
  ASSERT_EQ(bins.size(), 62u);
  EXPECT_EQ(bins[0], 2u);
  EXPECT_EQ(bins[1], 1u);
  EXPECT_EQ(bins[60], 2u);
  EXPECT_EQ(bins[61], 1u);
  EXPECT_THAT(histogram_of(samples, 5000.0, 3), ElementsAre(2, 1, 3)) << "the last bin takes the rest";
  EXPECT_THROW(histogram_of(samples, 0.0), std::invalid_argument);
}

TEST(quanta, tables_per_core) {  // K33
  const std::vector<core_samples> cores{{0, {20000, 30000}}, {5, {40000, 22000, 22500}}};
  EXPECT_EQ(summary_csv(cores),
            "core,samples,min_us,mean_us,max_us\n0,2,20.000,25.000,30.000\n5,3,22.000,28.167,40.000\n");
  EXPECT_EQ(histogram_csv(cores), "bin_begin_us,0,5\n20,1,2\n30,1,0\n40,0,1\n");
  EXPECT_EQ(samples_csv(cores), "core,index,us\n0,0,20.000\n0,1,30.000\n5,0,40.000\n5,1,22.000\n5,2,22.500\n");
}

TEST(quanta, cores_that_are_slow_all_the_time) {  // K33
  const std::vector<core_samples> cores{
      {0, {20, 20, 20, 900}}, {1, {20, 21, 20, 20}}, {2, {30, 30, 31, 30}}, {3, {20, 20, 20, 20}}};
  EXPECT_THAT(slow_cores(cores), ElementsAre(2)) << "one long event does not make a slow core";
}

TEST(delay, estimators_on_a_given_list) {  // K43
  std::vector<double> samples(1000, 100.0);
  samples[10] = 5100.0;
  samples[20] = 300.0;
  samples[30] = 110.0;
  EXPECT_EQ(delay_by_extremes(samples), 5000.0);
  EXPECT_EQ(delay_by_percentile(samples, 99.9), 200.0) << "one of a thousand is beyond";
  EXPECT_EQ(delay_by_percentile(samples, 100), 5000.0);
  EXPECT_EQ(delay_by_percentile(samples, 50), 0.0);
  EXPECT_THAT(delay_in_region(samples, 50.0, 1000.0), DoubleEq(5200.0 / 105210.0 * 1000.0));
  EXPECT_THAT(delay_in_region(samples, 1000.0, 1000.0), DoubleEq(5000.0 / 105210.0 * 1000.0));
  EXPECT_EQ(delay_in_region({}, 1.0, 1.0), 0.0);
  EXPECT_EQ(delay_by_extremes({}), 0.0);
  std::vector<double> ranks(1000);
  std::iota(ranks.begin(), ranks.end(), 1.0);
  EXPECT_EQ(percentile(ranks, 1.1), 11.0) << "although 1.1 * 1000 / 100 comes out above 11";
  EXPECT_THROW(percentile({}, 50), std::invalid_argument);
  EXPECT_THROW(percentile(samples, 101), std::invalid_argument);
}

TEST(delay, injected_spikes_show_in_the_extremes) {  // K43
  double clock = 0.0;
  int runs = 0;
  const core_samples recorded = record_quanta(
      0, 1000, [&] { clock += 26600.0 + (++runs % 250 == 0 ? 5e6 : 0.0); }, [&] { return clock; });
  EXPECT_GE(delay_by_extremes(recorded.times), 5e6 * 0.999999);
  EXPECT_EQ(delay_by_percentile(recorded.times, 99), 0.0) << "four in a thousand";
}

TEST(calibration, the_median_counts_and_is_positive) {  // K42
  const std::vector<double> seen{30, -99, 617, 50, 240, -20, 44, 60, -3};
  std::size_t next = 0;
  const loops::calibrated_value value = loops::calibrate([&] { return seen[next++]; }, 9, 1.0);
  EXPECT_EQ(value.value, 44.0);
  EXPECT_EQ(value.least, -99.0);
  EXPECT_EQ(value.largest, 617.0);
  EXPECT_EQ(value.trials, 9u);
  EXPECT_EQ(loops::calibrate([] { return -5.0; }, 10, 1.0).value, 1.0);
  EXPECT_THAT([] { loops::calibrate([] { return 1.0; }, 8, 1.0); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("8 trials; at least 9")));
  EXPECT_THROW(loops::calibrate([] { return 1.0; }, 9, 0.0), std::invalid_argument);
  EXPECT_THAT(loops::claim_time_of(1000.0, 800.0, 2, 100), DoubleEq(4.0));
  EXPECT_EQ(loops::claim_time_of(1000.0, 800.0, 2, 0), 0.0);
}

constexpr sim::noise_plan plan{.participants = 8, .chance = 0.25, .shortest = 100, .longest = 300, .seed = 34};

bool same(const std::vector<sim::noise_event>& a, const std::vector<sim::noise_event>& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [](const sim::noise_event& left, const sim::noise_event& right) {
        return left.participant == right.participant && left.at == right.at && left.length == right.length;
      });
}

TEST(generator, repeats_with_the_same_seed) {  // K34
  const sim::noise_generator first(plan);
  const sim::noise_generator second(plan);
  sim::noise_plan other_seed = plan;
  other_seed.seed = 35;
  const sim::noise_generator third(other_seed);
  int different = 0;
  for (std::uint64_t step = 0; step < 100; ++step) {
    EXPECT_TRUE(same(first.events(step, 1000.0), second.events(99 - (99 - step), 1000.0)));
    different += !same(first.events(step, 1000.0), third.events(step, 1000.0));
  }
  EXPECT_GT(different, 80);
  const std::vector<sim::noise_event> fixed = first.events(7, 1000.0);
  first.events(8, 1000.0);
  EXPECT_TRUE(same(fixed, first.events(7, 1000.0))) << "whatever was asked in between";
}

TEST(generator, hits_as_often_and_as_long_as_it_should) {  // K34
  const sim::noise_generator generator(plan);
  std::uint64_t hits = 0;
  std::vector<int> by_participant(8);
  for (std::uint64_t step = 0; step < 4000; ++step) {
    for (const sim::noise_event& event : generator.events(step, 1000.0)) {
      ++hits;
      ++by_participant[event.participant];
      ASSERT_GE(event.at, 0.0);
      ASSERT_LT(event.at, 1000.0);
      ASSERT_GE(event.length, 100.0);
      ASSERT_LE(event.length, 300.0);
    }
  }
  EXPECT_NEAR(static_cast<double>(hits), 8000.0, 400.0);
  for (const int count : by_participant) EXPECT_NEAR(count, 1000, 150);
  sim::noise_plan quiet = plan;
  quiet.chance = 0.0;
  EXPECT_THAT(sim::noise_generator(quiet).events(1, 1000.0), IsEmpty());
}

TEST(generator, sleeping_and_computing) {  // K34
  double clock = 0.0;
  double slept = 0.0;
  int looks = 0;
  const auto now = [&] {
    ++looks;
    return clock += 10.0;
  };
  const auto sleep = [&](double length) { slept += length; };
  disturb(sim::noise_kind::sleeping, 500.0, now, sleep);
  EXPECT_EQ(slept, 500.0);
  EXPECT_EQ(looks, 0);
  disturb(sim::noise_kind::computing, 500.0, now, sleep);
  EXPECT_EQ(slept, 500.0);
  EXPECT_EQ(clock, 510.0) << "until the time is over";
  disturb(sim::noise_kind::computing, 0.0, now, sleep);
  EXPECT_EQ(clock, 510.0);
}

TEST(generator, wrong_plans_are_refused) {
  sim::noise_plan wrong = plan;
  wrong.chance = 1.5;
  EXPECT_THROW(sim::noise_generator{wrong}, std::invalid_argument);
  wrong = plan;
  wrong.longest = 50;
  EXPECT_THROW(sim::noise_generator{wrong}, std::invalid_argument);
}

}  // namespace
}  // namespace tri::schedules
