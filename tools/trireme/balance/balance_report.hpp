// What strategies make of a snapshot of loads: as a table, as JSON, as a picture. Pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "trireme/balance_strategy.hpp"

namespace tri::tools {

struct strategy_run {
  std::string name;
  balancing::outcome result;
  double taken_ns = 0.0;
  std::string fault;  ///< why it could not run; then there is no result
};

/// Longest time by level: 1 is perfect.
double imbalance_of(const balancing::quality& of);

/// "1000 objects on 8 PEs of 2 hosts".
std::string title_of(const balancing::snapshot& of);

/// Before and after.
std::string table_of(const balancing::snapshot& of, const strategy_run& run);
/// A line for each.
std::string comparison_of(const balancing::snapshot& of, const std::vector<strategy_run>& runs);
/// With the moves.
nlohmann::json to_json(const balancing::snapshot& of, const std::vector<strategy_run>& runs);

/// The time of each PE, before and after.
std::string to_svg(const balancing::snapshot& of, const strategy_run& run);

}  // namespace tri::tools
