// The benefit of schedules on machines not available here: 8 nodes of 16 cores that wait for each other after every
// loop, with noise. Everything is computed, not measured, so figures have no spread and change with the code alone.
#include "loop_model/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "sim/job_simulator.hpp"

namespace tri::bench {
namespace {

using namespace schedules;
using namespace sim;

struct described_job {
  const char* name;
  const char* description;
  double unequal_nodes;  // each node has this much less work than the one before
  double unevenness;     // of iterations
};

constexpr described_job jobs[] = {
    {"even", "equal nodes and iterations", 0.0, 0.0},
    {"unequal_nodes", "nodes with 100 %, 97 %, ... of the work: seven of eight have slack", 0.03, 0.0},
    {"uneven_loop", "the same, and iterations that cost from 80 % to 120 %", 0.03, 0.2},
};

simulated_job job_of(const described_job& about) {
  simulated_job job;
  job.items = 3200;
  job.steps = 60;
  job.iteration_time = 1000.0;  // ns
  job.claim_time = 60.0;
  job.move_time = 150.0;
  job.hit_chance = 0.15;
  job.noise_length = 60000.0;
  job.latest_noise = 0.6;
  job.unevenness = about.unevenness;
  job.node_work.clear();
  for (int number = 0; number < 8; ++number) job.node_work.push_back(1.0 - about.unequal_nodes * number);
  return job;
}

double microseconds(const simulated_job& job, const std::string& text) {
  return simulate_job(job, parse_schedule(text)).step_time / 1000.0;
}

// K63: the fraction from model and slack against the best constant one, found by an oracle.
measurement compare_with_oracle(const simulated_job& job) {
  measurement made;
  double best = 0.0;
  for (const char* kind : {"hybrid", "staggered"}) {
    schedule which = parse_schedule(kind);
    which.static_fraction = std::round(ask_oracle(job, which).best() * 100.0) / 100.0;
    const std::string text = to_text(which);
    made.peers[text] = microseconds(job, text);
    best = best == 0.0 ? made.peers[text] : std::min(best, made.peers[text]);
  }
  for (const char* text : {"static", "dynamic,8", "guided", "static-hybrid", "slack", "slack,rule=sharp", "automatic",
                           "combined,rule=sharp"})
    made.peers[text] = microseconds(job, text);
  const double own = microseconds(job, "combined");
  made.samples.operation_ns = {own * 1000.0};
  made.reference = comparison{"best constant fraction", {own / best}};
  return made;
}

// K95: what each part of the composed schedule brings against static, and all of them.
measurement compare_gains(const simulated_job& job) {
  simulated_job without_slack = job;
  without_slack.slack_known = false;
  const double base = microseconds(job, "static");
  const auto gain = [&](double time) { return 100.0 * (base / time - 1.0); };
  measurement made;
  made.values = {gain(microseconds(job, "combined"))};
  const double slack = gain(microseconds(job, "slack"));
  const double staggered = gain(microseconds(without_slack, "combined"));
  made.peers = {{"model alone", gain(microseconds(job, "static-hybrid"))},
                {"with slack", slack},
                {"with staggering", staggered},
                {"sum of both", slack + staggered}};
  return made;
}

// K74: the same fraction from bands with neighbour stealing and from one pool.
measurement compare_layouts(const simulated_job& job) {
  const job_run bands = simulate_job(job, parse_schedule("staggered,0.5"));
  const job_run pool = simulate_job(job, parse_schedule("hybrid,0.5"));
  measurement made;
  made.samples.operation_ns = {bands.step_time};
  made.peers = {{"hybrid,0.5", pool.step_time / 1000.0}, {"static", microseconds(job, "static")}};
  made.counts = {{"moved iterations, staggered,0.5", bands.moved_per_step},
                 {"moved iterations, hybrid,0.5", pool.moved_per_step}};
  made.reference = comparison{"static", {bands.step_time / 1000.0 / made.peers.at("static")}};
  return made;
}

}  // namespace

std::vector<row_definition> loop_model_rows() {
  std::vector<row_definition> rows;
  const auto add = [&](const char* what, const char* unit, better direction, std::optional<double> target_ratio,
                       const char* description, measurement (*measure)(const simulated_job&)) {
    for (const described_job& about : jobs) {
      rows.push_back({.name = fmt::format("model/{}/{}", what, about.name),
                      .unit = unit,
                      .direction = direction,
                      .target_ratio = target_ratio,
                      .handoffs = 0,
                      .description = fmt::format("{}; {}", description, about.description),
                      .measure = [job = job_of(about), measure](context&) { return measure(job); }});
    }
  };
  add("oracle", "us", better::lower, 1.01,
      "a step by `combined` beside constant fractions, of which the best are named", compare_with_oracle);
  add("gains", "%", better::higher, std::nullopt, "how much faster than static `combined` is, and its parts are",
      compare_gains);
  add("staggered", "us", better::lower, 0.95, "a step by `staggered,0.5` beside `hybrid,0.5` and `static`",
      compare_layouts);
  return rows;
}

}  // namespace tri::bench
