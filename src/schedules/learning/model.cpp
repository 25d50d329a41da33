#include "schedules/learning/model.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace tri::schedules {
namespace {

double positive(double value) { return value > 0.0 ? value : 0.0; }  // also for NaN

double share(double value) { return value > 0.0 ? std::min(value, 1.0) : 0.0; }

loop_costs guarded(const loop_costs& costs) {
  return {positive(costs.iterations), positive(costs.iteration_time), positive(costs.participants),
          positive(costs.claim_time), positive(costs.delay)};
}

// factor * delta / (N * (t_1 + q))
double needed(const loop_costs& given, double factor, bool with_claims) {
  const loop_costs costs = guarded(given);
  const double work = costs.iterations * (costs.iteration_time + (with_claims ? costs.claim_time : 0.0));
  if (costs.participants < 2.0 || costs.iteration_time == 0.0 || work == 0.0) return 0.0;
  return share(factor * costs.delay / work);
}

double claims_of(const loop_costs& costs, claim_order claims) {
  return costs.iterations * costs.claim_time / (claims == claim_order::serial ? 1.0 : costs.participants);
}

}  // namespace

double claim_time_per_iteration(double claim_time, std::uint64_t chunk) {
  return positive(claim_time) / static_cast<double>(std::max<std::uint64_t>(chunk, 1));
}

double dynamic_fraction_without_cost(const loop_costs& costs) { return needed(costs, costs.participants, false); }
double dynamic_fraction(const loop_costs& costs) { return needed(costs, costs.participants, true); }
double least_dynamic_fraction(const loop_costs& costs) { return needed(costs, costs.participants - 1.0, true); }

double extra_time(const loop_costs& given, double fraction) {
  const loop_costs costs = guarded(given);
  if (costs.participants < 2.0) return costs.delay;
  return costs.delay / (costs.participants - 1.0) + fraction * costs.iterations * costs.claim_time / costs.participants;
}

double moved_work(const loop_costs& given, double less) {
  const loop_costs costs = guarded(given);
  return costs.iterations * costs.iteration_time * less;
}

double extra_time_of_moving(const loop_costs& given, double less, claim_order claims) {
  const loop_costs costs = guarded(given);
  if (costs.participants < 1.0) return 0.0;
  const double moved = moved_work(costs, less);
  return moved - moved / costs.participants - less * claims_of(costs, claims);
}

double reduced_by_slack(const loop_costs& given, double fraction, double slack, claim_order claims) {
  const loop_costs costs = guarded(given);
  // From equation 4.8: what moving the whole loop would cost.
  const double of_all = (costs.participants - 1.0) * costs.region_time() - claims_of(costs, claims);
  if (!(of_all > 0.0)) return 0.0;
  return share(fraction - positive(slack) / of_all);
}

double reduced_by_slack_sharply(const loop_costs& given, double fraction, double slack) {
  const loop_costs costs = guarded(given);
  if (!(costs.region_time() > 0.0)) return 0.0;
  return share(fraction - positive(slack) / costs.region_time());
}

double worth_claiming(double fraction, const loop_costs& given, std::uint64_t chunk) {
  const loop_costs costs = guarded(given);
  return fraction * costs.iterations < costs.participants * static_cast<double>(chunk) ? 0.0 : fraction;
}

void check_policy(const fraction_policy& policy) {
  if (policy.least && !policy.sharp) {
    throw std::invalid_argument(
        "dynamic fraction: the least fraction ((p-1) form) and the careful slack rule (equation 4.11) do not go "
        "together: the region would end later than the slack allows; take equation 4.4 with it, or the sharp rule");
  }
}

double planned_fraction(const loop_costs& costs, double slack, const fraction_policy& policy) {
  check_policy(policy);
  const double full = policy.least ? least_dynamic_fraction(costs) : dynamic_fraction(costs);
  return policy.sharp ? reduced_by_slack_sharply(costs, full, slack)
                      : reduced_by_slack(costs, full, slack, policy.claims);
}

double application_delay(double static_time, double dynamic_time, double claims_of_one, double claim_time,
                         bool as_printed) {
  const double overhead = positive(claims_of_one) * positive(claim_time);
  return positive(static_time - dynamic_time + (as_printed ? -overhead : overhead));
}

double sum_of_delays(double noise, double application) { return positive(noise) + positive(application); }
double larger_delay(double noise, double application) { return std::max(positive(noise), positive(application)); }

}  // namespace tri::schedules
