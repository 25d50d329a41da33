// The parameters of the cost model from times that were measured. Pure functions of their arguments.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "coll/cost_parameters.hpp"

namespace tri::coll {

/// A parameter by its name in files and tables, and what it is.
struct cost_parameter {
  std::string_view name;  ///< "latency_ns"
  double cost_parameters::*value;
  std::string_view meaning;
};
const std::vector<cost_parameter>& all_cost_parameters();

/// Nanoseconds, by bytes where they depend on them; what is missing was not measured.
struct cost_measurements {
  std::map<double, double> between_hosts;  ///< half of a round trip
  std::map<double, double> inside_host;    ///< the same
  std::optional<double> send_call;         ///< how long a rank is busy with sending a few bytes to another host
  std::optional<double> burst_of_one;      ///< a message to another host, and its answer
  std::optional<double> burst;             ///< the same for `burst_messages` in a row, which one answer ends
  double burst_messages = 64;
  std::optional<double> signal;
  std::map<double, double> copies;
  std::map<double, double> reductions;
};

struct fitted_costs {
  cost_parameters costs;
  std::vector<std::string_view> assumed;  ///< names of those that were not measured and are what they were
};

fitted_costs fit_costs(const cost_measurements& measured);

/// start + bytes * per_byte, the sum of the squares of whose relative errors is the least: small and large sizes count
/// alike, although their times are of different magnitudes. Neither is negative. There must be a point with a time.
struct fitted_line {
  double start = 0.0;
  double per_byte = 0.0;
};
fitted_line fit_line(const std::map<double, double>& times);

}  // namespace tri::coll
