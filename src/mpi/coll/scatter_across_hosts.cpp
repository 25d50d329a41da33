#include <cstddef>

#include "mpi/coll/collectives.hpp"
#include "mpi/coll/collectives_across_hosts.hpp"

namespace tri::mpi::collectives::across_hosts {
namespace {

constexpr std::size_t most_bytes_by_leaders = std::size_t{4} << 10;  // of a block: they are copied twice more

// A host's ranks in the order of their places; the first one is its leader.
struct host_members {
  const communicator_hosts& hosts;
  int first = 0;
  int count = 0;
  host_members(const communicator& comm, int host)
      : hosts(*comm.hosts), first(hosts.shape.first_rank(host)), count(hosts.shape.ranks_of(host)) {}
  int rank(int i) const { return hosts.rank_at[static_cast<std::size_t>(first + i)]; }
  int leader() const { return rank(0); }
};

int host_of(const communicator& comm, int rank) {
  return comm.hosts->shape.host_of(comm.hosts->place_of[static_cast<std::size_t>(rank)]);
}

elements bytes_at(const scratch_elements& scratch, std::size_t first, std::size_t bytes) {
  return {static_cast<std::byte*>(scratch.address()) + first, static_cast<MPI_Count>(bytes), MPI_BYTE};
}

// The other hosts first: their messages take longest.
int scatter_from_root(session& in, communicator& comm, const parts& everybodys, const elements& mine) {
  const std::size_t block = bytes_of(everybodys.of(comm.rank));
  const scratch_elements packed(in, static_cast<MPI_Count>(block) * comm.size(), MPI_BYTE);
  operation all(in, comm);
  for (int step = 1; step < comm.hosts->shape.hosts(); ++step) {
    const host_members to(comm, (comm.hosts->host + step) % comm.hosts->shape.hosts());
    const std::size_t first = static_cast<std::size_t>(to.first) * block;
    for (int i = 0; i < to.count; ++i)
      copy(everybodys.of(to.rank(i)), bytes_at(packed, first + static_cast<std::size_t>(i) * block, block));
    all.begin_send(bytes_at(packed, first, static_cast<std::size_t>(to.count) * block), to.leader());
  }
  for (const int mate : comm.hosts->ranks_here())
    if (mate != comm.rank) all.begin_send(everybodys.of(mate), mate);
  if (mine.address != MPI_IN_PLACE) copy(everybodys.of(comm.rank), mine);
  return all.wait();
}

// Without the right number of bytes the other ranks of the host receive nothing, which they report, too.
int scatter_from_leader(session& in, communicator& comm, const elements& mine, int root) {
  const host_members here(comm, comm.hosts->host);
  const std::size_t block = bytes_of(mine);
  const scratch_elements packed(in, static_cast<MPI_Count>(block) * here.count, MPI_BYTE);
  operation all(in, comm);
  all.begin_receive(bytes_at(packed, 0, block * static_cast<std::size_t>(here.count)), root);
  const bool has_come = all.wait() == MPI_SUCCESS;
  for (int i = 1; i < here.count; ++i)
    all.begin_send(bytes_at(packed, static_cast<std::size_t>(i) * block, has_come ? block : 0), here.rank(i));
  if (has_come) copy(bytes_at(packed, 0, block), mine);
  return all.wait();
}

}  // namespace

int scatter_by_messages(session& in, communicator& comm, const parts& everybodys, const elements& mine, int root) {
  if (bytes_of(comm.rank == root ? everybodys.of(root) : mine) > most_bytes_by_leaders) {
    operation all(in, comm);
    begin_scatter(all, everybodys, mine, root);
    return all.wait();
  }
  if (comm.rank == root) return scatter_from_root(in, comm, everybodys, mine);
  const bool is_beside_root = host_of(comm, root) == comm.hosts->host;
  const int from = is_beside_root ? root : host_members(comm, comm.hosts->host).leader();
  if (from == comm.rank) return scatter_from_leader(in, comm, mine, root);
  operation all(in, comm);
  all.begin_receive(mine, from);
  return all.wait();
}

}  // namespace tri::mpi::collectives::across_hosts
