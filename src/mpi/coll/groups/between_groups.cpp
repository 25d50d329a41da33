#include "mpi/coll/groups/between_groups.hpp"

#include "mpi/coll/groups/sum_between_groups.hpp"

namespace tri::mpi::collectives::between_groups {
namespace {

parts same_for_all(const elements& data) {
  return {[](const void* description, int) { return *static_cast<const elements*>(description); }, &data};
}

elements sent(const void* from, const elements& like) { return {const_cast<void*>(from), like.count, like.type}; }

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

int barrier(session& in, communicator& comm) {
  operation all(in, comm);
  begin_barrier(all);
  return all.wait();
}

int reduce(session& in, communicator& comm, const completion& how, const void* from, const elements& to,
           MPI_Op operation_, int root) {
  part_of_sum own{.contribution = sent(from, to), .sum = to, .operation = operation_};
  own.gets_sum = root == MPI_ROOT;
  own.first_receiver = root;
  own.receivers = root == MPI_ROOT || root == MPI_PROC_NULL ? 0 : 1;
  return run_sum_between_groups(in, comm, how, own);
}

int allreduce(session& in, communicator& comm, const completion& how, const void* from, const elements& to,
              MPI_Op operation_) {
  return run_sum_between_groups(
      in, comm, how,
      {.contribution = sent(from, to), .receivers = comm.size(), .gets_sum = true, .sum = to, .operation = operation_});
}

int reduce_scatter(session& in, communicator& comm, const completion& how, const elements& sums, const elements& mine,
                   MPI_Count first, MPI_Op operation_) {
  return run_sum_between_groups(in, comm, how,
                                {.contribution = sums,
                                 .receivers = comm.size(),
                                 .gets_sum = true,
                                 .sum = mine,
                                 .first_of_sum = first,
                                 .operation = operation_});
}

}  // namespace tri::mpi::collectives::between_groups
