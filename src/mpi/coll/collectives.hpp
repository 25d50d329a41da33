// Collective operations on intercepted communicators, built from point-to-point messages in the communicator's second
// context. All data moves directly between the ranks' buffers, and waiting ranks help. Each function follows MPI's of
// the same name; arguments were checked. Returns an error class.
//
// Nonblocking ones have one round: a rank's sends are posted when the call returns, and its receives are copied by any
// waiting rank, so no rank depends on one that computes or waits for something else.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "mpi/coll/collective_operation.hpp"
#include "mpi/coll/planned_collective.hpp"
#include "mpi/coll/rank_parts.hpp"
#include "mpi/comm/communicators.hpp"
#include "mpi/startup/session.hpp"

namespace tri::mpi::collectives {

int barrier(session& in, communicator& comm);
/// By messages alone, of a name that is not counted among the communicator's operations. `ranks`: those that take part,
/// in an order that they agree on.
int barrier_by_messages(session& in, communicator& comm, const operation_identity& identity,
                        std::span<const int> ranks);
/// All ranks.
int barrier_by_messages(session& in, communicator& comm, const operation_identity& identity);
int broadcast(session& in, communicator& comm, const elements& data, int root);
/// `from` and `to` have one type and count; `to` counts at the root only. The operation is commutative.
int reduce(session& in, communicator& comm, const void* from, const elements& to, MPI_Op operation, int root);
int allreduce(session& in, communicator& comm, const void* from, const elements& to, MPI_Op operation);

// Any operation: contributions are combined in the order of ranks. `pass_through` where there is no
// memory for it, on all ranks alike.
/// Each rank combines a part of the elements.
int reduce_in_parts(session& in, communicator& comm, const void* from, const elements& to, MPI_Op operation, int root);
int allreduce_in_parts(session& in, communicator& comm, const void* from, const elements& to, MPI_Op operation);
int ordered_allreduce(session& in, communicator& comm, const void* from, const elements& to, MPI_Op operation);
int scan(session& in, communicator& comm, const void* from, const elements& to, MPI_Op operation, bool is_exclusive);
/// `counts`: elements of each rank's block.
int reduce_scatter(session& in, communicator& comm, const void* from, void* to, std::span<const std::uint64_t> counts,
                   MPI_Datatype type, MPI_Op operation);

// The plans of the same, for calls that do not wait.
planned_request sum_in_parts(coll::collective what, const void* from, const elements& to, MPI_Op operation, int root);
planned_request scan_in_parts(const void* from, const elements& to, MPI_Op operation, bool is_exclusive);
planned_request scattered_sum_in_parts(const void* from, void* to, std::span<const std::uint64_t> counts,
                                       MPI_Datatype type, MPI_Op operation);

std::unique_ptr<nonblocking_operation> begin_barrier(session& in, communicator& comm);
void begin_broadcast(operation& all, const elements& data, int root);
/// Any operation. Each rank that receives the result receives all parts: for few elements.
void begin_reduce(operation& all, const void* from, const elements& to, MPI_Op operation, int root);
void begin_allreduce(operation& all, const void* from, const elements& to, MPI_Op operation);

/// Every rank sends `mine` to the root, which stores it in the parts.
void begin_gather(operation& all, const elements& mine, const parts& everybodys, int root);
void begin_scatter(operation& all, const parts& everybodys, const elements& mine, int root);
void begin_allgather(operation& all, const elements& mine, const parts& everybodys);
/// Of a communicator that spans hosts: its first member on each broadcasts what it has in its part of `row`, which
/// has equal parts of all ranks. The parts of other ranks stay as they are.
void begin_broadcasts_of_hosts(operation& all, const communicator& comm, std::span<std::byte> row);
/// From every rank to every rank.
void begin_alltoall(operation& all, const parts& to_each, const parts& from_each);
/// Each rank sends what its part for another one holds, and receives into it. Copies all that it sends.
void begin_alltoall_in_place(operation& all, const parts& everybodys);
/// The same in rounds, with copies of a few MiB.
int alltoall_in_place(session& in, communicator& comm, const parts& everybodys);

}  // namespace tri::mpi::collectives
