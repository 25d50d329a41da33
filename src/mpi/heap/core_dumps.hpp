// Core dumps of a process with a shared heap. The kernel reads every page of a shared mapping that it dumps, and
// reading a hole of a memory file fills it: a crash would take as much memory as the program ever allocated.
#pragma once

namespace tri::mpi {

/// When a crash writes a core dump (ulimit -c, or core_pattern is a program), excludes the holes of the window and of
/// static data from it. For that the signals that dump core get a handler, unless the program ignores them; the
/// previous handler of the program or its MPI library is called next, as if ours did not exist. Called after MPI_Init:
/// some MPI libraries check for foreign handlers only when they start.
void keep_core_dumps_small();

}  // namespace tri::mpi
