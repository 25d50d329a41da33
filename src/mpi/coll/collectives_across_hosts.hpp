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

/// Waits for all members, so that none of them needs this rank any more before it joins an operation of the library
/// that blocks. `pass_through`, unless that fails.
int arrive(session& in, communicator& comm);
/// The same without the call guard, in a job on several hosts, of a communicator that may be any. MPI_SUCCESS or the
/// code of an error that was reported.
int arrive(MPI_Comm comm);
/// The same before a call on a window that is the library's, as far as its communicator was given here.
int arrive_at_window(MPI_Win window);
void add_window(MPI_Win window, MPI_Comm comm);
void remove_window(MPI_Win window);

/// Waits for it, or leaves it behind a request. `pass_through` without a plan.
int run(session& in, communicator& comm, const completion& how, const plan& chosen);

}  // namespace tri::mpi::collectives::across_hosts
