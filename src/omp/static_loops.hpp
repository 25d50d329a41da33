// Static loops of clang (static_loops.cpp intercepts them). Here: their learned weights, for --report.
#pragma once

#include <string>

namespace tri::omp {

// The weights of the loops of this call site; empty when there are none.
std::string static_weights_of(const void* site);

}  // namespace tri::omp
