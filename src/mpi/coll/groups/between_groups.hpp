// Collective operations of inter-communicators, built from messages in the communicator's second context: each rank
// sends to, and receives from, ranks of the other group. All have one round, so no rank depends on one that computes,
// but for large reductions (sum_between_groups). Roots are MPI's: MPI_ROOT at the root, MPI_PROC_NULL in the rest of
// its group, its rank in the other one. Arguments were checked. Returns an error class.
#pragma once

#include <mpi.h>

#include "mpi/coll/collective_operation.hpp"
#include "mpi/coll/rank_parts.hpp"
#include "mpi/comm/communicators.hpp"
#include "mpi/startup/session.hpp"

namespace tri::mpi::collectives::between_groups {

void begin_barrier(operation& all);
void begin_broadcast(operation& all, const elements& data, int root);
void begin_gather(operation& all, const elements& mine, const parts& theirs, int root);
void begin_scatter(operation& all, const parts& theirs, const elements& mine, int root);
void begin_allgather(operation& all, const elements& mine, const parts& theirs);
void begin_alltoall(operation& all, const parts& to_each, const parts& from_each);
int barrier(session& in, communicator& comm);
// Any operation; each rank combines what the other group sends, in the order of its ranks.
int reduce(session& in, communicator& comm, const completion& how, const void* from, const elements& to,
           MPI_Op operation, int root);
int allreduce(session& in, communicator& comm, const completion& how, const void* from, const elements& to,
              MPI_Op operation);
/// `sums`: all elements; of their sums this rank gets those of `mine`, the first of which has the number `first`. A
/// rank does not know how the other group divides them among its ranks, so it sends all to each.
int reduce_scatter(session& in, communicator& comm, const completion& how, const elements& sums, const elements& mine,
                   MPI_Count first, MPI_Op operation);

}  // namespace tri::mpi::collectives::between_groups
