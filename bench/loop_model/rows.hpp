// The rows of the suite `loop_model`: whole jobs in virtual time (src/sim/job_simulator.hpp), the same on any
// machine.
#pragma once

#include <vector>

#include "framework/suite.hpp"

namespace tri::bench {

std::vector<row_definition> loop_model_rows();

}  // namespace tri::bench
