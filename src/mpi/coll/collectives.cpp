#include "mpi/coll/collectives.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "mpi/coll/groups/between_groups.hpp"
#include "mpi/coll/hosts/collectives_across_hosts.hpp"
#include "mpi/coll/planned_collective.hpp"
#include "mpi/coll/shm_steps.hpp"
#include "mpi/engine/shm_collective.hpp"
#include "mpi/p2p/requests.hpp"

namespace tri::mpi::collectives {
namespace {

constexpr std::size_t least_bytes_in_parts = std::size_t{2} << 10;

MPI_Aint extent_of(MPI_Datatype type) {
  MPI_Aint lower = 0, extent = 0;
  PMPI_Type_get_extent(type, &lower, &extent);
  return extent;
}

// Recursive doubling over `size` ranks: of those beyond the largest power of two, each leaves its part to a neighbour
// first.
struct doubling_order {
  explicit doubling_order(int size)
      : doubling(static_cast<int>(std::bit_floor(static_cast<unsigned>(size)))), beyond(size - doubling) {}
  int rank_at(int relative) const { return relative < beyond ? 2 * relative + 1 : relative + beyond; }

  int doubling;  // places
  int beyond;
};

// Does on one rank what allreduce() does on all: the same additions in the same order, so that the bits of a sum depend
// neither on the call nor on the number of cores. `add(from, to)` adds one rank's part to another's. Returns the rank
// whose part then holds the sum.
template <class Add>
int add_as_doubling(int size, Add&& add) {
  const doubling_order order(size);
  for (int rank = 0; rank < 2 * order.beyond; rank += 2) add(rank, rank + 1);
  for (int distance = 1; distance < order.doubling; distance *= 2)
    for (int relative = 0; relative < order.doubling; relative += 2 * distance)
      add(order.rank_at(relative + distance), order.rank_at(relative));
  return order.rank_at(0);
}

// Where each rank combines a part of the elements of all inputs directly, instead of receiving whole vectors.
bool pays_as_plan(const elements& of) {
  const buffer_type& type = datatypes::find(of.type);
  return has_plain_elements(type) && static_cast<std::size_t>(of.count) * type.bytes >= least_bytes_in_parts;
}

}  // namespace

// Of so many ranks, of which this one is at `own`. In round k every rank receives from the rank 2^k before it (Hensgen,
// Finkel, Manber 1988).
template <class RankAt>
int disseminate(operation& all, int size, int own, RankAt&& rank_at) {
  for (int distance = 1; distance < size; distance *= 2) {
    all.begin_receive({}, rank_at((own + size - distance) % size));
    all.begin_send({}, rank_at((own + distance) % size));
    all.wait();
  }
  return all.wait();
}

int barrier_by_messages(session& in, communicator& comm, const operation_identity& identity,
                        std::span<const int> ranks) {
  operation all(in, comm, identity);
  return disseminate(all, static_cast<int>(ranks.size()),
                     static_cast<int>(std::ranges::find(ranks, comm.rank) - ranks.begin()),
                     [&](int place) { return ranks[static_cast<std::size_t>(place)]; });
}

int barrier_by_messages(session& in, communicator& comm, const operation_identity& identity) {
  operation all(in, comm, identity);
  return disseminate(all, all.size(), all.rank(), [](int place) { return place; });
}

int barrier(session& in, communicator& comm) {
  if (comm.is_inter()) return between_groups::barrier(in, comm);
  if (comm.spans_hosts()) return across_hosts::run(in, comm, {}, across_hosts::barrier());
  if (fits_shm_collective(in, 0)) {
    combine_in_shm(in, comm, nullptr, 0, [](shm_collective&) {});
    return MPI_SUCCESS;
  }
  if (fits_exchange(in, comm, 0)) {
    exchange_in_shm(in, comm, nullptr, 0, [](std::uint32_t, const std::byte*) {});
    return MPI_SUCCESS;
  }
  return barrier_by_messages(in, comm, operation_identity::next_of(comm));
}

// Binomial tree.
int broadcast(session& in, communicator& comm, const elements& data, int root) {
  if (comm.spans_hosts())
    return across_hosts::broadcasts_by_leaders(comm, data)
               ? across_hosts::broadcast_by_leaders(in, comm, data, root)
               : across_hosts::run(in, comm, {}, across_hosts::broadcast(comm, data, root));
  operation all(in, comm);
  const int size = all.size();
  const int relative = (all.rank() - root + size) % size;
  int distance = 1;
  for (; distance < size; distance *= 2) {
    if ((relative & distance) == 0) continue;
    all.begin_receive(data, (relative - distance + root) % size);
    all.wait();
    break;
  }
  for (distance /= 2; distance > 0; distance /= 2)
    if (relative + distance < size) all.begin_send(data, (relative + distance + root) % size);
  return all.wait();
}

int reduce(session& in, communicator& comm, const void* from, const elements& to, MPI_Op operation_, int root) {
  if (comm.spans_hosts())
    return across_hosts::run(in, comm, {}, across_hosts::reduce(comm, from, to, operation_, root));
  if (pays_as_plan(to))
    if (const int error = reduce_in_parts(in, comm, from, to, operation_, root); error != pass_through) return error;
  operation all(in, comm);
  const int size = all.size();
  const int relative = (all.rank() - root + size) % size;
  const bool is_root = all.rank() == root;
  const scratch_elements partial(in, to.count, to.type);
  const scratch_elements arriving(in, to.count, to.type);
  void* const sum = is_root ? to.address : partial.address();
  const elements mine{sum, to.count, to.type};
  if (const void* const own = own_part(from, to.address); own != sum)
    copy({const_cast<void*>(own), to.count, to.type}, mine);
  for (int distance = 1; distance < size; distance *= 2) {
    if ((relative & distance) != 0) {
      all.begin_send(mine, (relative - distance + root) % size);
      break;
    }
    if (relative + distance >= size) continue;
    all.begin_receive({arriving.address(), to.count, to.type}, (relative + distance + root) % size);
    all.wait();
    reduce_local(arriving.address(), sum, to, operation_);
  }
  return all.wait();
}

// Every rank computes the sum by itself.
void allreduce_by_exchange(session& in, communicator& comm, const void* own, std::size_t bytes, const elements& to,
                           MPI_Op operation_) {
  struct alignas(64) part {
    std::byte data[shm_collective::most_bytes_offered];
  };
  std::array<part, shm_collective::most_members_offering> parts;
  exchange_in_shm(in, comm, own, bytes,
                  [&](std::uint32_t rank, const std::byte* theirs) { std::copy_n(theirs, bytes, parts[rank].data); });
  const auto part_of = [&](int rank) { return parts[static_cast<std::size_t>(rank)].data; };
  const int sum_of = add_as_doubling(
      comm.size(), [&](int theirs, int mine) { reduce_local(part_of(theirs), part_of(mine), to, operation_); });
  std::copy_n(part_of(sum_of), bytes, static_cast<std::byte*>(to.address));
}

// Otherwise recursive doubling.
int allreduce(session& in, communicator& comm, const void* from, const elements& to, MPI_Op operation_) {
  if (comm.spans_hosts()) return across_hosts::run(in, comm, {}, across_hosts::allreduce(comm, from, to, operation_));
  const buffer_type& type = datatypes::find(to.type);
  const std::size_t bytes = static_cast<std::size_t>(to.count) * type.bytes;
  const void* const own = own_part(from, to.address);
  if (type.is_plain && fits_shm_collective(in, bytes)) {
    const std::byte* const sum = combine_in_shm(in, comm, own, bytes, [&](shm_collective& shared) {
      const auto part = [&](int rank) { return shared.data_of(static_cast<std::uint32_t>(rank)); };
      const int sum_of = add_as_doubling(
          comm.size(), [&](int theirs, int mine) { reduce_local(part(theirs), part(mine), to, operation_); });
      std::copy_n(part(sum_of), bytes, shared.outcome());
    });
    std::copy_n(sum, bytes, static_cast<std::byte*>(to.address));
    return MPI_SUCCESS;
  }
  if (type.is_plain && fits_exchange(in, comm, bytes)) {
    allreduce_by_exchange(in, comm, own, bytes, to, operation_);
    return MPI_SUCCESS;
  }
  if (pays_as_plan(to))
    if (const int error = allreduce_in_parts(in, comm, from, to, operation_); error != pass_through) return error;
  operation all(in, comm);
  const int size = all.size();
  const int rank = all.rank();
  const doubling_order order(size);
  const int beyond = order.beyond;
  if (from != MPI_IN_PLACE) copy({const_cast<void*>(from), to.count, to.type}, to);
  const scratch_elements arriving(in, to.count, to.type);
  const elements theirs{arriving.address(), to.count, to.type};
  const auto add = [&] { reduce_local(arriving.address(), to.address, to, operation_); };
  int relative = rank - beyond;  // among the ranks that double
  if (rank < 2 * beyond) {
    if (rank % 2 == 0) {
      all.begin_send(to, rank + 1);
      all.wait();
      relative = -1;
    } else {
      all.begin_receive(theirs, rank - 1);
      all.wait();
      add();
      relative = rank / 2;
    }
  }
  if (relative >= 0) {
    for (int distance = 1; distance < order.doubling; distance *= 2) {
      const int other = order.rank_at(relative ^ distance);
      all.begin_receive(theirs, other);
      all.begin_send(to, other);
      all.wait();
      add();
    }
  }
  if (rank < 2 * beyond) {
    if (rank % 2 == 0)
      all.begin_receive(to, rank + 1);
    else
      all.begin_send(to, rank - 1);
  }
  return all.wait();
}

void begin_gather(operation& all, const elements& mine, const parts& everybodys, int root) {
  if (all.rank() != root) {
    all.begin_send(mine, root);
    return;
  }
  for (int rank = 0; rank < all.size(); ++rank)
    if (rank != root) all.begin_receive(everybodys.of(rank), rank);
  if (mine.address != MPI_IN_PLACE) copy(mine, everybodys.of(root));
}

void begin_scatter(operation& all, const parts& everybodys, const elements& mine, int root) {
  if (all.rank() != root) {
    all.begin_receive(mine, root);
    return;
  }
  for (int step = 1; step < all.size(); ++step) {
    const int rank = (root + step) % all.size();
    all.begin_send(everybodys.of(rank), rank);
  }
  if (mine.address != MPI_IN_PLACE) copy(everybodys.of(root), mine);
}

void begin_allgather(operation& all, const elements& mine, const parts& everybodys) {
  const elements own = mine.address == MPI_IN_PLACE ? everybodys.of(all.rank()) : mine;
  for (int step = 1; step < all.size(); ++step) {
    const int rank = (all.rank() - step + all.size()) % all.size();
    all.begin_receive(everybodys.of(rank), rank);
  }
  for (int step = 1; step < all.size(); ++step) all.begin_send(own, (all.rank() + step) % all.size());
  copy(own, everybodys.of(all.rank()));
}

void begin_alltoall(operation& all, const parts& to_each, const parts& from_each) {
  for (int step = 1; step < all.size(); ++step) {
    const int rank = (all.rank() - step + all.size()) % all.size();
    all.begin_receive(from_each.of(rank), rank);
  }
  for (int step = 1; step < all.size(); ++step) {
    const int rank = (all.rank() + step) % all.size();
    all.begin_send(to_each.of(rank), rank);
  }
  copy(to_each.of(all.rank()), from_each.of(all.rank()));
}

namespace {

// The partners of a rank in the order in which all pairs meet, of which a pair has the same number on both sides. A
// rank has itself for a partner in one step.
int partner_in(int step, const operation& all) { return (step - all.rank() + all.size()) % all.size(); }

// Of the steps from `first` to `last`. What arrives in a part is matched after the part was copied.
void exchange_in_place(operation& all, const parts& everybodys, int first, int last, std::byte* copies) {
  for (int step = first; step < last; ++step) {
    const int partner = partner_in(step, all);
    if (partner == all.rank()) continue;
    const elements part = everybodys.of(partner);
    const elements copied{copies, static_cast<MPI_Count>(bytes_of(part)), MPI_BYTE};
    copy(part, copied);
    all.begin_receive(part, partner);
    all.begin_send(copied, partner);
    copies += copied.count;
  }
}

std::size_t bytes_exchanged_in(int step, const operation& all, const parts& everybodys) {
  const int partner = partner_in(step, all);
  return partner == all.rank() ? 0 : bytes_of(everybodys.of(partner));
}

}  // namespace

void begin_alltoall_in_place(operation& all, const parts& everybodys) {
  std::size_t bytes = 0;
  for (int step = 0; step < all.size(); ++step) bytes += bytes_exchanged_in(step, all, everybodys);
  const scratch_elements& copies = all.make_scratch(static_cast<MPI_Count>(bytes), MPI_BYTE);
  exchange_in_place(all, everybodys, 0, all.size(), static_cast<std::byte*>(copies.address()));
}

// However many steps a rank takes together, some rank always goes on: of all steps that are not complete the first one
// has both of its ranks in it, because both have completed all earlier ones.
int alltoall_in_place(session& in, communicator& comm, const parts& everybodys) {
  constexpr std::size_t most_bytes_copied = std::size_t{4} << 20;
  operation all(in, comm);
  for (int first = 0, last = 0; first < all.size(); first = last) {
    std::size_t bytes = 0;
    do {
      bytes += bytes_exchanged_in(last++, all, everybodys);
    } while (last < all.size() && bytes + bytes_exchanged_in(last, all, everybodys) <= most_bytes_copied);
    const scratch_elements copies(in, static_cast<MPI_Count>(bytes), MPI_BYTE);
    exchange_in_place(all, everybodys, first, last, static_cast<std::byte*>(copies.address()));
    all.wait();
  }
  return all.wait();
}

// ---- nonblocking

namespace {

class nonblocking_barrier final : public nonblocking_operation {
 public:
  nonblocking_barrier(session& in, const communicator& comm) : shared_(*comm.barrier) {
    const auto member = static_cast<std::uint32_t>(comm.rank);
    if (shared_.enter(member)) {
      for (int rank = 0; rank < comm.size(); ++rank)
        if (rank != comm.rank) in.ranks().wake(comm.number_of[static_cast<std::size_t>(rank)]);
    }
    count_ = shared_.entered(member);
  }
  bool is_done(session&) override { return shared_.have_all_entered(count_); }
  int finish(session&) override { return MPI_SUCCESS; }

