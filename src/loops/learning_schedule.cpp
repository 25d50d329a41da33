#include "loops/learning_schedule.hpp"

#include <algorithm>

#include "host/clock.hpp"
#include "loops/calibration.hpp"
#include "loops/loop_record.hpp"
#include "loops/model.hpp"
#include "loops/noise.hpp"

namespace tri::loops {
namespace {

constexpr std::uint64_t executions_before_search = 5;

// What uneven iterations cost is seen by a static execution and a dynamic one, which come first.
bool plans_for_application(const schedule& which) {
  return has_model(which.kind) && which.delay != delay_source::noise;
}

}  // namespace

bool learning_schedule::learns_weights() const {
  return wanted_.weights || wanted_.kind == schedule_kind::weighted || wanted_.kind == schedule_kind::weighted_tasklets;
}

void learning_schedule::forget(const schedule& which, std::uint64_t items, std::uint32_t participants) {
  const bool same_crew = wanted_ == which && participants_ == participants;
  wanted_ = which;
  items_ = items;
  participants_ = participants;
  tasklet_owners_.clear();
  if (same_crew) return;  // another length: speeds and times of an iteration stay
  executions_ = 0;
  weights_.reset();
  if (learns_weights()) weights_.emplace(participants);
  fractions_ = {};
  search_.reset();
  if (which.search && !has_model(which.kind)) search_ = fraction_search::everywhere();
}

double learning_schedule::fraction_of_model(const machine_costs& machine, std::uint32_t participants) {
  const bool uses_slack = wanted_.kind == schedule_kind::slack_conscious || wanted_.kind == schedule_kind::combined;
  // Slack is kept in nanoseconds.
  const double slack = uses_slack ? slack::of_this_process().before_loop(link_) / host::ns_per_tick() : 0.0;
  return fractions_.next(wanted_, items_, participants, machine, slack);
}

learning_schedule::decision learning_schedule::next(const schedule& which, std::uint64_t items,
                                                    std::uint32_t participants, const machine_costs& (*machine)(),
                                                    std::uint32_t claimers) {
  const bool changed = which != wanted_ || items != items_ || participants != participants_;
  if (changed) forget(which, items, participants);
  const std::uint64_t number = executions_++;
  const bool modelled = has_model(which.kind);
  const bool learns = modelled || learns_weights() || search_.has_value();
  const bool remembers_tasklets = layout_.tasklets > 0 && which.tags;
  if (!changed && !learns && !remembers_tasklets) return {&layout_, false, nullptr};

  participants_ = 0;  // until there is a layout: what is thrown below must not leave the one of another loop
  layout_inputs known;
  known.claimers = claimers;
  if (weights_.has_value()) known.weights = weights_->weights();
  known.last_owners = tasklet_owners_;
  schedule laid_out = which;
  static_fraction_ = which.static_fraction;
  if (modelled) {
    known.dynamic_fraction = fraction_of_model(machine(), participants);
    claim_time_ = machine().claim_time;
  }
  if (modelled && plans_for_application(which) && number < 2) {
    laid_out = {.kind = number == 0 ? schedule_kind::static_blocks : schedule_kind::dynamic};
  } else if (modelled) {
    if (which.search && number >= executions_before_search && !search_.has_value())
      search_ = fraction_search::near(1.0 - known.dynamic_fraction);
    if (search_.has_value()) known.dynamic_fraction = 1.0 - search_->next().value_or(search_->best());
    static_fraction_ = 1.0 - known.dynamic_fraction;
  } else if (search_.has_value()) {
    laid_out.static_fraction = static_fraction_ = search_->next().value_or(search_->best());
  }
  layout_ = layout_of(laid_out, items, participants, known);
  participants_ = participants;
  tasklet_owners_.resize(layout_.tasklets, no_owner);
  return {&layout_, learns, layout_.tasklets > 0 ? tasklet_owners_.data() : nullptr};
}

void learning_schedule::learn(const loop_times& times, std::uint64_t elapsed) {
  if (search_.has_value() && !search_->over()) search_->told(static_cast<double>(elapsed));
  if (plans_for_application(wanted_) && executions_ <= 2) {
    if (executions_ == 1) {
      static_trial_ = static_cast<double>(elapsed);
    } else {
      const double claims = static_cast<double>(layout_.chunks()) / participants_;
      fractions_.set_application_delay(
          application_delay(static_trial_, static_cast<double>(elapsed), claims, claim_time_));
    }
    return;
  }
  // The static section of each participant is the first it claims.
  std::vector<double> static_times(participants_, 0.0);
  std::vector<std::uint64_t> static_iterations(participants_, 0);
  for (std::uint32_t number = 0; number < participants_ && number < layout_.ranges.size(); ++number) {
    const board::participant_range& range = layout_.ranges[number];
    const loop_times::participant_times& own = times.participants()[number];
    if (range.static_share == 0 || !layout_.in_order()) continue;
    const std::uint64_t iterations =
        layout_.last_item(range.first + range.static_share - 1) - layout_.first_item(range.first);
    if (own.first_iteration != layout_.first_item(range.first) || own.first_iterations != iterations) continue;
    static_times[number] = static_cast<double>(own.first_ticks);
    static_iterations[number] = iterations;
  }
  if (weights_.has_value()) weights_->measured(static_times, static_iterations);
  if (has_model(wanted_.kind)) {
    fractions_.ended(static_times, static_iterations);
    slack::of_this_process().loop_ended(link_);
  }
}

const machine_costs& costs_of_this_machine() {
  static const machine_costs measured = [] {
    machine_costs costs;
    crew_member* const me = this_crew_member();
    const std::uint32_t participants = me != nullptr ? me->participants() : 1;
    // As a loop inside a loop: the others need not come, for they may be waiting for these numbers.
    if (me != nullptr) ++me->depth;
    // Claims: an empty loop, chunk by chunk and in blocks.
    const auto time_of = [&](const schedule& which) {
      constexpr std::uint64_t iterations = 5000;
      loop_call call([](const void*, std::uint64_t, std::uint64_t, int) {}, nullptr, 0);
      const std::uint64_t began = host::ticks();
      run_loop(call, iterations, which, nullptr);
      return std::pair(static_cast<double>(host::ticks() - began), iterations);
    };
    const schedule dynamic{.kind = schedule_kind::dynamic, .chunk = 1};
    const schedule blocks{.kind = schedule_kind::static_blocks};
    costs.claim_time = calibrate(
                           [&] {
                             const auto [claimed, claims] = time_of(dynamic);
                             return claim_time_of(claimed, time_of(blocks).first, participants, claims);
                           },
                           fewest_trials, 1.0)
                           .value;
    // Noise: a quantum of some ten microseconds. The extremes are one accident; the 99.9th of a hundred is an event.
    volatile double value = 2.0;
    const core_samples samples = record_quanta(
        -1, 2000,
        [&] {
          double root = value;
          for (int i = 0; i < 3000; ++i) root = root * 0.5 + 1.0 / root;
          value = root;
        },
        [] { return static_cast<double>(host::ticks()); });
    costs.noise_delay = delay_by_percentile(samples.times, 99.9);
    if (me != nullptr) --me->depth;
    return costs;
  }();
  return measured;
}

}  // namespace tri::loops
