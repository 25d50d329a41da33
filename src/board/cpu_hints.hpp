// The processor hints of the host layer under the board's own name.
#pragma once

#include "os/cpu/cpu_hints.hpp"

namespace tri::board {

using os::cpu_relax;
using os::prefetch_to_write;

}  // namespace tri::board
