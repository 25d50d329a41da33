// Blocking collective operations on communicators that are ours, made of point-to-point messages in the communicator's
// second context. All data moves directly between the ranks' buffers, and ranks that wait help. Each function follows
// MPI's of the same name; arguments were checked. Returns the class of an error.
#pragma once

#include <mpi.h>

#include "mpi/calls/communicators.hpp"
#include "mpi/calls/session.hpp"

namespace tri::mpi::collectives {

/// Elements somewhere in a user's buffer.
struct elements {
  void* address = nullptr;
  int count = 0;
  MPI_Datatype type = MPI_BYTE;
};

int barrier(session& in, communicator& comm);
int broadcast(session& in, communicator& comm, const elements& data, int root);
/// `from` and `to` have one type and count; `to` counts at the root only. The operation is commutative.
int reduce(session& in, communicator& comm, const void* from, const elements& to, MPI_Op operation, int root);
int allreduce(session& in, communicator& comm, const void* from, const elements& to, MPI_Op operation);

/// What goes to or comes from one rank.
using part_function = elements (*)(const void* description, int rank);
struct parts {
  part_function part = nullptr;
  const void* description = nullptr;
  elements of(int rank) const { return part(description, rank); }
};
/// Everybody sends `mine` to the root, which puts it into the parts.
int gather(session& in, communicator& comm, const elements& mine, const parts& all, int root);
int scatter(session& in, communicator& comm, const parts& all, const elements& mine, int root);
int allgather(session& in, communicator& comm, const elements& mine, const parts& all);
/// From every rank to every rank.
int alltoall(session& in, communicator& comm, const parts& to_each, const parts& from_each);

}  // namespace tri::mpi::collectives
