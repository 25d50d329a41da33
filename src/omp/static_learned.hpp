// What was learned of static loops, for the report.
#pragma once

#include <string>

namespace tri::omp {

// The weights of the loops of this call site; empty when there are none.
std::string static_learned_of(const void* site);

}  // namespace tri::omp
