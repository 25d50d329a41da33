// MPI_SUM of floating point numbers whose bits depend on the contributions alone, on request: each rank turns its
// elements into exact sums (coll/exact_sum.hpp), which the usual reductions merge, and who gets the result rounds it.
// A sum is 7 or 35 times as long as its element; longer vectors go in blocks.
#pragma once

#include <mpi.h>

#include "mpi/coll/collectives.hpp"

namespace tri::mpi::collectives {

/// TRIREME_MPI_REPRODUCIBLE_SUMS=on, and a sum of floats or doubles, of C or Fortran. All ranks have the same
/// environment.
bool is_reproducible_sum(MPI_Datatype type, MPI_Op operation);

/// As reduce() and allreduce().
int reproducible_reduce(session& in, communicator& comm, const void* from, const elements& to, int root);
int reproducible_allreduce(session& in, communicator& comm, const void* from, const elements& to);
/// Reduce, allreduce, scan or exscan by plans, also behind a request. Where a vector has several blocks, the next one
/// begins in a call of this rank after the one before has ended.
int reproducible_sum(session& in, communicator& comm, const completion& how, coll::collective what, const void* from,
                     const elements& to, int root = 0);

}  // namespace tri::mpi::collectives
