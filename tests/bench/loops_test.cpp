// The suite `loops` as a user runs it: the real command with --quick, its JSON, its rows, targets and peers; and the
// costs of the iterations that the rows are made of.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>
#include <string>

#include "framework/row.hpp"
#include "loops/work.hpp"

namespace tri::bench {
namespace {

using nlohmann::json;

// Measured once for all tests of this file.
const json& quick_report() {
  static const json report = [] {
    const auto file = std::filesystem::path(testing::TempDir()) / "trireme_bench_loops.json";
    const std::string command =
        std::string(TRIREME_COMMAND) + " bench loops --quick --repetitions 3 --json " + file.string();
    const int status = std::system(command.c_str());
    if (status != 0) throw std::runtime_error("'" + command + "' ended with status " + std::to_string(status));
    std::ifstream input(file);
    json parsed = json::parse(input);
    std::filesystem::remove(file);
    return parsed;
  }();
  return report;
}

const json& row_named(const std::string& name) {
  for (const json& row : quick_report().at("rows")) {
    if (row.at("name") == name) return row;
  }
  throw std::runtime_error("there is no row " + name);
}

TEST(Loops, EveryRowIsMeasured) {
  for (const char* name :
       {"loop/fork_join", "loop/wake_20ms", "loop/dispatch", "loop/steps/1_call", "loop/steps/2_in_place",
        "loop/steps/3_post", "loop/overhead", "loop/uniform/automatic", "loop/linear/automatic",
        "loop/heavy_tail/automatic", "loop/noise10/automatic", "loop/sweep_l2/automatic", "loop/sweep_l3/automatic",
        "loop/sweep_dram/automatic", "loop/concurrent"}) {
    SCOPED_TRACE(name);
    const json& row = row_named(name);
    ASSERT_FALSE(row.contains("error")) << row.at("error");
    EXPECT_LE(row.at("p10").get<double>(), row.at("median").get<double>());
    EXPECT_LE(row.at("median").get<double>(), row.at("p90").get<double>());
    EXPECT_GE(row.at("batches").get<int>(), 1);
    for (const auto& [peer, median] : row.at("peers").items()) EXPECT_TRUE(median.is_number()) << peer;
    // A row goes to a child and back unharmed.
    EXPECT_EQ(json(row.get<bench::row>()), row);
  }
}

TEST(Loops, TheLastStepIsTheWholeOverhead) {
  for (const char* stage : {"steps/node_queue", "steps/simple_queue", "steps/recycled", "steps/micro_queue", "static"})
    EXPECT_TRUE(row_named("loop/overhead").at("peers").contains(stage)) << stage;
}

TEST(Loops, EverySchedulePlaysInTheRowsOfTheDefault) {
  for (const char* name :
       {"loop/uniform/automatic", "loop/linear/automatic", "loop/heavy_tail/automatic", "loop/noise10/automatic",
        "loop/sweep_l2/automatic", "loop/sweep_l3/automatic", "loop/sweep_dram/automatic"}) {
    SCOPED_TRACE(name);
    const json& peers = row_named(name).at("peers");
    for (const char* schedule : {"static", "dynamic,1", "dynamic,8", "guided", "factoring", "hybrid,0.8", "tasklets",
                                 "weighted", "staggered,0.5", "serial"})
      EXPECT_TRUE(peers.contains(schedule)) << schedule;
    EXPECT_TRUE(row_named(name).contains("best_peer"));
  }
}

TEST(Loops, TargetsAreThoseOfTheContract) {
  EXPECT_EQ(row_named("loop/fork_join").at("target"), 0.60);
  EXPECT_EQ(row_named("loop/wake_20ms").at("target"), 15);
  EXPECT_EQ(row_named("loop/dispatch").at("target"), 36);
  const auto judged_by = [](const char* name) {
    return std::pair(row_named(name).at("reference").get<std::string>(),
                     row_named(name).at("target_ratio").get<double>());
  };
  EXPECT_EQ(judged_by("loop/uniform/automatic"), std::pair(std::string("static"), 1.005));
  EXPECT_EQ(judged_by("loop/linear/automatic"), std::pair(std::string("ideal"), 1.02));
  EXPECT_EQ(judged_by("loop/noise10/automatic"), std::pair(std::string("ideal"), 1.03));
  EXPECT_EQ(judged_by("loop/sweep_l2/automatic"), std::pair(std::string("static"), 1.02));
}

TEST(Loops, RatioAndTargetGiveTheSameVerdict) {
  for (const char* name : {"loop/uniform/automatic", "loop/linear/automatic", "loop/noise10/automatic"}) {
    const auto measured = row_named(name).get<bench::row>();
    EXPECT_EQ(verdict_of(measured), ratio_verdict_of(measured)) << name;
  }
}

TEST(LoopCosts, MeanIsKeptWhateverTheShape) {
  for (const cost_shape shape : {cost_shape::uniform, cost_shape::linear, cost_shape::heavy_tail}) {
    const auto steps = make_costs(shape, 10'000, 800);
    EXPECT_NEAR(std::accumulate(steps.begin(), steps.end(), 0.0) / 1e4, 800, 1);
  }
}

TEST(LoopCosts, ShapesAreWhatTheirNamesSay) {
  const auto uniform = make_costs(cost_shape::uniform, 1000, 800);
  EXPECT_EQ(*std::min_element(uniform.begin(), uniform.end()), 800U);
  EXPECT_EQ(*std::max_element(uniform.begin(), uniform.end()), 800U);
  const auto linear = make_costs(cost_shape::linear, 1000, 800);
  EXPECT_TRUE(std::is_sorted(linear.begin(), linear.end()));
  EXPECT_LE(linear.front(), 1U);
  EXPECT_NEAR(linear.back(), 1600, 1);
  auto tail = make_costs(cost_shape::heavy_tail, 10'000, 800);
  EXPECT_EQ(tail, make_costs(cost_shape::heavy_tail, 10'000, 800));
  std::sort(tail.begin(), tail.end());
  EXPECT_LT(tail[5'000], 500U);               // most are short,
  EXPECT_GT(tail.back(), 100 * tail[5'000]);  // and one is very long
}

TEST(LoopSweep, TakesTheMeanOfFive) {
  sweep_field field(64 * sweep_columns * sizeof(double) * 2);
  EXPECT_EQ(field.rows(), 62);
  const double* const from = field.from();
  double* const to = field.to();
  ASSERT_NE(from, to);
  sweep_row(from, to, 0);
  const std::size_t at = sweep_columns + 7;
  EXPECT_DOUBLE_EQ(
      to[at], 0.2 * (from[at] + from[at - 1] + from[at + 1] + from[at - sweep_columns] + from[at + sweep_columns]));
  field.swap();
  EXPECT_EQ(field.from(), to);
}

}  // namespace
}  // namespace tri::bench
