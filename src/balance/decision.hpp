// *When* to balance: gain against cost. A pure model that is fed with what was measured; no clock. One owner, one
// thread.
//
// Of each iteration it learns the time of the PE that took longest and the level, which is what perfect balance would
// take. Balancing does not reach the level: how near it came is measured after each balancing, and what lies above that
// is the *loss* of an iteration. Loads persist (principle of persistence): the loss of the next iterations is that of
// the last ones, until it is measured again.
//
// The rule: balance when the losses since the last balancing add up to its cost, and the iterations to come will pay
// for it. Where imbalance grows evenly, by g in each iteration, that is after sqrt(2 cost / g) iterations, the period
// with the least loss and cost together; where it stays as it is, no more than twice the cost of who knew before is
// lost.
#pragma once

#include <cstdint>
#include <optional>

#include "trireme/detail/balance/loads.hpp"

namespace tri::balancing {

struct decision_options {
  double first_cost_ns = 1e6;  ///< of balancing, until one was measured
  double smoothing = 0.5;      ///< how much a newly measured value counts, above 0 and up to 1
};

/// Why it is time, or not.
enum class verdict : std::uint8_t {
  balance,
  no_loss,         ///< times are as near the level as balancing brings them
  too_early,       ///< losses do not pay for balancing yet
  too_few_to_come  ///< the iterations that are left would not pay for it
};

class balance_decision {
 public:
  /// Throws std::invalid_argument for a value out of its range.
  explicit balance_decision(const decision_options& options = {});

  /// After each iteration. `level_ns` is at most `longest_ns`. Throws std::invalid_argument for times that are not
  /// finite or negative.
  void add_iteration(double longest_ns, double level_ns);

  /// `to_come`: iterations until the end, where that is known.
  verdict decide(std::optional<std::int64_t> to_come = std::nullopt) const;

  /// After a balancing that took `cost_ns` in all: deciding, and moving. Losses begin at zero again, and the next
  /// iteration shows how near to the level it came.
  void add_balancing(double cost_ns);

  /// Is it worth to carry out a strategy's moves? `per_object_ns` and `per_byte_ns`: measured costs of migrations,
  /// which `migrating_pes` make at the same time. True: the gain of the iterations to come is more. Unknown `to_come`:
  /// as many as the loads have persisted, which is the iterations since the last balancing.
  bool pays(const quality& before, const quality& after, double per_object_ns, double per_byte_ns,
            std::int32_t migrating_pes, std::optional<std::int64_t> to_come = std::nullopt) const;

  double lost_ns() const { return lost_ns_; }              ///< since the last balancing
  double cost_ns() const { return cost_ns_; }              ///< of a balancing, as known now
  double reachable() const { return reachable_; }          ///< longest time by level that balancing brings
  double loss_ns() const { return loss_ns_; }              ///< of an iteration, as predicted
  std::int64_t iterations() const { return iterations_; }  ///< since the last balancing

 private:
  decision_options options_;
  double cost_ns_;
  bool has_cost_ = false;
  double reachable_ = 1.0;
  bool has_reachable_ = false;
  bool is_after_balancing_ = false;
  double lost_ns_ = 0.0;
  double loss_ns_ = 0.0;
  std::int64_t iterations_ = 0;
};

}  // namespace tri::balancing
