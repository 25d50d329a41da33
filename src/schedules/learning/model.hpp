// How much of a loop has to be dynamic to hide a delay of one participant: the equations of V. Kale, PhD dissertation,
// Illinois 2015, chapters 4 and 6, with its errors corrected (noted at each). Pure functions of numbers; times in any
// unit, the same for all.
#pragma once

#include <cstdint>

namespace tri::schedules {

/// The model's knowledge of a loop. NaN and negative values count as 0.
struct loop_costs {
  double iterations = 0.0;      ///< N, of all participants
  double iteration_time = 0.0;  ///< t_1, on one core
  double participants = 1.0;    ///< p
  double claim_time = 0.0;      ///< q, per iteration: of a claim, divided by its iterations (claim_time_per_iteration)
  double delay = 0.0;           ///< delta, of one participant in one execution

  double region_time() const { return participants > 0.0 ? iterations * iteration_time / participants : 0.0; }  ///< T_p
};

/// q of an iteration when a claim takes `chunk` of them.
double claim_time_per_iteration(double claim_time, std::uint64_t chunk);

/// Equation 4.2: claims cost nothing. p * delta / (N * t_1), between 0 and 1; 0 when there is nothing to plan for.
double dynamic_fraction_without_cost(const loop_costs& costs);
/// Equation 4.4: p * delta / (N * (t_1 + q)), between 0 and 1.
double dynamic_fraction(const loop_costs& costs);
/// The least that suffices: (p - 1) in the place of p. Only with the sharp rule, see fraction_policy.
double least_dynamic_fraction(const loop_costs& costs);

/// How serial claims are: of one pool, one after the other; of queues of the participants, side by side.
enum class claim_order : std::uint8_t { serial, parallel };

/// Equation 4.5, eta: extra time of the region by the delay and the claims. Somewhat pessimistic: the best possible is
/// delta / p, because the participant that was hit shares in the catching up.
double extra_time(const loop_costs& costs, double fraction);
/// Equation 4.7, tau: work (of one core) that moves to the static part when the fraction falls by `less`.
double moved_work(const loop_costs& costs, double less);
/// Equation 4.8: how much later the region ends for it when the delay comes.
double extra_time_of_moving(const loop_costs& costs, double less, claim_order claims = claim_order::serial);

/// Equation 4.11: the fraction when `slack` may be used up. Corrected: never below 0 (printed: never above), and 0 when
/// claims cost so much that the denominator is not positive.
double reduced_by_slack(const loop_costs& costs, double fraction, double slack,
                        claim_order claims = claim_order::serial);
/// The sharp rule: fraction - slack / T_p. Exact for one delay at the beginning and equal iterations.
double reduced_by_slack_sharply(const loop_costs& costs, double fraction, double slack);

/// `fraction`, or 0 when the dynamic part is less than one chunk per participant: then it is not worth a claim.
double worth_claiming(double fraction, const loop_costs& costs, std::uint64_t chunk);

/// Which equations go together. The least fraction with the careful rule is refused: in that rule's error the surplus
/// of equation 4.4 is needed (with p = 2 and q > 0 the region would end too late).
struct fraction_policy {
  bool least = false;                        ///< the (p - 1) form instead of equation 4.4
  bool sharp = false;                        ///< the sharp rule instead of equation 4.11
  claim_order claims = claim_order::serial;  ///< for equation 4.11
};
/// Throws std::invalid_argument, see fraction_policy.
void check_policy(const fraction_policy& policy);
/// The fraction of one execution. Throws as check_policy.
double planned_fraction(const loop_costs& costs, double slack, const fraction_policy& policy = {});

/// delta_app: the imbalance of uneven iterations, from one static and one dynamic execution. The dynamic one contains
/// the claims (`claims_of_one` of each participant), so they are subtracted from it; `as_printed` subtracts them from
/// the result instead. Never negative.
double application_delay(double static_time, double dynamic_time, double claims_of_one, double claim_time,
                         bool as_printed = false);
/// The delay to plan for: both at once on the same participant, or on two.
double sum_of_delays(double noise, double application);
double larger_delay(double noise, double application);

}  // namespace tri::schedules
