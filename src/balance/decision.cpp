#include "balance/decision.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace tri::balancing {
namespace {

void check_time(const char* name, double value) {
  if (!(std::isfinite(value) && value >= 0.0))
    throw std::invalid_argument(fmt::format("{} is {}; it must be finite and not negative", name, value));
}

}  // namespace

balance_decision::balance_decision(const decision_options& options)
    : options_(options), cost_ns_(options.first_cost_ns) {
  check_time("first_cost_ns", options.first_cost_ns);
  if (!(options.smoothing > 0.0 && options.smoothing <= 1.0))
    throw std::invalid_argument(fmt::format("smoothing is {}; it must be above 0 and at most 1", options.smoothing));
}

void balance_decision::add_iteration(double longest_ns, double level_ns) {
  check_time("longest_ns", longest_ns);
  check_time("level_ns", level_ns);
  level_ns = std::min(level_ns, longest_ns);
  ++iterations_;
  if (is_after_balancing_ && level_ns > 0.0) {
    const double reached = longest_ns / level_ns;
    reachable_ = has_reachable_ ? reachable_ + options_.smoothing * (reached - reachable_) : reached;
    has_reachable_ = true;
  }
  is_after_balancing_ = false;
  const double loss = std::max(longest_ns - reachable_ * level_ns, 0.0);
  loss_ns_ = iterations_ == 1 ? loss : loss_ns_ + options_.smoothing * (loss - loss_ns_);
  lost_ns_ += loss;
}

verdict balance_decision::decide(std::optional<std::int64_t> to_come) const {
  if (loss_ns_ <= 0.0) return verdict::no_loss;
  if (lost_ns_ < cost_ns_) return verdict::too_early;
  if (to_come && loss_ns_ * static_cast<double>(*to_come) <= cost_ns_) return verdict::too_few_to_come;
  return verdict::balance;
}

void balance_decision::add_balancing(double cost_ns) {
  check_time("cost_ns", cost_ns);
  cost_ns_ = has_cost_ ? cost_ns_ + options_.smoothing * (cost_ns - cost_ns_) : cost_ns;
  has_cost_ = true;
  is_after_balancing_ = true;
  lost_ns_ = loss_ns_ = 0.0;
  iterations_ = 0;
}

bool balance_decision::pays(const quality& before, const quality& after, double per_object_ns, double per_byte_ns,
                            std::int32_t migrating_pes, std::optional<std::int64_t> to_come) const {
  const double moving = (per_object_ns * static_cast<double>(after.moved_objects) +
                         per_byte_ns * static_cast<double>(after.moved_bytes)) /
                        std::max(migrating_pes, 1);
  // A snapshot has the loads of all iterations since the last balancing.
  const auto measured = static_cast<double>(std::max<std::int64_t>(iterations_, 1));
  const double gain = (before.longest_ns - after.longest_ns) / measured;
  return gain * static_cast<double>(to_come.value_or(iterations_)) > moving;
}

}  // namespace tri::balancing
