// Reductions that keep the order of ranks: scans, reductions whose operation is not commutative, and sums of which each
// rank gets a block. Few bytes go from rank to rank, or are exchanged in shared memory; for others all ranks run a
// plan.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "mpi/coll/collectives.hpp"
#include "mpi/coll/planned_collective.hpp"
#include "mpi/coll/shm_steps.hpp"

namespace tri::mpi::collectives {
namespace {

struct alignas(64) part {
  std::byte data[shm_collective::most_bytes];
};

bool are_few(session& in, const communicator& comm, MPI_Datatype type, std::size_t bytes) {
  return has_plain_elements(datatypes::find(type)) &&
         (fits_exchange(in, comm, bytes) || fits_shm_collective(in, bytes));
}

// The sum of the first `ranks` contributions, of which `of` says count and type. Every rank computes it by itself.
part sum_by_exchange(session& in, communicator& comm, const void* own, std::size_t bytes, const elements& of,
                     MPI_Op operation, int ranks) {
  std::array<part, shm_collective::most_members_offering> parts;
  exchange_in_shm(in, comm, own, bytes,
                  [&](std::uint32_t rank, const std::byte* theirs) { std::copy_n(theirs, bytes, parts[rank].data); });
  const auto part_of = [&](int rank) { return parts[static_cast<std::size_t>(rank)].data; };
  for (int rank = 1; rank < ranks; ++rank) reduce_local(part_of(rank - 1), part_of(rank), of, operation);
  return parts[static_cast<std::size_t>(std::max(ranks, 1) - 1)];
}

// The sum of all, of few bytes: the last rank to come computes it where ranks share cores.
part sum_of_few(session& in, communicator& comm, const void* own, std::size_t bytes, const elements& of,
                MPI_Op operation) {
  if (fits_exchange(in, comm, bytes)) return sum_by_exchange(in, comm, own, bytes, of, operation, comm.size());
  part result{};
  const std::byte* const sum = combine_in_shm(in, comm, own, bytes, [&](shm_collective& shared) {
    const auto part_of = [&](int rank) { return shared.data_of(static_cast<std::uint32_t>(rank)); };
    for (int rank = 1; rank < comm.size(); ++rank) reduce_local(part_of(rank - 1), part_of(rank), of, operation);
    std::copy_n(part_of(comm.size() - 1), bytes, shared.outcome());
  });
  std::copy_n(sum, bytes, result.data);
  return result;
}

// Each rank waits for the prefix of the one before it, and none for those behind it.
int scan_in_chain(session& in, communicator& comm, const void* from, const elements& to, MPI_Op operation,
                  bool is_exclusive) {
  collectives::operation all(in, comm);
  const scratch_elements prefix(in, to.count, to.type);  // up to this rank; then with its own contribution
  const elements passed{prefix.address(), to.count, to.type};
  const void* const own = own_part(from, to.address);
  const std::size_t bytes = bytes_of(to);
  const bool is_last = comm.rank + 1 == comm.size();
  if (comm.rank > 0) {
    all.begin_receive(passed, comm.rank - 1);
    all.wait();
  }
  const auto copy = [&](const void* source, void* target) {
    if (source != target) std::memcpy(target, source, bytes);
  };
  if (comm.rank == 0) {
    if (!is_exclusive) copy(own, to.address);
    if (!is_last) all.begin_send({const_cast<void*>(own), to.count, to.type}, 1);
  } else if (is_exclusive) {
    const scratch_elements with_own(in, to.count, to.type);
    copy(own, with_own.address());
    copy(prefix.address(), to.address);
    reduce_local(prefix.address(), with_own.address(), to, operation);
    if (!is_last) all.begin_send({with_own.address(), to.count, to.type}, comm.rank + 1);
    return all.wait();
  } else {
    copy(own, to.address);
    reduce_local(prefix.address(), to.address, to, operation);
    if (!is_last) all.begin_send(to, comm.rank + 1);
  }
  return all.wait();
}

// Eager messages: no rank waits for their receiver. In a long chain of ranks with a core each, messages one after the
// other take longer than what all do at the same time.
bool pays_as_chain(session& in, const communicator& comm, std::size_t bytes) {
  constexpr int longest_chain = 4;
  if (fits_exchange(in, comm, bytes)) return false;
  return bytes < in.ranks().options().rendezvous_from &&
         (in.ranks().options().oversubscribed || comm.size() <= longest_chain);
}

// Each rank gets its block of all contributions by messages, and combines them.
int reduce_scatter_by_messages(session& in, communicator& comm, const void* from, void* to,
                               std::span<const std::uint64_t> counts, MPI_Datatype type, MPI_Op operation) {
  collectives::operation all(in, comm);
  const std::size_t size = datatypes::find(type).bytes;
  const auto mine = static_cast<MPI_Count>(counts[static_cast<std::size_t>(comm.rank)]);
  const scratch_elements blocks(in, mine * comm.size(), type);
  const auto block_of = [&](int rank) {
    return static_cast<std::byte*>(blocks.address()) +
           static_cast<std::size_t>(rank) * static_cast<std::size_t>(mine) * size;
  };
  const auto* const own = static_cast<const std::byte*>(own_part(from, to));
  for (int rank = 0; rank < comm.size(); ++rank)
    if (rank != comm.rank) all.begin_receive({block_of(rank), mine, type}, rank);
  std::size_t begin = 0;
  for (int rank = 0; rank < comm.size(); ++rank) {
    const std::uint64_t count = counts[static_cast<std::size_t>(rank)];
    if (rank == comm.rank)
      std::memcpy(block_of(rank), own + begin, count * size);
    else
      all.begin_send({const_cast<std::byte*>(own + begin), static_cast<MPI_Count>(count), type}, rank);
    begin += count * size;
  }
  const int error = all.wait();
  for (int rank = 1; rank < comm.size(); ++rank)
    reduce_local(block_of(rank - 1), block_of(rank), {nullptr, mine, type}, operation);
  std::memcpy(to, block_of(comm.size() - 1), static_cast<std::size_t>(mine) * size);
  return error;
}

}  // namespace

planned_request sum_in_parts(coll::collective what, const void* from, const elements& to, MPI_Op operation, int root) {
  return planned_request::of_elements(
      what, what == coll::collective::reduce ? "multi_object_parts" : "multi_object_ring", from, to.address,
      coll::block_layout::uniform(static_cast<std::uint64_t>(to.count)), to.type, operation, root);
}

planned_request scan_in_parts(const void* from, const elements& to, MPI_Op operation, bool is_exclusive) {
  return planned_request::of_elements(
      is_exclusive ? coll::collective::exscan : coll::collective::scan, "multi_object", from, to.address,
      coll::block_layout::uniform(static_cast<std::uint64_t>(to.count)), to.type, operation);
}

planned_request scattered_sum_in_parts(const void* from, void* to, std::span<const std::uint64_t> counts,
                                       MPI_Datatype type, MPI_Op operation) {
  const bool is_uniform = std::ranges::adjacent_find(counts, std::ranges::not_equal_to()) == counts.end();
  return planned_request::of_elements(
      coll::collective::reduce_scatter, "multi_object", from, to,
      is_uniform ? coll::block_layout::uniform(counts[0]) : coll::block_layout::of_table(counts), type, operation);
}

int reduce_in_parts(session& in, communicator& comm, const void* from, const elements& to, MPI_Op operation, int root) {
  return run_planned(in, comm, {}, sum_in_parts(coll::collective::reduce, from, to, operation, root));
}

int allreduce_in_parts(session& in, communicator& comm, const void* from, const elements& to, MPI_Op operation) {
  return run_planned(in, comm, {}, sum_in_parts(coll::collective::allreduce, from, to, operation, 0));
}

int ordered_allreduce(session& in, communicator& comm, const void* from, const elements& to, MPI_Op operation) {
  const std::size_t bytes = bytes_of(to);
  if (!are_few(in, comm, to.type, bytes)) return allreduce_in_parts(in, comm, from, to, operation);
  const part sum = sum_of_few(in, comm, own_part(from, to.address), bytes, to, operation);
  std::copy_n(sum.data, bytes, static_cast<std::byte*>(to.address));
  return MPI_SUCCESS;
}

int scan(session& in, communicator& comm, const void* from, const elements& to, MPI_Op operation, bool is_exclusive) {
  const std::size_t bytes = bytes_of(to);
  if (!has_plain_elements(datatypes::find(to.type)))
    return run_planned(in, comm, {}, scan_in_parts(from, to, operation, is_exclusive));
  if (pays_as_chain(in, comm, bytes)) return scan_in_chain(in, comm, from, to, operation, is_exclusive);
  if (fits_exchange(in, comm, bytes)) {
    const part sum =
        sum_by_exchange(in, comm, own_part(from, to.address), bytes, to, operation, comm.rank + (is_exclusive ? 0 : 1));
    if (!is_exclusive || comm.rank > 0) std::copy_n(sum.data, bytes, static_cast<std::byte*>(to.address));
    return MPI_SUCCESS;
  }
  return run_planned(in, comm, {}, scan_in_parts(from, to, operation, is_exclusive));
}

int reduce_scatter(session& in, communicator& comm, const void* from, void* to, std::span<const std::uint64_t> counts,
                   MPI_Datatype type, MPI_Op operation) {
  const std::size_t size = datatypes::find(type).bytes;
  const std::uint64_t all = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  if (are_few(in, comm, type, all * size)) {
    const part sum =
        sum_of_few(in, comm, own_part(from, to), all * size, {nullptr, static_cast<MPI_Count>(all), type}, operation);
    const auto mine = static_cast<std::size_t>(comm.rank);
    const std::uint64_t before = std::accumulate(counts.begin(), counts.begin() + comm.rank, std::uint64_t{0});
    std::copy_n(sum.data + before * size, counts[mine] * size, static_cast<std::byte*>(to));
    return MPI_SUCCESS;
  }
  constexpr std::size_t most_bytes_by_messages = std::size_t{4} << 10;
  if (has_plain_elements(datatypes::find(type)) && !in.ranks().options().oversubscribed &&
      all * size <= most_bytes_by_messages)
    return reduce_scatter_by_messages(in, comm, from, to, counts, type, operation);
  return run_planned(in, comm, {}, scattered_sum_in_parts(from, to, counts, type, operation));
}

}  // namespace tri::mpi::collectives
