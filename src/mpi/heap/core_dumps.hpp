// Core dumps of a process with a shared heap. The kernel reads every page of a shared mapping that it dumps, and
// reading a hole of a memory file fills it: a crash would take as much memory as the program ever asked malloc for.
#pragma once

namespace tri::mpi {

/// Where a crash writes a core dump (ulimit -c, or core_pattern is a program): from now on, before it is written, the
/// holes of the window and of static data are left out of it. For that the signals that dump core get a handler, unless
/// the program ignores them; what the program, or its MPI library, has there gets the signal next, as if we were not
/// there. Called after MPI_Init: some MPI libraries only look for handlers of others when they begin.
void keep_core_dumps_small();

}  // namespace tri::mpi
