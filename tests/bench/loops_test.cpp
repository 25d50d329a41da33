// The suite `loops` as a user runs it: the real command with --quick, its JSON, its rows, targets and peers; the costs
// of the iterations that the rows are made of; and that a runtime which shares a loop out wrongly is found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "framework/row.hpp"
#include "loops/competitor_of.hpp"
#include "loops/real_kernels.hpp"
#include "loops/work.hpp"

namespace tri::bench {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::StartsWith;

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

TEST(loops, every_row_is_measured) {
  for (const char* name : {"loop/fork_join",
                           "loop/wake_20ms",
                           "loop/dispatch",
                           "loop/steps/1_call",
                           "loop/steps/2_in_place",
                           "loop/steps/3_post",
                           "loop/overhead",
                           "loop/uniform/automatic",
                           "loop/linear/automatic",
                           "loop/heavy_tail/automatic",
                           "loop/noise10/automatic",
                           "loop/sweep_l2/automatic",
                           "loop/sweep_l3/automatic",
                           "loop/sweep_dram/automatic",
                           "loop/concurrent",
                           "loop/kernel/short_regions",
                           "loop/kernel/barriers",
                           "loop/kernel/csr_rows/first",
                           "loop/kernel/csr_rows/learned",
                           "loop/kernel/front_loaded/first",
                           "loop/kernel/front_loaded/learned"}) {
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

TEST(loops, the_last_step_is_the_whole_overhead) {
  for (const char* stage : {"steps/node_queue", "steps/simple_queue", "steps/recycled", "steps/micro_queue", "static"})
    EXPECT_TRUE(row_named("loop/overhead").at("peers").contains(stage)) << stage;
}

TEST(loops, every_schedule_plays_in_the_rows_of_the_default) {
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

TEST(loops, real_kernels_are_judged_by_the_best_of_the_other_runtimes) {
  const auto check = [](const char* name, double target_ratio) {
    SCOPED_TRACE(name);
    const json& row = row_named(name);
    for (const char* schedule : {"static", "guided", "serial"})
      EXPECT_TRUE(row.at("peers").contains(schedule)) << schedule;
    EXPECT_EQ(row.at("target_ratio"), target_ratio);
    bool others = false;
    for (const auto& [peer, median] : row.at("peers").items())
      others = others || peer.starts_with("libgomp/") || peer.starts_with("tbb/");
    if (others) {
      EXPECT_THAT(row.at("reference").get<std::string>(), StartsWith("the best peer, "));
    }
  };
  check("loop/kernel/short_regions", 1.05);
  check("loop/kernel/barriers", 1.1);
  check("loop/kernel/csr_rows/first", 1.05);
  check("loop/kernel/csr_rows/learned", 1.03);
  check("loop/kernel/front_loaded/first", 1.05);
  check("loop/kernel/front_loaded/learned", 1.03);
}

TEST(loops, targets_are_those_of_the_contract) {
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

TEST(loops, ratio_and_target_give_the_same_verdict) {
  for (const char* name : {"loop/uniform/automatic", "loop/linear/automatic", "loop/noise10/automatic"}) {
    const auto measured = row_named(name).get<bench::row>();
    EXPECT_EQ(verdict_of(measured), ratio_verdict_of(measured)) << name;
  }
}

TEST(loop_costs, mean_is_kept_whatever_the_shape) {
  for (const cost_shape shape : {cost_shape::uniform, cost_shape::linear, cost_shape::heavy_tail}) {
    const auto steps = make_costs(shape, 10'000, 800);
    EXPECT_NEAR(std::accumulate(steps.begin(), steps.end(), 0.0) / 1e4, 800, 1);
  }
}

TEST(loop_costs, shapes_are_what_their_names_say) {
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

TEST(loop_sweep, takes_the_mean_of_five) {
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

// Plain loops that may make one mistake, at the iteration number n / 100 of the loop number `at_loop`.
struct faulty_loops {
  enum class fault { none, left_out, run_twice };
  fault mistake = fault::none;
  int at_loop = 0;
  bool backward = false;
  int loops = 0;

  template <class Body>
  void loop(std::size_t, int n, const Body& body) {
    const bool here = loops++ == at_loop;
    for (int count = 0; count < n; ++count) {
      const int i = backward ? n - 1 - count : count;
      const bool wrong = here && i == n / 100;
      if (!wrong || mistake != fault::left_out) body(i);
      if (wrong && mistake == fault::run_twice) body(i);
    }
  }
  template <class Body>
  void region(std::uint32_t steps, int n, const Body& body) {
    for (std::uint32_t step = 0; step < steps; ++step) loop(0, n, [&](int i) { body(step, i); });
  }
};

template <class Kernel>
std::uint64_t digest_after(Kernel& data, faulty_loops loops, std::uint32_t executions = 3) {
  data.reset();
  data.run(loops, executions);
  return data.digest();
}

template <class Kernel>
void expect_mistakes_are_seen(Kernel data) {
  using enum faulty_loops::fault;
  const std::uint64_t right = digest_after(data, {});
  EXPECT_EQ(digest_after(data, {}), right) << "after a reset";
  EXPECT_EQ(digest_after(data, {.backward = true}), right) << "iterations of a loop may run in any order";
  EXPECT_NE(digest_after(data, {}, 4), right);
  for (const int at_loop : {0, 2}) {
    EXPECT_NE(digest_after(data, {.mistake = left_out, .at_loop = at_loop}), right);
    EXPECT_NE(digest_after(data, {.mistake = run_twice, .at_loop = at_loop}), right);
  }
}

TEST(loop_kernels, one_iteration_left_out_or_run_twice_is_seen) {
  expect_mistakes_are_seen(coarse_grids());
  expect_mistakes_are_seen(barrier_steps(5));
  expect_mistakes_are_seen(sparse_rows());
  expect_mistakes_are_seen(sorted_graph());
}

// One thread begins the second step before the other has ended the first.
struct loops_without_barrier {
  void region(std::uint32_t steps, int n, const auto& body) {
    for (const auto& [first, last] : {std::pair(0, n / 2), std::pair(n / 2, n)}) {
      for (std::uint32_t step = 0; step < steps; ++step) {
        for (int i = first; i < last; ++i) body(step, i);
      }
    }
  }
};

TEST(loop_kernels, a_missing_barrier_is_seen) {
  barrier_steps data(5);
  loops_without_barrier loops;
  data.run(loops, 2);
  const std::uint64_t digest = data.digest();
  EXPECT_NE(digest, digest_after(data, {}, 2));
}

struct loops_that_count {
  std::vector<std::size_t> numbers;
  std::vector<int> lengths;
  void loop(std::size_t number, int n, const auto&) {
    numbers.push_back(number);
    lengths.push_back(n);
  }
};

TEST(loop_kernels, loops_of_coarse_grids_are_short) {
  loops_that_count loops;
  coarse_grids().run(loops, 1);
  EXPECT_THAT(loops.numbers, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  EXPECT_EQ(*std::min_element(loops.lengths.begin(), loops.lengths.end()), 1024);
  EXPECT_EQ(*std::max_element(loops.lengths.begin(), loops.lengths.end()), 4096);
}

TEST(loop_kernels, rows_follow_a_power_law) {
  std::vector<std::size_t> lengths = sparse_rows().row_lengths();
  std::sort(lengths.begin(), lengths.end(), std::greater<>());
  EXPECT_EQ(lengths.back(), 4U);
  EXPECT_GT(lengths.front(), 1000U);
  const auto sum = [&](std::size_t rows) {
    return std::accumulate(lengths.begin(), lengths.begin() + static_cast<std::ptrdiff_t>(rows), std::size_t{0});
  };
  EXPECT_GT(2 * sum(lengths.size() / 10), sum(lengths.size())) << "a tenth of the rows has half of the entries";
}

TEST(loop_kernels, most_of_the_triangles_lie_in_front) {
  const std::vector<std::size_t> costs = sorted_graph().costs();
  const auto front = costs.begin() + static_cast<std::ptrdiff_t>(costs.size() / 20);
  EXPECT_GT(2 * std::accumulate(costs.begin(), front, std::size_t{0}),
            std::accumulate(costs.begin(), costs.end(), std::size_t{0}));
}

// A runtime that leaves the last iteration out when its schedule says so, and notes where its loops are.
std::vector<std::string>& noted() {
  static std::vector<std::string> notes;
  return notes;
}
class noting_runtime {
 public:
  explicit noting_runtime(const comparison_setup&) {}
  static std::string name() { return "noting"; }
  static std::vector<std::string> schedules() { return {"all", "all but one"}; }
  template <class Body>
  void loop(std::size_t schedule, std::size_t place, int n, const Body& body) {
    noted().push_back("loop " + std::to_string(place));
    for (int i = 0; i < n - static_cast<int>(schedule); ++i) body(i);
  }
  void forget(std::size_t, std::size_t place) { noted().push_back("forget " + std::to_string(place)); }
};

TEST(loop_competitor, finds_a_wrong_result) {
  competitor_of<noting_runtime> runtime({});
  for (const kernel which : {kernel::coarse_grids, kernel::barrier_steps, kernel::sparse_rows, kernel::sorted_graph}) {
    EXPECT_FALSE(runtime.run({.which = which, .schedule = 0, .warm_up = 1, .loops = 2}).wrong);
    EXPECT_TRUE(runtime.run({.which = which, .schedule = 1, .warm_up = 1, .loops = 2}).wrong)
        << static_cast<int>(which);
    EXPECT_FALSE(runtime.run({.which = which, .schedule = 0, .warm_up = 1, .loops = 2}).wrong);
  }
}

TEST(loop_competitor, first_executions_are_in_a_place_that_was_forgotten) {
  competitor_of<noting_runtime> runtime({});
  noted().clear();
  runtime.run({.which = kernel::sparse_rows, .warm_up = 2, .loops = 2, .first = true});
  const std::string place = std::to_string(static_cast<int>(kernel::sparse_rows));
  const std::string warm_up = "loop " + std::to_string(warm_up_place);
  EXPECT_THAT(noted(),
              ElementsAre(warm_up, warm_up, "forget " + place, "loop " + place, "forget " + place, "loop " + place));
}

}  // namespace
}  // namespace tri::bench
