// Counts the blocks that each thread of a program holds of the heap. Replaces operator new of the program that it is
// linked into.
#pragma once

#include <cstdint>

namespace tri::testing {

/// Of the calling thread: taken minus released; blocks that it releases for others count as well.
std::int64_t blocks_held();
/// The most since `reset_most_blocks_held`.
std::int64_t most_blocks_held();
void reset_most_blocks_held();

}  // namespace tri::testing
