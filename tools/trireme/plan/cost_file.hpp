// The file in which `trireme tune --collectives` keeps the parameters of the cost model of collectives, for `trireme
// plan`, `trireme sim collective` and `trireme exec`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "coll/cost_fit.hpp"
#include "coll/cost_parameters.hpp"

namespace tri::tools {

struct cost_file {
  coll::cost_parameters costs;
  std::vector<std::string> assumed;  ///< names of parameters that were not measured
  std::string measured_by;           ///< the command that was measured
};

nlohmann::json to_json(const cost_file& file);
/// Whether it is one, of any version; false for a file that cannot be read.
bool is_cost_file(const std::string& name);
/// Throws std::invalid_argument with the file and what is wrong in it.
cost_file read_cost_file(const std::string& name);

/// One line for each parameter: its value, what it is, and which were not measured.
std::string table_of(const cost_file& file);
/// All in one line: "L 10 us, o 500 ns, ...".
std::string summary_of(const coll::cost_parameters& costs);

}  // namespace tri::tools
