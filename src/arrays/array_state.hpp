// What checkpoints have of global arrays and locks (objects/checkpoint/pe_state.hpp calls it): of an array its name and
// shape, its elements in boxes, and of a lock that its number is taken. Ghost cells are not in it. After a restart the
// layout is that of the new job's PEs: what the program gave stays, what it left to the layout is chosen anew.
#pragma once

#include <string>

#include "arrays/id_counters.hpp"

namespace tri::arrays {

/// Checkpoints have arrays and locks from now on; returns true. Called before main by whatever makes either, so that
/// programs that have locks alone link array_state from the archive, too.
bool register_states();

// Of locks (global_lock.cpp): a lock that is held, or asked for, is in no checkpoint.
std::string obstacle_of_locks();
id_counters& ids_of_locks();

}  // namespace tri::arrays
