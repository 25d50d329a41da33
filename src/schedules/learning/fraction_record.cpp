#include "schedules/learning/fraction_record.hpp"

#include <algorithm>
#include <cmath>

namespace tri::schedules {
namespace {

double delay_to_plan_for(delay_source source, double noise, double application) {
  switch (source) {
    case delay_source::noise:
      return noise;
    case delay_source::application:
      return application;
    case delay_source::sum:
      return sum_of_delays(noise, application);
    case delay_source::larger:
      return larger_delay(noise, application);
  }
  return noise;
}

}  // namespace

double fraction_record::next(const schedule& which, std::uint64_t items, std::uint32_t participants,
                             const machine_costs& machine, double slack) {
  if (least_.size() != participants) {
    *this = {};
    least_.assign(participants, 0.0);
  }
  const double time = iteration_time();
  if (time == 0.0) return last_fraction_ = first_fraction;
  const std::uint64_t chunk =
      which.chunk != 0 ? which.chunk : std::max<std::uint64_t>(1, items / 64 / std::max(participants, 1u));
  const loop_costs costs{static_cast<double>(items), time, static_cast<double>(participants),
                         claim_time_per_iteration(machine.claim_time, chunk),
                         delay_to_plan_for(which.delay, machine.noise_delay, application_delay_)};
  const bool own_queues = which.kind == schedule_kind::combined;
  const fraction_policy policy{.sharp = which.sharp,
                               .claims = own_queues ? claim_order::parallel : claim_order::serial};
  const bool uses_slack = which.kind == schedule_kind::slack_conscious || own_queues;
  // Without slack the fraction is equation 4.4 as it is: equation 4.11 gives up all of it where claims are expensive.
  const double planned = uses_slack && slack > 0.0 ? planned_fraction(costs, slack, policy) : dynamic_fraction(costs);
  return last_fraction_ = worth_claiming(planned, costs, chunk);
}

void fraction_record::ended(std::span<const double> static_times, std::span<const std::uint64_t> static_iterations) {
  ++executions_;
  const std::size_t count = std::min({least_.size(), static_times.size(), static_iterations.size()});
  for (std::size_t index = 0; index < count; ++index) {
    if (static_iterations[index] == 0 || !(static_times[index] > 0.0) || !std::isfinite(static_times[index])) continue;
    const double time = static_times[index] / static_cast<double>(static_iterations[index]);
    if (least_[index] == 0.0 || time < least_[index]) least_[index] = time;
  }
}

double fraction_record::iteration_time() const {
  double sum = 0.0;
  std::size_t known = 0;
  for (const double time : least_) {
    sum += time;
    known += time > 0.0;
  }
  return known == 0 ? 0.0 : sum / static_cast<double>(known);
}

double fraction_record::region_time(std::uint64_t items) const {
  return least_.empty() ? 0.0 : static_cast<double>(items) * iteration_time() / static_cast<double>(least_.size());
}

}  // namespace tri::schedules
