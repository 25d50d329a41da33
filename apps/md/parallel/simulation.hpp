// A parallel run from input to report: makes the objects on all PEs, starts them, waits, prints. Runs on PE 0 in the
// function given to tri::run.
#pragma once

#include "md/options.hpp"

namespace md {

/// Throws std::exception with a message for the user.
void simulate(const run_input& input, const options& values);

}  // namespace md
