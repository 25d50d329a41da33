// Hints that a program gives with a communicator (MPI_Comm_set_info, MPI_Comm_dup_with_info). There is one of ours:
//
//   post_comm_access   lo-to-hi | hi-to-lo | random    how the program will look at what it receives (Ouyang
//   2022, 2.4.1)
//
// Each rank's own receives follow what it said itself. Other values are ignored, as MPI asks for hints.
#pragma once

#include <mpi.h>

#include <optional>

#include "mpi/engine/records.hpp"

namespace tri::mpi::communicator_hints {

/// Nothing: no hint of ours in it, or none that we know.
std::optional<touch_order> in(MPI_Info info);
/// Communicators that are not ours are left alone.
void set(MPI_Comm comm, touch_order touched);

}  // namespace tri::mpi::communicator_hints
