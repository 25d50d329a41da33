// What given samples say: every figure by hand.
#include "noise/noise_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>

#include "noise/core_sampler.hpp"
#include "os/cpu/pinning.hpp"

namespace tri::tools {
namespace {

using schedules::core_samples;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;

constexpr double us = 1000.0;

// Core 0: 100 us, and one sample in a hundred 40 us longer. Core 3: 200 us always.
std::vector<core_samples> two_cores() {
  core_samples quick{0, std::vector<double>(1000, 100 * us)};
  for (std::size_t index = 50; index < 1000; index += 100) quick.times[index] += 40 * us;
  return {quick, {3, std::vector<double>(1000, 200 * us)}};
}

TEST(noise_report, figures_of_each_core) {
  const noise_report report = report_of(two_cores(), {});
  ASSERT_THAT(report.cores, SizeIs(2));
  const core_noise& quick = report.cores[0];
  EXPECT_EQ(quick.core, 0);
  EXPECT_EQ(quick.samples, 1000u);
  EXPECT_EQ(quick.summary.least, 100 * us);
  EXPECT_EQ(quick.summary.median, 100 * us);
  EXPECT_NEAR(quick.summary.mean, 100.4 * us, 1e-6 * us);
  EXPECT_EQ(quick.summary.largest, 140 * us);
  EXPECT_EQ(quick.percentile_99, 100 * us);
  EXPECT_EQ(quick.percentile, 140 * us);
  EXPECT_NEAR(quick.lost, 0.004, 1e-12);
  EXPECT_EQ(quick.events, 10u);
  EXPECT_NEAR(quick.events_per_second, 10 / 0.1004, 1e-9);
  EXPECT_FALSE(quick.slow);
  const core_noise& slow = report.cores[1];
  EXPECT_EQ(slow.core, 3);
  EXPECT_EQ(slow.lost, 0.0);
  EXPECT_EQ(slow.events, 0u);
  EXPECT_TRUE(slow.slow);
  // mean(100, 200) / time
  EXPECT_EQ(quick.weight, 1.5);
  EXPECT_EQ(slow.weight, 0.75);
}

TEST(noise_report, a_slow_core_is_no_noise_event) {
  const noise_report report = report_of(two_cores(), {.region_time = 400 * us});
  // 10 of 2000 samples are 40 us longer than the least of their core: beyond the 99.5th percentile.
  EXPECT_EQ(report.delay_by_percentile, 40 * us);
  EXPECT_EQ(report.delay_by_extremes, 40 * us);
  EXPECT_EQ(report_of(two_cores(), {.percent = 99.5}).delay_by_percentile, 0.0);
  // Core 0 lost 400 us of 100,400.
  EXPECT_NEAR(report.delay_in_region, 400 * us * 400.0 / 100400.0, 1e-9 * us);
  // Equation 4.4 without cost of claims: delay / region.
  EXPECT_NEAR(report.dynamic_fraction, 0.1, 1e-12);
  EXPECT_EQ(report.schedule, "weighted+staggered,0.9");
}

// A clock that is 20 % faster for a few samples is no measure for the others.
TEST(noise_report, a_rare_fast_state_is_no_loss) {
  core_samples turbo{0, std::vector<double>(1000, 100 * us)};
  for (std::size_t index = 0; index < 50; ++index) turbo.times[index] = 80 * us;
  const noise_report report = report_of(std::vector<core_samples>{turbo}, {});
  EXPECT_EQ(report.cores[0].summary.least, 80 * us);
  EXPECT_EQ(report.cores[0].undisturbed, 100 * us);
  EXPECT_EQ(report.cores[0].lost, 0.0);
  EXPECT_EQ(report.delay_by_percentile, 0.0);
  EXPECT_EQ(report.delay_in_region, 0.0);
  EXPECT_EQ(report.dynamic_fraction, 0.0);
}

TEST(noise_report, without_noise_everything_may_be_static) {
  const std::vector<core_samples> even{{0, std::vector<double>(10, 50.0)}, {1, std::vector<double>(10, 50.0)}};
  const noise_report report = report_of(even, {});
  EXPECT_EQ(report.delay_by_percentile, 0.0);
  EXPECT_EQ(report.dynamic_fraction, 0.0);
  EXPECT_EQ(report.schedule, "staggered,1");
  EXPECT_THAT(suggestions_of(report), HasSubstr("slow cores   none"));
}

TEST(noise_report, bins_hold_every_sample_once) {
  const noise_report report = report_of(two_cores(), {});
  ASSERT_THAT(report.bins, SizeIs(3));
  EXPECT_EQ(report.bins[0].begin, 100 * us);
  EXPECT_EQ(report.bins[0].end, 105 * us);
  EXPECT_THAT(report.bins[0].by_core, ElementsAre(990, 0));
  EXPECT_THAT(report.bins[1].by_core, ElementsAre(10, 0));
  EXPECT_EQ(report.bins[1].begin, 140 * us);
  EXPECT_THAT(report.bins[2].by_core, ElementsAre(0, 1000));
  EXPECT_EQ(report.bins[0].count + report.bins[1].count + report.bins[2].count, 2000u);
}

TEST(noise_report, many_bins_are_joined_without_losing_a_sample) {
  std::vector<noise_bin> bins;
  for (int number = 0; number < 1000; ++number) {
    if (number % 7 == 3) continue;
    bins.push_back(
        {20 * us + number * 5 * us, 25 * us + number * 5 * us, static_cast<std::uint64_t>(number + 1), {1, 2}});
  }
  const auto sum = [](const std::vector<noise_bin>& some) {
    return std::accumulate(some.begin(), some.end(), std::uint64_t{0},
                           [](std::uint64_t before, const noise_bin& bin) { return before + bin.count; });
  };
  for (const std::size_t most : {2u, 3u, 10u, 24u, 857u, 858u, 2000u}) {
    const std::vector<noise_bin> rows = joined_bins(bins, most);
    EXPECT_LE(rows.size(), most);
    EXPECT_EQ(sum(rows), sum(bins)) << most;
    EXPECT_EQ(rows.front().begin, bins.front().begin);
    EXPECT_EQ(rows.back().end, bins.back().end);
    std::uint64_t of_second_core = 0;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      EXPECT_LT(rows[row].begin, rows[row].end);
      if (row > 0) {
        EXPECT_LE(rows[row - 1].end, rows[row].begin);
      }
      of_second_core += rows[row].by_core[1];
    }
    EXPECT_EQ(of_second_core, 2 * bins.size());
  }
  EXPECT_EQ(joined_bins(bins, 24)[11].begin, bins[11].begin) << "the first half is as it was";
}

TEST(noise_report, the_table_marks_slow_cores) {
  const std::string table = table_of(report_of(two_cores(), {}));
  EXPECT_THAT(
      table,
      HasSubstr(
          "    0    100.00    100.00    100.00    100.40    100.00    140.00    140.00    0.40      99.6   1.500\n"));
  EXPECT_THAT(
      table,
      HasSubstr("    3    200.00    200.00    200.00    200.00    200.00    200.00    200.00    0.00       0.0   0.750"
                "  slow all the time\n"));
}

TEST(noise_report, the_picture_shows_a_single_sample_among_many) {
  std::vector<core_samples> cores = two_cores();
  cores[1].times[7] = 1000 * us;
  const std::string picture = picture_of(report_of(cores, {}));
  // log2(n + 1) of 990, 10 and 999 and 1, by 40 letters; shades by the log of the largest count of a core.
  EXPECT_THAT(picture, HasSubstr("      100 - 105      ########################################        990  @ \n"));
  EXPECT_THAT(picture, HasSubstr("      140 - 145      ##############                                   10  = \n"));
  EXPECT_THAT(picture, HasSubstr("      200 - 205      ########################################        999   @\n"));
  EXPECT_THAT(picture, HasSubstr("     1000 - 1005     ####                                              1   .\n"));
}

TEST(noise_report, json_holds_all_of_it) {
  const nlohmann::json json = to_json(report_of(two_cores(), {}));
  EXPECT_EQ(json["cores"][0]["core"], 0);
  EXPECT_EQ(json["cores"][0]["histogram"],
            nlohmann::json::parse(R"([{"begin_us":100.0,"samples":990},{"begin_us":140.0,"samples":10}])"));
  EXPECT_EQ(json["cores"][1]["weight"], 0.75);
  EXPECT_EQ(json["slow_cores"], nlohmann::json({3}));
  EXPECT_EQ(json["delay_us"]["percentile"], 40.0);
}

TEST(noise_report, the_picture_file_has_a_bar_per_bin_and_three_points_per_core) {
  const std::string svg = to_svg(report_of(two_cores(), {}));
  const auto count = [&](const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = svg.find(what); at != std::string::npos; at = svg.find(what, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("<rect"), 1u + 3u);  // with the background
  EXPECT_EQ(count("<circle"), 6u);
  EXPECT_EQ(count("#d55e00"), 1u) << "the median of the slow core";
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
}

TEST(noise_report, wrong_settings_are_named) {
  const std::vector<core_samples> none;
  const std::vector<core_samples> empty{{4, {}}};
  EXPECT_THAT([&] { report_of(none, {}); }, ThrowsMessage<std::invalid_argument>(HasSubstr("no cores")));
  EXPECT_THAT([&] { report_of(empty, {}); }, ThrowsMessage<std::invalid_argument>(HasSubstr("core 4 has no samples")));
  EXPECT_THAT([] { report_of(two_cores(), {.bin = 0}); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("bins are 0 ns")));
  EXPECT_THAT([] { report_of(two_cores(), {.region_time = 0}); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("0 ns")));
  EXPECT_THAT([] { report_of(two_cores(), {.percent = 101}); }, ThrowsMessage<std::invalid_argument>(HasSubstr("101")));
}

// Rounds need not divide the samples; nothing is lost or invented.
TEST(core_sampler, takes_as_many_samples_as_were_asked_for) {
  const std::vector<int> cores{os::cpus_of_this_thread().front()};
  for (const bool together : {true, false}) {
    std::vector<double> shown;
    const std::vector<core_samples> samples =
        sample_cores({.cores = cores, .samples = 37, .rounds = 5, .together = together}, work_quantum(10),
                     [&](double done) { shown.push_back(done); });
    ASSERT_THAT(samples, SizeIs(1));
    EXPECT_EQ(samples[0].core, cores[0]);
    EXPECT_THAT(samples[0].times, SizeIs(37));
    for (const double time : samples[0].times) EXPECT_GT(time, 0.0);
    EXPECT_THAT(shown, ElementsAre(0.0, DoubleNear(0.2, 1e-12), DoubleNear(0.4, 1e-12), DoubleNear(0.6, 1e-12),
                                   DoubleNear(0.8, 1e-12), 1.0));
  }
}

// A core that others use must not hold up the program that waits for the choice.
TEST(core_sampler, a_round_ends_with_the_samples_that_its_time_allows) {
  const std::vector<core_samples> samples = sample_cores(
      {.cores = {os::cpus_of_this_thread().front()}, .samples = 1'000'000, .rounds = 2, .longest_round_s = 0.0},
      work_quantum(10), [](double) {});
  ASSERT_THAT(samples, SizeIs(1));
  EXPECT_THAT(samples[0].times, SizeIs(100)) << "of each round those before the first look at the clock";
}

TEST(core_sampler, a_core_that_does_not_exist_is_an_error_of_the_call) {
  EXPECT_THROW(sample_cores({.cores = {os::cpus_of_this_thread().front(), 100000}, .samples = 10, .rounds = 2},
                            work_quantum(10), [](double) {}),
               std::system_error);
}

TEST(core_sampler, a_quantum_has_one_root_at_least) { EXPECT_EQ(work_quantum::lasting(0.0).roots(), 1u); }

}  // namespace
}  // namespace tri::tools