 private:
  shm_collective& shared_;
  std::uint64_t count_ = 0;
};

// `parts` are of all ranks, in a row, but for the calling rank's own.
void reduce_parts(const operation& all, const scratch_elements& parts, const void* own, const elements& to,
                  MPI_Op operation_) {
  const auto part = [&, extent = extent_of(to.type)](int rank) {
    return static_cast<std::byte*>(parts.address()) + rank * to.count * extent;
  };
  copy({const_cast<void*>(own), to.count, to.type}, {part(all.rank()), to.count, to.type});
  // In the order of the blocking operation, so that the bits of a sum are the same.
  const auto add = [&](int theirs, int mine) { reduce_local(part(theirs), part(mine), to, operation_); };
  int sum_of = all.size() - 1;
  if (pays_as_plan(to) || !is_commutative(operation_)) {
    for (int rank = 1; rank <= sum_of; ++rank) add(rank - 1, rank);
  } else {
    sum_of = add_as_doubling(all.size(), add);
  }
  copy({part(sum_of), to.count, to.type}, to);
}

void begin_sum(operation& all, const void* own, const elements& to, MPI_Op operation_) {
  const scratch_elements& parts = all.make_scratch(to.count * all.size(), to.type);
  const MPI_Count length = to.count * extent_of(to.type);
  for (int rank = 0; rank < all.size(); ++rank)
    if (rank != all.rank())
      all.begin_receive({static_cast<std::byte*>(parts.address()) + rank * length, to.count, to.type}, rank);
  all.at_end([&all, &parts, own, to, operation_] { reduce_parts(all, parts, own, to, operation_); });
}

}  // namespace

std::unique_ptr<nonblocking_operation> begin_barrier(session& in, communicator& comm) {
  return std::make_unique<nonblocking_barrier>(in, comm);
}

void begin_broadcast(operation& all, const elements& data, int root) {
  if (all.rank() != root) {
    all.begin_receive(data, root);
    return;
  }
  for (int step = 1; step < all.size(); ++step) all.begin_send(data, (root + step) % all.size());
}

void begin_broadcasts_of_hosts(operation& all, const communicator& comm, std::span<std::byte> row) {
  const std::size_t bytes = row.size() / static_cast<std::size_t>(all.size());
  const coll::shape& shape = comm.hosts->shape;
  for (int host = 0; host < shape.hosts(); ++host) {
    const int first = comm.hosts->rank_at[static_cast<std::size_t>(shape.first_rank(host))];
    const elements part{row.data() + static_cast<std::size_t>(first) * bytes, static_cast<MPI_Count>(bytes), MPI_BYTE};
    begin_broadcast(all, part, first);
  }
}

void begin_reduce(operation& all, const void* from, const elements& to, MPI_Op operation_, int root) {
  if (all.rank() == root)
    begin_sum(all, own_part(from, to.address), to, operation_);
  else
    all.begin_send({const_cast<void*>(from), to.count, to.type}, root);
}

void begin_allreduce(operation& all, const void* from, const elements& to, MPI_Op operation_) {
  const void* const own = own_part(from, to.address);
  begin_sum(all, own, to, operation_);
  for (int step = 1; step < all.size(); ++step)
    all.begin_send({const_cast<void*>(own), to.count, to.type}, (all.rank() + step) % all.size());
}

}  // namespace tri::mpi::collectives
