// The cost and balance of loops, for our schedules beside those of other runtimes. Every row is a comparison
// (comparison.hpp) between two threads on two cores; each runtime has a process of its own.
#include "loops/rows.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "framework/cacheline.hpp"
#include "loops/comparison.hpp"
#include "loops/judging.hpp"
#include "loops/kernel_rows.hpp"
#include "trireme/noise.hpp"

namespace tri::bench {
namespace {

const std::string automatic = "automatic";

std::vector<std::string> all_entries() {
  return {"trireme/automatic", "trireme/static",     "trireme/dynamic,1", "trireme/dynamic,8", "trireme/guided",
          "trireme/factoring", "trireme/hybrid,0.8", "trireme/tasklets",  "trireme/weighted",  "trireme/staggered,0.5",
          "trireme/serial",    "openmp/static",      "openmp/dynamic",    "openmp/dynamic,8",  "openmp/guided",
          "tbb/auto",          "tbb/static",         "tbb/affinity",      "tbb/simple"};
}

row_definition small_row(const std::string& program, std::string name, std::string unit, std::string description,
                         std::string main, comparison_plan plan, double scale) {
  return {.name = std::move(name), .unit = unit, .description = std::move(description), .measure = [=](context& tools) {
            std::vector<std::string> notes;
            const comparison_result result = run_comparison(plan, tools.runner().options(), program, notes);
            return measurement_of(result, main, scale, unit, notes, true);
          }};
}

std::vector<row_definition> cost_rows(const std::string& program) {
  std::vector<row_definition> rows;
  const std::vector<std::string> short_loops = {"trireme/static", "trireme/automatic",     "trireme/dynamic,1",
                                                "trireme/guided", "trireme/staggered,0.5", "openmp/static",
                                                "openmp/dynamic", "openmp/guided",         "tbb/static",
                                                "tbb/auto",       "tbb/affinity",          "tbb/simple"};
  row_definition fork_join =
      small_row(program, "loop/fork_join", "us",
                "begin and end of a loop of two empty iterations, one for each thread (schedule static)", "static",
                {.which = kernel::pair,
                 .entries = short_loops,
                 .learning = 2000,
                 .warm_up = 200,
                 .loops = 1000,
                 .ask_who_shared = true},
                1);
  fork_join.target = 0.60;
  fork_join.handoffs = 2;
  rows.push_back(std::move(fork_join));

  row_definition wake = small_row(
      program, "loop/wake_20ms", "us", "the same after the program has slept for 20 ms", "static",
      {.which = kernel::cold_pair,
       .entries = {"trireme/static", "trireme/automatic", "openmp/static", "openmp/dynamic", "tbb/static", "tbb/auto"},
       .learning = 2000,
       .warm_up = 20,
       .loops = 1,
       .batches_per_round = 4,
       .ask_who_shared = true},
      1);
  wake.target = 15;
  wake.handoffs = 2;
  rows.push_back(std::move(wake));

  row_definition dispatch = small_row(
      program, "loop/dispatch", "ns",
      "one chunk of one iteration out of 50,000 empty ones, times the threads (schedule dynamic,1)", "dynamic,1",
      {.which = kernel::empty,
       .entries = {"trireme/dynamic,1", "trireme/automatic", "trireme/staggered,0.5", "openmp/dynamic", "tbb/simple"},
       .learning = 25,
       .warm_up = 1,
       .loops = 1},
      2.0 / 50'000);
  dispatch.target = 36;
  dispatch.handoffs = 0;
  rows.push_back(std::move(dispatch));

  // Step by step: the cost of a loop up to this step.
  const auto step = [&](const char* name, const char* description, const char* schedule, kernel which) {
    row_definition row = small_row(program, std::string("loop/steps/") + name, "ns", description, schedule,
                                   {.which = which,
                                    .entries = {std::string("trireme/") + schedule, "openmp/static", "tbb/static"},
                                    .learning = 100,
                                    .warm_up = 200,
                                    .loops = 1000},
                                   1);
    row.handoffs = 0;
    rows.push_back(std::move(row));
  };
  step("1_call", "a loop of one iteration, which the caller runs in place", "automatic", kernel::one);
  step("2_in_place", "two empty iterations, automatic: too short to share, run in place", "automatic", kernel::pair);
  step("3_post", "two empty iterations, dynamic,1: posted for all, but the caller is done before a helper comes",
       "dynamic,1", kernel::pair);
  return rows;
}

// The overhead of a short loop: its time beyond half of the serial time. M38.
measurement measure_overhead(context& tools, const std::string& program) {
  std::vector<std::string> notes;
  const comparison_plan plan{
      .which = kernel::small,
      .entries = {"trireme/automatic", "trireme/static", "trireme/dynamic,8", "trireme/serial", "openmp/static",
                  "openmp/dynamic,8", "openmp/guided", "tbb/static", "tbb/auto", "steps/node_queue",
                  "steps/simple_queue", "steps/recycled", "steps/micro_queue"},
      .learning = 60,
      .warm_up = 20,
      .loops = 50};
  const comparison_result result = run_comparison(plan, tools.runner().options(), program, notes);
  const comparison_entry& serial = result.entry("serial");
  const auto overhead_us = [&](const comparison_entry& entry) {
    return result.pairs(entry, serial,
                        [](double loop_ns, double serial_ns) { return (loop_ns - serial_ns / 2) / 1000; });
  };
  measurement made;
  made.values = overhead_us(result.entry(automatic));
  for (const comparison_entry& entry : result.entries()) {
    if (entry.name != automatic && entry.name != "serial")
      made.peers[entry.name] = summarize(overhead_us(entry)).median;
  }
  made.counts["serial us"] = result.median_ns(serial) / 1000;
  made.note = joined(notes);
  return made;
}

measurement measure_concurrent(context& tools, const std::string& program) {
  std::vector<std::string> notes;
  const comparison_plan plan{.which = kernel::concurrent,
                             .entries = {"trireme/automatic", "trireme/static", "trireme/dynamic,8", "openmp/static",
                                         "openmp/dynamic,8", "tbb/static", "tbb/auto", "trireme/serial"},
                             .learning = 50,
                             .warm_up = 2,
                             .loops = 20,
                             .batches_per_round = 4,
                             .disturbances_count = false};
  const comparison_result result = run_comparison(plan, tools.runner().options(), program, notes);
  measurement made = measurement_of(result, automatic, 1, "us", notes, false);
  // Two loops on two cores: no runtime can be faster than two threads with one loop each.
  judge_by(made, result, automatic, "serial", 1, "each thread alone with its loop");
  for (const comparison_entry& entry : result.entries()) {
    std::vector<double> differences;
    for (const batch_reply& reply : entry.rounds) differences.push_back(100 * reply.difference);
    made.counts["difference %, " + entry.name] = summarize(differences).median;
  }
  return made;
}

struct work_row {
  const char* name;
  const char* description;
  kernel which;
  std::uint32_t loops;
  std::size_t batches_per_round;
  const char* reference;  // the entry that the target is about
  double factor;          // of its time
  const char* reference_name;
  std::optional<double> target_ratio;
  bool noise = false;
};

measurement measure_work(context& tools, const std::string& program, const work_row& about) {
  std::vector<std::string> notes;
  std::optional<noise::core_injector> noise;
  if (about.noise) {
    using namespace std::chrono_literals;
    noise.emplace(noise::plan{.period = 10ms, .duration = 1ms, .together = true}, std::vector{two_cpus().second});
    notes.push_back("noise: 1 ms in every 10 ms on the second core, " + noise->priority());
  }
  const comparison_plan plan{.which = about.which,
                             .entries = all_entries(),
                             .learning = 40,
                             .warm_up = about.which == kernel::sweep_l2 || about.which == kernel::sweep_l3 ? 4U : 1U,
                             .loops = about.loops,
                             .batches_per_round = about.batches_per_round,
                             .disturbances_count = !about.noise};
  const comparison_result result = run_comparison(plan, tools.runner().options(), program, notes);
  measurement made = measurement_of(result, automatic, 1, "us", notes, false);
  judge_by(made, result, automatic, about.reference, about.factor, about.reference_name);
  if (about.factor != 1) made.limit = result.median_ns(result.entry(about.reference)) * about.factor / 1000;
  return made;
}

std::vector<row_definition> work_rows(const std::string& program) {
  const std::vector<work_row> described = {
      {"uniform", "10,000 iterations of about 1 us", kernel::uniform, 1, 4, "static", 1, "static", 1.005},
      {"linear", "10,000 iterations from 0 to 2 us", kernel::linear, 1, 4, "serial", 0.5, "ideal", 1.02},
      {"heavy_tail", "10,000 iterations, a few of them very long, mean 1 us", kernel::heavy_tail, 1, 4, "serial", 0.5,
       "ideal", std::nullopt},
      {"noise10", "as uniform, while another thread takes 1 ms of every 10 ms of a core", kernel::uniform, 4, 8,
       "serial", 1 / 1.9, "ideal", 1.03, true},
      {"sweep_l2", "five-point sweep over 1.5 MiB: half of it fits into a second-level cache", kernel::sweep_l2, 20, 2,
       "static", 1, "static", 1.02},
      {"sweep_l3", "five-point sweep over 16 MiB", kernel::sweep_l3, 4, 4, "static", 1, "static", std::nullopt},
      {"sweep_dram", "five-point sweep over 256 MiB", kernel::sweep_dram, 1, 8, "static", 1, "static", std::nullopt},
  };
  std::vector<row_definition> rows;
  for (const work_row& about : described) {
    rows.push_back({.name = std::string("loop/") + about.name + "/automatic",
                    .unit = "us",
                    .target_ratio = about.target_ratio,
                    .description = about.description,
                    .measure = [program, about](context& tools) { return measure_work(tools, program, about); }});
  }
  return rows;
}

}  // namespace

std::vector<row_definition> loop_rows(const std::string& program) {
  std::vector<row_definition> rows = cost_rows(program);
  rows.push_back({.name = "loop/overhead",
                  .unit = "us",
                  .target = 10,
                  .description = "200 iterations of 88 ns: the time beyond half of the serial time",
                  .measure = [program](context& tools) { return measure_overhead(tools, program); }});
  for (row_definition& row : work_rows(program)) rows.push_back(std::move(row));
  rows.push_back({.name = "loop/concurrent",
                  .unit = "us",
                  .description = "two threads of a program run loops of 1,000 iterations of 0.2 us at the same time",
                  .measure = [program](context& tools) { return measure_concurrent(tools, program); }});
  for (row_definition& row : kernel_rows(program)) rows.push_back(std::move(row));
  return rows;
}

}  // namespace tri::bench
