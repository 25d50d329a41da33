// Whether a system that was read from a file can be computed with. A pure function.
#pragma once

#include <string>

#include "md/system/atoms.hpp"

namespace md {

/// The error in the system, as a sentence with the values and the valid ones; empty if none.
std::string problem_of(const atom_system& system);

}  // namespace md
