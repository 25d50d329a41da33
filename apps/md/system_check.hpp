// Whether a system that was read from a file can be computed with. A pure function.
#pragma once

#include <string>

#include "md/atoms.hpp"

namespace md {

/// What is wrong with the system, as a sentence with the values and what would be right; empty for nothing.
std::string problem_of(const atom_system& system);

}  // namespace md
