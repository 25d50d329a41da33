// Collectives of few bytes on several hosts as messages: one between the root and each other host, to or from its
// leader, and one between each leader and each of its mates. On a few hosts that is less work than a plan.
#include <cstddef>

#include "mpi/coll/collectives.hpp"
#include "mpi/coll/hosts/collectives_across_hosts.hpp"

namespace tri::mpi::collectives::across_hosts {
namespace {

constexpr std::size_t most_bytes_by_leaders = std::size_t{4} << 10;  // of a block, which is copied twice more

constexpr int most_hosts = 16;  // the root has a message with each

bool fits(const communicator& comm, std::size_t block) {
  return block <= most_bytes_by_leaders && comm.hosts->shape.hosts() <= most_hosts;
}

// A host's ranks in the order of their places; the first one is its leader.
struct host_members {
  const communicator_hosts& hosts;
  int first = 0;
  int count = 0;
  host_members(const communicator& comm, int host)
      : hosts(*comm.hosts), first(hosts.shape.first_rank(host)), count(hosts.shape.ranks_of(host)) {}
  int rank(int i) const { return hosts.rank_at[static_cast<std::size_t>(first) + static_cast<std::size_t>(i)]; }
  int leader() const { return rank(0); }
};

int host_of(const communicator& comm, int rank) {
  return comm.hosts->shape.host_of(comm.hosts->place_of[static_cast<std::size_t>(rank)]);
}

elements bytes_at(const scratch_elements& scratch, std::size_t first, std::size_t bytes) {
  return {static_cast<std::byte*>(scratch.address()) + first, static_cast<MPI_Count>(bytes), MPI_BYTE};
}

// Of the calling rank: the leader of its host, or the root if it is there.
int leader_of(const communicator& comm, int root) {
  return host_of(comm, root) == comm.hosts->host ? root : host_members(comm, comm.hosts->host).leader();
}

// One after the other, beginning behind the own one.
template <class Each>
void for_each_other_host(const communicator& comm, Each&& each) {
  const int hosts = comm.hosts->shape.hosts();
  for (int step = 1; step < hosts; ++step) each(host_members(comm, (comm.hosts->host + step) % hosts));
}

template <class Each>
void for_each_mate(const communicator& comm, Each&& each) {
  for (const int mate : comm.hosts->ranks_here())
    if (mate != comm.rank) each(mate);
}

std::size_t place_of(const host_members& host, int i, std::size_t block) {
  return (static_cast<std::size_t>(host.first) + static_cast<std::size_t>(i)) * block;
}

// The other hosts first: their messages take longest.
int scatter_from_root(session& in, communicator& comm, const parts& everybodys, const elements& mine) {
  const std::size_t block = bytes_of(everybodys.of(comm.rank));
  const scratch_elements packed(in, static_cast<MPI_Count>(block) * comm.size(), MPI_BYTE);
  operation all(in, comm);
  for_each_other_host(comm, [&](const host_members& to) {
    for (int i = 0; i < to.count; ++i) copy(everybodys.of(to.rank(i)), bytes_at(packed, place_of(to, i, block), block));
    all.begin_send(bytes_at(packed, place_of(to, 0, block), static_cast<std::size_t>(to.count) * block), to.leader());
  });
  for_each_mate(comm, [&](int mate) { all.begin_send(everybodys.of(mate), mate); });
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

int gather_at_root(session& in, communicator& comm, const elements& mine, const parts& everybodys) {
  const std::size_t block = bytes_of(everybodys.of(comm.rank));
  const scratch_elements packed(in, static_cast<MPI_Count>(block) * comm.size(), MPI_BYTE);
  operation all(in, comm);
  for_each_other_host(comm, [&](const host_members& from) {
    all.begin_receive(bytes_at(packed, place_of(from, 0, block), static_cast<std::size_t>(from.count) * block),
                      from.leader());
  });
  for_each_mate(comm, [&](int mate) { all.begin_receive(everybodys.of(mate), mate); });
  if (mine.address != MPI_IN_PLACE) copy(mine, everybodys.of(comm.rank));
  if (const int error = all.wait(); error != MPI_SUCCESS) return error;
  for_each_other_host(comm, [&](const host_members& from) {
    for (int i = 0; i < from.count; ++i)
      copy(bytes_at(packed, place_of(from, i, block), block), everybodys.of(from.rank(i)));
  });
  return MPI_SUCCESS;
}

// With a wrong number of bytes the root receives nothing, which it reports, too.
int gather_at_leader(session& in, communicator& comm, const elements& mine, int root) {
  const host_members here(comm, comm.hosts->host);
  const std::size_t block = bytes_of(mine);
  const scratch_elements packed(in, static_cast<MPI_Count>(block) * here.count, MPI_BYTE);
  operation all(in, comm);
  for (int i = 1; i < here.count; ++i)
    all.begin_receive(bytes_at(packed, static_cast<std::size_t>(i) * block, block), here.rank(i));
  copy(mine, bytes_at(packed, 0, block));
  const bool have_come = all.wait() == MPI_SUCCESS;
  all.begin_send(bytes_at(packed, 0, have_come ? block * static_cast<std::size_t>(here.count) : 0), root);
  return all.wait();
}

}  // namespace

bool broadcasts_by_leaders(const communicator& comm, const elements& data) { return fits(comm, bytes_of(data)); }

int broadcast_by_leaders(session& in, communicator& comm, const elements& data, int root) {
  const int leader = leader_of(comm, root);
  operation all(in, comm);
  bool has_come = true;
  if (comm.rank == root) {
    for_each_other_host(comm, [&](const host_members& to) { all.begin_send(data, to.leader()); });
  } else {
    all.begin_receive(data, comm.rank == leader ? root : leader);
    has_come = all.wait() == MPI_SUCCESS;
  }
  // What has come with a wrong number of bytes does not go on.
  if (comm.rank == leader) for_each_mate(comm, [&](int mate) { all.begin_send(has_come ? data : elements{}, mate); });
  return all.wait();
}

int scatter_by_messages(session& in, communicator& comm, const parts& everybodys, const elements& mine, int root) {
  const bool is_root = comm.rank == root;
  if (fits(comm, bytes_of(is_root ? everybodys.of(root) : mine))) {
    if (is_root) return scatter_from_root(in, comm, everybodys, mine);
    if (leader_of(comm, root) == comm.rank) return scatter_from_leader(in, comm, mine, root);
    root = leader_of(comm, root);
  }
  operation all(in, comm);
  begin_scatter(all, everybodys, mine, root);
  return all.wait();
}

int gather_by_messages(session& in, communicator& comm, const elements& mine, const parts& everybodys, int root) {
  const bool is_root = comm.rank == root;
  if (fits(comm, bytes_of(is_root ? everybodys.of(root) : mine))) {
    if (is_root) return gather_at_root(in, comm, mine, everybodys);
    if (leader_of(comm, root) == comm.rank) return gather_at_leader(in, comm, mine, root);
    root = leader_of(comm, root);
  }
  operation all(in, comm);
  begin_gather(all, mine, everybodys, root);
  return all.wait();
}

}  // namespace tri::mpi::collectives::across_hosts
