// Trireme in programs that have a main program of their own: MPI programs, libraries that are called from those, tests.
//
//   MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
//   tri::init(argc, argv);                     // each rank is a PE now: the thread that has called this
//   tri::global_array<double, 2> a({n, n});    // SPMD style, as in tri::run_everywhere
//   ... MPI calls and accesses to arrays ...
//   tri::finalize();
//   MPI_Finalize();
//
// A PE serves requests while it waits in a call of Trireme, not while it waits in one of MPI. Behind tri::barrier() no
// request is left; where ranks wait for each other in both otherwise, poll:
//
//   MPI_Irecv(..., &request);
//   tri::progress_until([&] { MPI_Test(&request, &done, MPI_STATUS_IGNORE); return done != 0; });
#pragma once

#include "trireme/detail/require_cxx20.hpp"

#include "trireme/run.hpp"

#pragma GCC visibility push(default)

namespace tri {

/// Joins the job that the launcher has started, and makes the calling thread the only PE of this process. If the
/// program has called MPI_Init, the job is MPI_COMM_WORLD, whatever launched it; the PEs of a host are numbered one
/// behind the other, so this_pe() need not be the rank (MPI_Comm_split with this_pe() as the key makes a communicator
/// in this order). Options --tri-* are removed from the arguments; in a job over several hosts comm_thread is on unless
/// one says otherwise. Collective over the processes, once in a process.
/// Throws std::invalid_argument for wrong options and more than one PE, std::runtime_error when there is no job to
/// join, std::logic_error inside of another job.
void init(int& argc, char** argv);
void init();

/// Ends the job when all PEs have called it. Messages in flight are dropped; handles of arrays and objects must not be
/// used afterwards. Before MPI_Finalize. Collective. Returns 0, or what an entry method gave to tri::exit. Throws
/// std::logic_error without init, on other threads, and inside of methods.
int finalize();

/// Runs messages of this PE until `condition()` is true. On PEs, where a program may wait; not in methods and
/// coroutines (std::logic_error).
template <class Condition>
void progress_until(Condition&& condition) {
  while (!condition()) progress();
}

}  // namespace tri

#pragma GCC visibility pop
