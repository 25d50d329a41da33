#include "sim/job_simulator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "loops/random_numbers.hpp"
#include "schedules/automatic_schedule.hpp"
#include "schedules/learning/fraction_record.hpp"
#include "schedules/loop_metrics.hpp"
#include "sim/region_simulator.hpp"
#include "trireme/slack.hpp"

namespace tri::sim {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw std::invalid_argument("job simulator: " + why); }

void check_job(const simulated_job& job) {
  const auto not_negative = [](const char* name, double value) {
    if (!(value >= 0.0) || !std::isfinite(value)) refuse(fmt::format("{} is {}; it must not be negative", name, value));
  };
  const auto share = [](const char* name, double value) {
    if (!(value >= 0.0 && value <= 1.0)) refuse(fmt::format("{} is {}; it must be between 0 and 1", name, value));
  };
  if (job.node_work.empty()) refuse("there are no nodes");
  for (const double work : job.node_work) not_negative("node_work", work);
  if (job.items == 0 || job.steps == 0) refuse("items and steps must be at least 1");
  not_negative("iteration_time", job.iteration_time);
  not_negative("claim_time", job.claim_time);
  not_negative("move_time", job.move_time);
  not_negative("noise_length", job.noise_length);
  share("unevenness", job.unevenness);
  share("hit_chance", job.hit_chance);
  share("latest_noise", job.latest_noise);
}

void check_schedule_of_job(const schedules::schedule& which) {
  check_schedule(which);
  const bool needs_more = which.weights || which.search || which.kind == schedules::schedule_kind::weighted ||
                          which.kind == schedules::schedule_kind::weighted_tasklets ||
                          (which.kind == schedules::schedule_kind::tasklets && which.tags) ||
                          which.kind == schedules::schedule_kind::user ||
                          (schedules::has_model(which.kind) && which.delay != schedules::delay_source::noise);
  if (needs_more) {
    refuse(
        fmt::format("'{}' needs speeds, tags, a search, or executions of its own, which are not simulated; there are "
                    "automatic, static, dynamic, guided, hybrid, staggered, static-hybrid, slack, combined ...",
                    to_text(which)));
  }
}

class node {
 public:
  node(const simulated_job& job, const schedules::schedule& which, double work)
      : job_(job),
        which_(which),
        work_(work),
        slack_({.by = job.slack_known ? slack::history::operation : slack::history::off}) {
    // Virtual times are exact: the limits of a real machine, in thousandths of an iteration, which is assumed to take a
    // microsecond.
    automatic_ = std::make_unique<schedules::automatic_schedule>(
        schedules::automatic_limits{.in_place = 0.0,
                                    .claim = job.iteration_time,
                                    .least_left = 2 * job.iteration_time,
                                    .most_left = 20 * job.iteration_time});
  }

  /// Runs the loop; until when, from the beginning of the step.
  double step(loops::random_numbers& random) {
    const schedules::loop_layout layout = next_layout();
    region what;
    what.claim_time = job_.claim_time;
    const double middle = static_cast<double>(job_.items) / 2.0;
    what.cost = [this, middle](std::uint64_t item) {
      return work_ * job_.iteration_time * (1.0 + job_.unevenness * ((static_cast<double>(item) + 0.5) / middle - 1.0));
    };
    what.last_owners = owners_;
    what.move_time = job_.move_time;
    const bool hit = random.fraction() < job_.hit_chance;
    const auto victim = static_cast<std::uint32_t>(random.below(job_.participants));
    const double moment = random.fraction();
    if (hit) {
      const double least = work_ * job_.iteration_time * static_cast<double>(job_.items) / job_.participants;
      what.noise.push_back({victim, moment * job_.latest_noise * least, job_.noise_length});
    }
    const region_run run = simulate(what, layout);
    learn(run);
    owners_ = run.owners(job_.items);
    moved = meter_.step(owners_);
    claims = run.claims();
    idle = run.idle_time();
    slack_.loop_ended(link_);
    return run.time;
  }
  void waited(double time) { slack_.waited({slack::operation_type("simulated collective"), 0, 0}, time); }

