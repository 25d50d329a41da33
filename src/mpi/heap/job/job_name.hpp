// The name of the MPI job this process was started in: equal in all its processes on the host, and different for jobs
// that run side by side. It only has to keep slots apart; peers are agreed on in MPI_Init.
#pragma once

#include <sys/types.h>

#include <string_view>

#include "mpi/heap/job/start_environment.hpp"
#include "mpi/heap/text_line.hpp"

namespace tri::mpi {

/// TRIREME_MPI_JOB, else what the launcher set: Open MPI's and PMIx's job, hydra's (the process that started all ranks
/// of the host), SLURM's step. Empty: not started as part of an MPI job. At most 48 characters: a longer name is
/// replaced by its hash.
text_line job_name(const start_environment& environment);

/// The process at the other end of this one's connection to its launcher, given the descriptor's number; hydra has one
/// such process per host. 0: not a socket.
pid_t process_behind(std::string_view connection);

}  // namespace tri::mpi
