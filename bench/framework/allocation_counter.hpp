// Counts allocations through operator new, so that a row can claim "no allocation" and be checked. A program that calls
// the function gets counting versions of the global operators, which are otherwise the ordinary ones.
#pragma once

#include <cstdint>

namespace tri::bench {

// Allocations of the calling thread so far; never 0.
std::uint64_t allocations_of_this_thread();

}  // namespace tri::bench
