// Which schedule wins, from given times.
#include "tune/trial_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tri::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using measure = trial_table::measure;

trial run_of(double seconds) { return {seconds, {}}; }

TEST(trial_table, the_least_median_wins) {
  trial_table table("automatic", 0.01);
  for (const double seconds : {1.0, 9.0, 1.1}) table.add("automatic", run_of(seconds));
  for (const double seconds : {0.2, 1.2, 1.3}) table.add("static", run_of(seconds));
  for (const double seconds : {0.9, 0.8, 0.95}) table.add("hybrid,0.3", run_of(seconds));
  const trial_table::choice best = table.best(measure::run);
  EXPECT_EQ(best.schedule, "hybrid,0.3");
  EXPECT_EQ(best.seconds, 0.9);
  EXPECT_EQ(best.baseline_seconds, 1.1);
  EXPECT_EQ(table.of_run("static")->least(), 0.2);
  EXPECT_EQ(table.of_run("static")->largest(), 1.3);
  EXPECT_EQ(table.of_run("dynamic"), nullptr);
  EXPECT_THAT(table.schedules(), ElementsAre("automatic", "static", "hybrid,0.3"));
}

TEST(trial_table, the_median_of_an_even_number_lies_between) {
  trial_table table("automatic", 0.0);
  for (const double seconds : {4.0, 1.0, 2.0, 3.0}) table.add("automatic", run_of(seconds));
  EXPECT_EQ(table.of_run("automatic")->median(), 2.5);
}

TEST(trial_table, the_baseline_stays_unless_the_gain_is_large_enough) {
  for (const auto& [gain, expected] : {std::pair{0.01, "static"}, {0.03, "automatic"}}) {
    trial_table table("automatic", gain);
    table.add("automatic", run_of(1.0));
    table.add("static", run_of(0.98));
    EXPECT_EQ(table.best(measure::run).schedule, expected);
  }
}

// By medians alone the second schedule would win by 4 %; but the trials of either differ by 10 %.
TEST(trial_table, a_winner_inside_the_spread_is_none) {
  for (const auto& [difference, expected] : {std::pair{0.04, "automatic"}, {0.12, "static"}}) {
    trial_table table("automatic", 0.01);
    for (const double seconds : {0.5, 1.00, 1.05, 1.10, 7.0}) {  // one accident on each side
      table.add("automatic", run_of(seconds));
      table.add("static", run_of(seconds - difference));
    }
    EXPECT_EQ(table.of_run("automatic")->lower_quartile(), 1.00);
    EXPECT_EQ(table.of_run("automatic")->upper_quartile(), 1.10);
    EXPECT_EQ(table.best(measure::run).schedule, expected) << difference;
  }
}

TEST(trial_table, of_equals_the_first_wins) {
  trial_table table("automatic", 0.0);
  table.add("automatic", run_of(2.0));
  table.add("hybrid,0.2", run_of(1.0));
  table.add("hybrid,0.1", run_of(1.0));
  EXPECT_EQ(table.best(measure::run).schedule, "hybrid,0.2");
}

TEST(trial_table, without_the_baseline_the_least_is_taken) {
  trial_table table("automatic", 0.5);
  table.add("static", run_of(2.0));
  table.add("dynamic", run_of(1.9));
  EXPECT_EQ(table.best(measure::run).schedule, "dynamic");
  EXPECT_EQ(table.best(measure::loops).schedule, "automatic");
}

TEST(trial_table, each_loop_has_its_own_best_and_named_ones_are_left_out) {
  trial_table table("automatic", 0.01);
  const loop_location a{"a.cpp", 1}, b{"b.cpp", 2}, named{"c.cpp", 3};
  table.add("automatic", {9.0, {{a, {1.0, "automatic"}}, {b, {2.0, "automatic"}}, {named, {5.0, "guided"}}}});
  table.add("static", {9.0, {{a, {0.5, "static"}}, {b, {2.6, "static"}}, {named, {4.0, "guided"}}}});
  EXPECT_EQ(table.of_loops("automatic")->median(), 3.0);
  EXPECT_EQ(table.of_loops("static")->median(), 3.1);
  EXPECT_EQ(table.of_loop(a, "static")->median(), 0.5);
  EXPECT_EQ(table.of_loop(named, "static"), nullptr);
  const auto best = table.best_of_loops();
  ASSERT_EQ(best.size(), 2u);
  EXPECT_EQ(best.at(a).schedule, "static");
  EXPECT_EQ(best.at(a).baseline_seconds, 1.0);
  EXPECT_EQ(best.at(b).schedule, "automatic");
  EXPECT_EQ(table.best(measure::loops).schedule, "automatic");
}

TEST(trial_table, the_fastest_among_some) {
  trial_table table("automatic", 0.5);
  table.add("automatic", run_of(1.0));
  table.add("hybrid,0.1", run_of(3.0));
  table.add("hybrid,0.2", run_of(2.0));
  EXPECT_EQ(table.fastest({"hybrid,0.1", "hybrid,0.2", "hybrid,0.3"}, measure::run), "hybrid,0.2");
  EXPECT_EQ(table.fastest({"hybrid,0.1"}, measure::loops), "");
}

}  // namespace
}  // namespace tri::tools
