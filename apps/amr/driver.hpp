// A run from start to report: makes the blocks, lets them advance, changes the mesh, prints. Runs on PE 0 in the
// function given to tri::run.
#pragma once

#include "amr/options.hpp"

namespace amr {

/// Throws std::exception with a message for the user.
void simulate(const options& values);

}  // namespace amr
