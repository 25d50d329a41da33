// Datatypes and operations that are needed after the call that named them. The program may free them at once (MPI 4.0,
// section 6.12); the library frees them when the last of ours that holds them has ended. Until then the handles keep
// their meaning, also for functions of the program, which get the type as an argument. With the call guard.
#pragma once

#include <mpi.h>

#include <memory>

namespace tri::mpi::held_handles {

/// As long as the result lives. Null: it is predefined, so it cannot be freed. The type is valid.
std::shared_ptr<void> hold_type(MPI_Datatype type);
std::shared_ptr<void> hold_operation(MPI_Op operation);

}  // namespace tri::mpi::held_handles
