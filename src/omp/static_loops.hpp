// Static loops of clang, for the report: what was learned of them.
#pragma once

#include <string>

namespace tri::omp {

// The weights of the loops of this call site; empty when there are none.
std::string static_weights_of(const void* site);

}  // namespace tri::omp
