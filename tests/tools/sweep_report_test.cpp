// Splits of cores into processes, and the tables and pictures of a sweep (M79, M80).
#include "sweep/sweep_report.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

namespace tri::tools {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(core_splits, are_the_divisors) {
  const std::vector<core_split> found = splits_of(12, 1);
  const std::vector<core_split> all = {{12, 1}, {6, 2}, {4, 3}, {3, 4}, {2, 6}, {1, 12}};
  EXPECT_EQ(found, all);
  EXPECT_EQ(splits_of(12, 3).back(), (core_split{3, 4})) << "a host has at least one process";
  EXPECT_EQ(splits_of(1, 1), (std::vector<core_split>{{1, 1}}));
  EXPECT_THROW(splits_of(2, 3), std::invalid_argument);
}

TEST(core_splits, of_both_modes) {
  EXPECT_EQ(modes_of(8, 1), (std::vector<core_split>{{8, 1}, {1, 8}}));
  EXPECT_EQ(modes_of(8, 2), (std::vector<core_split>{{8, 1}, {2, 4}}));
  EXPECT_THROW(modes_of(1, 1), std::invalid_argument);
}

TEST(core_splits, that_were_asked_for) {
  EXPECT_EQ(splits_with({7, 15}, 32, 1), (std::vector<core_split>{{4, 7}, {2, 15}}));
  EXPECT_THROW(splits_with({33}, 32, 1), std::invalid_argument);
  EXPECT_THROW(splits_with({0}, 32, 1), std::invalid_argument);
  EXPECT_THROW(splits_with({32}, 32, 2), std::invalid_argument);
}

// The first row of the source's table: Jacobi on 8 hosts of 32 cores.
sweep_report known() {
  return {
      .program = "./jacobi <8>",
      .cores = 32,
      .runs = 3,
      .figure_name = "ms/step: ([0-9.]+)",
      .splits = {
          {.split = {4, 7}, .figures = {6.06, 6.0, 6.1}, .resident_bytes = 56u << 20, .proportional_bytes = 28u << 20},
          {.split = {2, 15},
           .figures = {6.32, 6.4, 6.3},
           .resident_bytes = 30u << 20,
           .proportional_bytes = 15u << 20}}};
}

TEST(sweep_report, has_a_line_for_each_split) {
  const std::string text = to_text(known());
  EXPECT_THAT(text, ContainsRegex("4 +7 +6.06 +6 +6.1 +1.000 +28.0 MiB +1.0 MiB\n"));
  EXPECT_THAT(text, ContainsRegex("2 +15 +6.32 +6.3 +6.4 +1.043 +15.0 MiB +0.5 MiB\n"));
  EXPECT_THAT(text, HasSubstr("best: trireme run -n 4 --pes 7 ./jacobi <8>\n"));
  EXPECT_THAT(text, Not(HasSubstr("misses")));
}

TEST(sweep_report, more_can_be_better) {
  sweep_report report = known();
  report.higher_is_better = true;
  EXPECT_THAT(to_text(report), HasSubstr("best: trireme run -n 2 --pes 15"));
}

TEST(sweep_report, has_misses_where_they_were_counted) {
  sweep_report report = known();
  for (split_figures& each : report.splits) {
    each.l1_misses = {1.26e5, 1.26e5, 1.27e5};
    each.last_level_misses = {1.14e4};
  }
  EXPECT_THAT(to_text(report), AllOf(HasSubstr("L1 misses"), HasSubstr("1.26e+05"), HasSubstr("1.14e+04")));
  report.splits[1].l1_misses = {6.75e4};
  EXPECT_THAT(to_comparison(report), ContainsRegex("first-level caches +1.26e\\+05 +6.75e\\+04 +1.87\n"));
}

TEST(sweep_report, compares_both_modes) {
  sweep_report report = known();
  report.why_no_counters = "no such device";
  const std::string text = to_comparison(report);
  EXPECT_THAT(text, ContainsRegex("ms/step: \\(\\[0-9.\\]\\+\\) +6.06 +6.32 +0.959\n"));
  EXPECT_THAT(text, ContainsRegex("memory of each PE \\(PSS\\) +1.0 MiB +0.5 MiB +2\n"));
  EXPECT_THAT(text, ContainsRegex("resident set of each PE \\(RSS\\) +2.0 MiB"));
  EXPECT_THAT(text, HasSubstr("cache counters unavailable: no such device"));
  report.splits[0].resident_bytes = report.splits[0].proportional_bytes = 0;
  EXPECT_THAT(to_comparison(report), HasSubstr("too short"));
}

TEST(sweep_report, draws_all_splits) {
  const std::string svg = to_svg(known());
  EXPECT_THAT(svg, AllOf(HasSubstr("4 x 7"), HasSubstr("2 x 15"), HasSubstr("6.06"), HasSubstr("&lt;8&gt;")));
}

}  // namespace
}  // namespace tri::tools
