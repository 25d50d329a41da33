// Hints that a program gives with a communicator (MPI_Comm_set_info, MPI_Comm_dup_with_info). The drop-in has one:
//
//   post_comm_access   lo-to-hi | hi-to-lo | random    how the program accesses received data (Ouyang 2022, 2.4.1)
//
// A rank's hint applies to its own receives. Other values are ignored, as MPI requires of hints.
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
