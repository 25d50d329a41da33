// Starts the MPI library of this process when it carries messages between hosts (--tri-wire mpi), or uses that of a
// program that has begun it: finds and loads its plug-in, and checks that the started MPI is usable. Otherwise programs
// need no MPI, neither to build nor to run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "boot/launcher_detection.hpp"
#include "boot/mpi/mpi_calls.hpp"

namespace tri::boot {

/// The file of the plug-in for `choice`: auto (by the launcher), openmpi, mpich, or a path, which has a slash. Throws
/// job_error for other names.
std::string mpi_plug_in_for(std::string_view choice, launcher_kind launcher);

/// The number of processes that the launcher started, from `environment` ("NAME=value"); 0: unknown.
int processes_by_environment(const std::vector<std::string>& environment);

/// Throws job_error when the library cannot be called by the threads that call it, or does not see the job that the
/// launcher started (`expected` processes; 0: unknown). It carries messages, or only starts and ends the job.
void check_usable(const mpi_calls& started, int expected, bool carries_messages = true);
/// The same where it only starts and ends a job over several hosts.
void check_usable_between_hosts(const mpi_calls& started);

/// Whether the program has called MPI_Init, and not yet MPI_Finalize.
bool program_has_initialized_mpi();

/// Whether calls of MPI go to the MPI drop-in: its arena is in this process, too.
bool is_under_mpi_drop_in();

/// Starts MPI, or takes that of the program; collectively over the job; once per process. Throws job_error.
mpi_calls& start_mpi(std::string_view choice, launcher_kind launcher, bool carries_messages = true);

/// Null: this process was not started through MPI, or MPI has ended.
mpi_calls* started_mpi();
void forget_started_mpi();  // it has ended

}  // namespace tri::boot
