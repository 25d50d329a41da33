// Which clock the times of a trace come from. Without the C++ library's file systems: libraries that are loaded into
// programs of others use it.
#pragma once

#include <string>

namespace tri::trace {

/// Processes with the same text have the same monotonic clock.
std::string name_of_clock();

}  // namespace tri::trace
