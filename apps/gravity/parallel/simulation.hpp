// A run from input to report: makes the objects, calls their phases step by step, prints. Runs on PE 0 in the function
// given to tri::run.
#pragma once

#include "gravity/options.hpp"

namespace gravity {

/// Throws std::exception with a message for the user.
void simulate(const std::vector<body>& bodies, const options& values);

}  // namespace gravity
