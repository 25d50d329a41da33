// Costs as one word: what `trireme exec` passes to the MPI drop-in.
#pragma once

#include <string>
#include <string_view>

#include "coll/cost_parameters.hpp"

namespace tri::coll {

/// "latency_ns=54000,overhead_ns=...", all of them (cost_fit.hpp names them).
std::string text_of(const cost_parameters& costs);
/// Throws std::invalid_argument, which says what is wrong and what would be right.
cost_parameters parse_costs(std::string_view text);

}  // namespace tri::coll
