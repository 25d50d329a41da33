#include "schedules/learning/learning_schedule.hpp"

#include <algorithm>

#include "os/clock.hpp"
#include "schedules/learning/model.hpp"
#include "schedules/user_schedule.hpp"

namespace tri::schedules {
namespace {

constexpr std::uint64_t executions_before_search = 5;

// The cost of uneven iterations is measured by a static execution and a dynamic one, which come first.
bool plans_for_application(const schedule& which) {
  return has_model(which.kind) && which.delay != delay_source::noise;
}

}  // namespace

bool learning_schedule::learns_weights() const {
  return wanted_.weights || wanted_.kind == schedule_kind::weighted || wanted_.kind == schedule_kind::weighted_tasklets;
}

void learning_schedule::forget(const schedule& which, std::uint64_t items, std::uint32_t participants) {
  const bool same_team = wanted_ == which && participants_ == participants;
  wanted_ = which;
  items_ = items;
  participants_ = participants;
  tasklet_owners_.clear();
  last_times_.clear();
  if (same_team) return;  // another length: speeds and times of an iteration stay
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
  slack_ = uses_slack ? slack::of_this_process().before_loop(link_) : 0.0;
  return fractions_.next(wanted_, items_, participants, machine, slack_ > 0.0 ? slack_ / os::ns_per_tick() : 0.0);
}

learning_schedule::decision learning_schedule::next(const schedule& which, std::uint64_t items,
                                                    std::uint32_t participants, const machine_costs& (*machine)(),
                                                    std::uint32_t claimers) {
  const bool changed = which != wanted_ || items != items_ || participants != participants_;
  if (changed) forget(which, items, participants);
  const std::uint64_t number = executions_++;
  const bool modelled = has_model(which.kind);
  const bool planned_anew = which.kind == schedule_kind::user && plans_every_time(which.user);
  const bool learns = modelled || learns_weights() || search_.has_value() || planned_anew;
  const bool remembers_tasklets = layout_.tasklets > 0 && which.tags;
  if (!changed && !learns && !remembers_tasklets) return {&layout_, false, nullptr};

  participants_ = 0;  // until there is a layout: an exception below must not leave another loop's layout
  layout_inputs known;
  known.claimers = claimers;
  if (weights_.has_value()) known.weights = weights_->weights();
  known.last_owners = tasklet_owners_;
  if (planned_anew) known.last = last_times_;
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
  ++revision_;
  tasklet_owners_.resize(layout_.tasklets, no_owner);
  return {&layout_, learns, layout_.tasklets > 0 ? tasklet_owners_.data() : nullptr};
}

std::string learning_schedule::slack_comes_from() const {
  const std::optional<slack::operation> found = slack::of_this_process().after(link_);
  return found.has_value() ? slack::operation_name(found->type) : std::string();
}

void learning_schedule::remember_owners(std::span<const std::uint32_t> owners) {
  // The owners of unreported tasklets are unknown.
  for (std::size_t tasklet = 0; tasklet < std::min(owners.size(), tasklet_owners_.size()); ++tasklet)
    if (owners[tasklet] != no_owner) tasklet_owners_[tasklet] = owners[tasklet];
}

void learning_schedule::learn(const loop_times& times, std::uint64_t elapsed) {
  if (wanted_.kind == schedule_kind::user) {
    last_times_.assign(participants_, {});
    for (std::uint32_t number = 0; number < participants_; ++number) {
      const loop_times::participant_times& own = times.participants()[number];
      last_times_[number] = {static_cast<double>(own.busy) * os::ns_per_tick() * 1e-9, own.iterations};
    }
    return;
  }
  if (search_.has_value() && !search_->over()) search_->report(static_cast<double>(elapsed));
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
  // The static section of each participant is the first it claims. The participant with the last iteration of a fetched
  // loop gets that one separately (worksharing_loop.hpp), so the section may be shorter by a chunk.
  std::vector<double> static_times(participants_, 0.0);
  std::vector<std::uint64_t> static_iterations(participants_, 0);
  for (std::uint32_t number = 0; number < participants_ && number < layout_.ranges.size(); ++number) {
    const board::participant_range& range = layout_.ranges[number];
    const loop_times::participant_times& own = times.participants()[number];
    if (range.static_share == 0 || !layout_.in_order()) continue;
    const std::uint32_t last_chunk = range.first + range.static_share - 1;
    const std::uint64_t begin = layout_.first_item(range.first);
    const std::uint64_t end = own.first_iteration + own.first_iterations;
    if (own.first_iteration != begin || own.first_iterations == 0) continue;
    if (end != layout_.last_item(last_chunk) && end != layout_.first_item(last_chunk)) continue;
    static_times[number] = static_cast<double>(own.first_ticks);
    static_iterations[number] = own.first_iterations;
  }
  if (weights_.has_value()) weights_->measured(static_times, static_iterations);
  if (has_model(wanted_.kind)) {
    fractions_.ended(static_times, static_iterations);
    slack::of_this_process().loop_ended(link_);
  }
}

}  // namespace tri::schedules
