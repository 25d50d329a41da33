// Counts the calls of operator new in the program that it is linked into, on all threads.
#pragma once

#include <cstdint>

namespace tri::testing {

std::int64_t allocations();

}  // namespace tri::testing
