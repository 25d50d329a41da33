#include "coll/cost_fit.hpp"

#include <algorithm>

namespace tri::coll {

const std::vector<cost_parameter>& all_cost_parameters() {
  static const std::vector<cost_parameter> all = {
      {"latency_ns", &cost_parameters::latency, "L of LogGP, between hosts"},
      {"overhead_ns", &cost_parameters::overhead, "o, of sender and receiver each"},
      {"gap_ns", &cost_parameters::gap, "g, between two messages of a rank"},
      {"per_byte_ns", &cost_parameters::per_byte, "G, of a host"},
      {"host_latency_ns", &cost_parameters::host_latency, "of a message inside a host"},
      {"signal_ns", &cost_parameters::signal, "until a rank of the host sees a signal"},
      {"copy_start_ns", &cost_parameters::copy_start, "of a copy or reduction"},
      {"copy_per_byte_ns", &cost_parameters::copy_per_byte, "of a copy"},
      {"reduce_per_byte_ns", &cost_parameters::reduce_per_byte, "of a sum of doubles"}};
  return all;
}

fitted_line fit_line(const std::map<double, double>& times) {
  // Weighted least squares with weights 1 / time^2.
  double weights = 0.0, x = 0.0, y = 0.0, xx = 0.0, xy = 0.0;
  for (const auto& [bytes, time] : times) {
    if (time <= 0.0) continue;
    const double weight = 1.0 / (time * time);
    weights += weight;
    x += weight * bytes;
    y += weight * time;
    xx += weight * bytes * bytes;
    xy += weight * bytes * time;
  }
  const double spread = weights * xx - x * x;
  // Sizes that are all the same tell nothing of a slope.
  const double per_byte = spread > 1e-9 * weights * xx ? (weights * xy - x * y) / spread : 0.0;
  if (per_byte <= 0.0) return {.start = y / weights, .per_byte = 0.0};
  const double start = (y - per_byte * x) / weights;
  if (start >= 0.0) return {start, per_byte};
  return {.start = 0.0, .per_byte = xy / xx};
}

fitted_costs fit_costs(const cost_measurements& measured) {
  fitted_costs made;
  cost_parameters& costs = made.costs;
  const auto missing = [&](std::initializer_list<std::string_view> names) {
    made.assumed.insert(made.assumed.end(), names);
  };
  if (measured.send_call)
    costs.overhead = *measured.send_call;
  else
    missing({"overhead_ns"});
  if (measured.burst && measured.burst_of_one && measured.burst_messages > 1)
    // No rank sends faster than it can call.
    costs.gap = std::max((*measured.burst - *measured.burst_of_one) / (measured.burst_messages - 1), costs.overhead);
  else
    missing({"gap_ns"});
  if (!measured.between_hosts.empty()) {
    const fitted_line way = fit_line(measured.between_hosts);
    costs.latency = std::max(way.start - 2 * costs.overhead, 0.0);
    costs.per_byte = way.per_byte;
  } else {
    missing({"latency_ns", "per_byte_ns"});
  }
  if (!measured.copies.empty()) {
    const fitted_line copy = fit_line(measured.copies);
    costs.copy_start = copy.start;
    costs.copy_per_byte = copy.per_byte;
  } else {
    missing({"copy_start_ns", "copy_per_byte_ns"});
  }
  if (!measured.reductions.empty())
    costs.reduce_per_byte = fit_line(measured.reductions).per_byte;
  else
    missing({"reduce_per_byte_ns"});
  // What a message inside a host takes beside the copy by its receiver.
  if (!measured.inside_host.empty())
    costs.host_latency = std::max(fit_line(measured.inside_host).start - costs.copy_start, 0.0);
  else
    missing({"host_latency_ns"});
  if (measured.signal)
    costs.signal = *measured.signal;
  else
    missing({"signal_ns"});
  return made;
}

}  // namespace tri::coll
