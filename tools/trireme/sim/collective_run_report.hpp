// A simulated collective as a table and as JSON. Pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sim/collective_simulator.hpp"

namespace tri::tools {

/// Rounds beyond these are in the JSON only.
inline constexpr std::size_t most_listed_rounds = 24;

std::string table_of(const sim::simulated_collective& wanted, const sim::collective_run& run,
                     const std::string& origin_of_costs);
nlohmann::json to_json(const sim::simulated_collective& wanted, const sim::collective_run& run);

}  // namespace tri::tools
