// What checkpoints have of global arrays and locks (objects/checkpoint/pe_state.hpp calls it): of an array its name and
// shape, its elements in boxes, and of a lock that its number is taken. Ghost cells are not in it. After a restart the
// layout is that of the new job's PEs: what the program gave stays, what it left to the layout is chosen anew.
#pragma once

#include <cstdint>
#include <string>

namespace tri::arrays {

// Of locks: a lock that is held, or asked for, is in no checkpoint.
std::string obstacle_of_locks();
std::uint64_t last_lock();
void begin_locks_behind(std::uint64_t number);

}  // namespace tri::arrays
