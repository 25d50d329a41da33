// Which plan runs a collective of a communicator that spans hosts: an algorithm of src/coll, by the bytes and the
// hosts. Nothing: barriers that wait, gathers,
// scatters and all-to-alls are messages from rank to rank; the rest is the MPI library's. All members decide alike, so
// by nothing that MPI lets differ between them, such as the layout of a type. Arguments were checked.
#pragma once

#include <mpi.h>

#include <optional>
#include <span>

#include "mpi/coll/collective_operation.hpp"
#include "mpi/coll/planned_collective.hpp"
#include "mpi/coll/rank_parts.hpp"
#include "mpi/comm/communicators.hpp"
#include "mpi/p2p/requests.hpp"

namespace tri::mpi::collectives::across_hosts {

using plan = std::optional<planned_request>;

plan barrier();
plan broadcast(const communicator& comm, const elements& data, int root);
/// Reduce and allreduce of plain elements.
plan reduce(const communicator& comm, const void* from, const elements& to, MPI_Op operation, int root);
plan allreduce(const communicator& comm, const void* from, const elements& to, MPI_Op operation);
plan scan(const communicator& comm, const void* from, const elements& to, MPI_Op operation, bool is_exclusive);
plan reduce_scatter(const communicator& comm, const void* from, void* to, std::span<const std::uint64_t> counts,
                    MPI_Datatype type, MPI_Op operation);
/// `whole`: the elements of all ranks in one row, where there are some. `mine` may be in place.
plan gather(const communicator& comm, const elements& mine, const elements& whole, int root);
plan scatter(const communicator& comm, const elements& whole, const elements& mine, int root);
plan allgather(const communicator& comm, const elements& mine, const elements& whole);
/// Of parts of different sizes.
plan allgather(const communicator& comm, const elements& mine, const parts& everybodys);
plan alltoall(const communicator& comm, const elements& from, const elements& to);

// Calls that wait, as messages (messages_by_leaders.cpp). Each other host has one message with the root, of the short
// blocks of all its ranks.
bool broadcasts_by_leaders(const communicator& comm, const elements& data);
int broadcast_by_leaders(session& in, communicator& comm, const elements& data, int root);
/// Blocks of equal size, where no plan runs.
int scatter_by_messages(session& in, communicator& comm, const parts& everybodys, const elements& mine, int root);
int gather_by_messages(session& in, communicator& comm, const elements& mine, const parts& everybodys, int root);

/// Waits for it, or leaves it behind a request. `pass_through` without a plan.
int run(session& in, communicator& comm, const completion& how, const plan& chosen);

}  // namespace tri::mpi::collectives::across_hosts