  double static_fraction() const { return static_fraction_; }
  std::uint64_t moved = 0;  // in the last step
  std::uint64_t claims = 0;
  double idle = 0.0;

 private:
  schedules::loop_layout next_layout() {
    if (which_.kind == schedules::schedule_kind::automatic)
      return *automatic_->next(job_.items, job_.participants).layout;
    schedules::layout_inputs known;
    static_fraction_ = which_.static_fraction;
    if (schedules::has_model(which_.kind)) {
      known.dynamic_fraction =
          fractions_.next(which_, job_.items, job_.participants, {job_.claim_time, job_.noise_length},
                          which_.kind == schedules::schedule_kind::static_hybrid ? 0.0 : slack_.before_loop(link_));
      static_fraction_ = 1.0 - known.dynamic_fraction;
    }
    return schedules::layout_of(which_, job_.items, job_.participants, known);
  }
  void learn(const region_run& run) {
    if (which_.kind == schedules::schedule_kind::automatic) {
      schedules::loop_times times(job_.items, job_.participants);
      for (const executed_part& part : run.parts) {
        times.record(static_cast<int>(part.participant), part.first, part.last,
                     static_cast<std::uint64_t>(std::llround(part.end - part.begin)));
      }
      automatic_->learn(times, static_cast<std::uint64_t>(std::llround(run.time)));
      return;
    }
    std::vector<double> times;
    std::vector<std::uint64_t> iterations;
    for (const participant_run& one : run.participants) {
      times.push_back(one.static_time);
      iterations.push_back(one.static_iterations);
    }
    fractions_.ended(times, iterations);
  }

  const simulated_job& job_;
  const schedules::schedule which_;
  const double work_;
  double static_fraction_ = 0.0;
  schedules::fraction_record fractions_;
  std::unique_ptr<schedules::automatic_schedule> automatic_;
  slack::predictor slack_;
  slack::loop_link link_;
  schedules::migration_meter meter_;
  std::vector<std::uint32_t> owners_;  // of the step before
};

}  // namespace

job_run simulate_job(const simulated_job& job, const schedules::schedule& which) {
  check_job(job);
  check_schedule_of_job(which);
  std::vector<std::unique_ptr<node>> nodes;
  for (const double work : job.node_work) nodes.push_back(std::make_unique<node>(job, which, work));
  loops::random_numbers random(job.seed);
  job_run result;
  double idle = 0.0, busy_or_idle = 0.0;
  for (std::uint32_t step = 0; step <= job.steps; ++step) {
    std::vector<double> ends;
    for (const auto& each : nodes) ends.push_back(each->step(random));
    const double last = *std::max_element(ends.begin(), ends.end());
    for (std::size_t index = 0; index < nodes.size(); ++index) nodes[index]->waited(last - ends[index]);
    if (step == 0) continue;
    result.step_times.push_back(last);
    for (std::size_t index = 0; index < nodes.size(); ++index) {
      result.claims_per_step += static_cast<double>(nodes[index]->claims);
      result.moved_per_step += static_cast<double>(nodes[index]->moved);
      idle += nodes[index]->idle;
      busy_or_idle += ends[index];
    }
  }
  const double of_nodes = static_cast<double>(job.steps) * static_cast<double>(nodes.size());
  result.claims_per_step /= of_nodes;
  result.moved_per_step /= of_nodes;
  result.idle_share = busy_or_idle > 0.0 ? idle / busy_or_idle : 0.0;
  result.step_time = std::accumulate(result.step_times.begin(), result.step_times.end(), 0.0) / job.steps;
  for (const auto& each : nodes) result.static_fractions.push_back(each->static_fraction());
  return result;
}

schedules::fraction_search ask_oracle(const simulated_job& job, schedules::schedule which, double increment) {
  if (!schedules::has_static_fraction(which.kind))
    refuse(fmt::format("'{}' has no static fraction to try; hybrid and staggered have one", to_text(which)));
  schedules::fraction_search search = schedules::fraction_search::everywhere({.step = increment, .trials = 1});
  while (const std::optional<double> fraction = search.next()) {
    which.static_fraction = *fraction;
    search.report(simulate_job(job, which).step_time);
  }
  return search;
}

}  // namespace tri::sim
