#include "mpi/coll/between_groups.hpp"

#include <algorithm>

#include "mpi/coll/completion.hpp"
#include "mpi/coll/shm_steps.hpp"

namespace tri::mpi::collectives::between_groups {
namespace {

parts same_for_all(const elements& data) {
  return {[](const void* description, int) { return *static_cast<const elements*>(description); }, &data};
}

elements sent(const void* from, const elements& like) { return {const_cast<void*>(from), like.count, like.type}; }

std::byte* element_at(const elements& of, MPI_Count number) {
  MPI_Aint lower = 0, extent = 0;
  PMPI_Type_get_extent(of.type, &lower, &extent);
  return static_cast<std::byte*>(of.address) + number * extent;
}

// The operation has more messages than these, so that only these are waited for round by round: others may need
// a rank that waits for this one.
int receive_sum(session& in, communicator& comm, const operation_identity& identity, const elements& to,
                MPI_Op operation_) {
  operation receiving(in, comm, identity);
  int rank = comm.size() - 1;
  receiving.begin_receive(to, rank);
  receiving.wait();
  if (rank == 0) return receiving.wait();
  const scratch_elements arriving(in, to.count, to.type);
  while (--rank >= 0) {
    receiving.begin_receive({arriving.address(), to.count, to.type}, rank);
    receiving.wait();
    reduce_local(arriving.address(), to.address, to, operation_);
  }
  return receiving.wait();
}

}  // namespace

void begin_barrier(operation& all) {
  const elements nothing;
  begin_alltoall(all, same_for_all(nothing), same_for_all(nothing));
}

void begin_broadcast(operation& all, const elements& data, int root) {
  if (root == MPI_ROOT)
    for (int rank = 0; rank < all.size(); ++rank) all.begin_send(data, rank);
  else if (root != MPI_PROC_NULL)
    all.begin_receive(data, root);
}

void begin_gather(operation& all, const elements& mine, const parts& theirs, int root) {
  if (root == MPI_ROOT)
    for (int rank = 0; rank < all.size(); ++rank) all.begin_receive(theirs.of(rank), rank);
  else if (root != MPI_PROC_NULL)
    all.begin_send(mine, root);
}

void begin_scatter(operation& all, const parts& theirs, const elements& mine, int root) {
  if (root == MPI_ROOT)
    for (int rank = 0; rank < all.size(); ++rank) all.begin_send(theirs.of(rank), rank);
  else if (root != MPI_PROC_NULL)
    all.begin_receive(mine, root);
}

void begin_allgather(operation& all, const elements& mine, const parts& theirs) {
  begin_alltoall(all, same_for_all(mine), theirs);
}

// Each rank begins with another one.
void begin_alltoall(operation& all, const parts& to_each, const parts& from_each) {
  for (int rank = 0; rank < all.size(); ++rank) all.begin_receive(from_each.of(rank), rank);
  for (int step = 0; step < all.size(); ++step) {
    const int rank = (all.rank() + step) % all.size();
    all.begin_send(to_each.of(rank), rank);
  }
}

void begin_allreduce(operation& all, const void* from, const elements& to, MPI_Op operation_) {
  const int last = all.size() - 1;
  const scratch_elements& others = all.make_scratch(to.count * last, to.type);
  const elements row{others.address(), to.count, to.type};
  for (int rank = 0; rank < last; ++rank)
    all.begin_receive({element_at(row, rank * to.count), to.count, to.type}, rank);
  all.begin_receive(to, last);
  for (int rank = 0; rank < all.size(); ++rank) all.begin_send(sent(from, to), rank);
  all.at_end([row, last, to, operation_] {
    for (int rank = last - 1; rank >= 0; --rank)
      reduce_local(element_at(row, rank * to.count), to.address, to, operation_);
  });
}

int barrier(session& in, communicator& comm) {
  operation all(in, comm);
  begin_barrier(all);
  return all.wait();
}

int reduce(session& in, communicator& comm, const void* from, const elements& to, MPI_Op operation_, int root) {
  const operation_identity identity = operation_identity::next_of(comm);
  if (root == MPI_ROOT) return receive_sum(in, comm, identity, to, operation_);
  operation sending(in, comm, identity);
  if (root != MPI_PROC_NULL) sending.begin_send(sent(from, to), root);
  return sending.wait();
}

int allreduce(session& in, communicator& comm, const void* from, const elements& to, MPI_Op operation_) {
  const operation_identity identity = operation_identity::next_of(comm);
  operation sending(in, comm, identity);
  for (int rank = 0; rank < comm.size(); ++rank) sending.begin_send(sent(from, to), rank);
  const int error = receive_sum(in, comm, identity, to, operation_);
  const int error_of_sends = sending.wait();
  return error != MPI_SUCCESS ? error : error_of_sends;
}

int reduce_scatter(session& in, communicator& comm, const elements& sums, const elements& mine, MPI_Count first,
                   MPI_Op operation_) {
  const scratch_elements all(in, sums.count, sums.type);
  const elements result{all.address(), sums.count, sums.type};
  const int error = allreduce(in, comm, sums.address, result, operation_);
  if (error == MPI_SUCCESS) copy({element_at(result, first), mine.count, mine.type}, mine);
  return error;
}

}  // namespace tri::mpi::collectives::between_groups
