// Reductions that keep the order of ranks: scans, reductions whose operation is not commutative, and sums of which each
// rank gets a block. Few bytes are exchanged, and prefixes are computed from them; for others all ranks run a plan.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "mpi/coll/collectives.hpp"
#include "mpi/coll/planned_collective.hpp"
#include "mpi/coll/shm_steps.hpp"

namespace tri::mpi::collectives {
namespace {

enum class prefix : std::uint8_t { inclusive, exclusive, total };

struct alignas(64) part {
  std::byte data[shm_collective::most_bytes];
};

bool are_few(session& in, const communicator& comm, std::size_t bytes) {
  return fits_exchange(in, comm, bytes) || fits_shm_collective(in, bytes);
}

// `of` says count and type of what each rank contributes. Rank 0 gets nothing useful of `exclusive`.
part prefix_of_few(session& in, communicator& comm, const void* own, std::size_t bytes, const elements& of,
                   MPI_Op operation, prefix wanted) {
  part result{};
  const int last = wanted == prefix::total ? comm.size() : comm.rank + (wanted == prefix::inclusive ? 1 : 0);
  if (fits_exchange(in, comm, bytes)) {
    std::array<part, shm_collective::most_members_offering> parts;
    exchange_in_shm(in, comm, own, bytes,
                    [&](std::uint32_t rank, const std::byte* theirs) { std::copy_n(theirs, bytes, parts[rank].data); });
    const auto part_of = [&](int rank) { return parts[static_cast<std::size_t>(rank)].data; };
    for (int rank = 1; rank < last; ++rank) reduce_local(part_of(rank - 1), part_of(rank), of, operation);
    if (last > 0) std::copy_n(part_of(last - 1), bytes, result.data);
    return result;
  }
  // The last rank to come leaves the prefix of each one where its contribution was, which only that rank overwrites.
  const std::byte* const total = combine_in_shm(in, comm, own, bytes, [&](shm_collective& shared) {
    const auto part_of = [&](int rank) { return shared.data_of(static_cast<std::uint32_t>(rank)); };
    for (int rank = 1; rank < comm.size(); ++rank) reduce_local(part_of(rank - 1), part_of(rank), of, operation);
    std::copy_n(part_of(comm.size() - 1), bytes, shared.outcome());
    if (wanted == prefix::exclusive)
      for (int rank = comm.size() - 1; rank > 0; --rank) std::copy_n(part_of(rank - 1), bytes, part_of(rank));
  });
  const std::byte* const mine = comm.barrier->data_of(static_cast<std::uint32_t>(comm.rank));
  std::copy_n(wanted == prefix::total ? total : mine, bytes, result.data);
  return result;
}

std::size_t bytes_of(const elements& of) { return static_cast<std::size_t>(of.count) * datatypes::find(of.type).bytes; }

planned_request request_of(coll::collective what, const char* algorithm, const void* from, void* to,
                           coll::block_layout blocks, MPI_Datatype type, MPI_Op operation, int root = 0) {
  planned_request made{what, algorithm, from, to, std::move(blocks), type, datatypes::find(type).bytes, operation};
  made.is_commutative = false;
  made.root = root;
  return made;
}

planned_request scan_of(const void* from, const elements& to, MPI_Op operation, bool is_exclusive) {
  return request_of(is_exclusive ? coll::collective::exscan : coll::collective::scan, "multi_object", from, to.address,
                    coll::block_layout::uniform(static_cast<std::uint64_t>(to.count)), to.type, operation);
}

planned_request scattered_sum_of(const void* from, void* to, std::span<const std::uint64_t> counts, MPI_Datatype type,
                                 MPI_Op operation) {
  const bool is_uniform = std::ranges::adjacent_find(counts, std::ranges::not_equal_to()) == counts.end();
  return request_of(coll::collective::reduce_scatter, "multi_object", from, to,
                    is_uniform ? coll::block_layout::uniform(counts[0]) : coll::block_layout::of_table(counts), type,
                    operation);
}

}  // namespace

int ordered_reduce(session& in, communicator& comm, const void* from, const elements& to, MPI_Op operation, int root) {
  return run_planned(
      in, comm,
      request_of(coll::collective::reduce, "multi_object_parts", from, to.address,
                 coll::block_layout::uniform(static_cast<std::uint64_t>(to.count)), to.type, operation, root));
}

int ordered_allreduce(session& in, communicator& comm, const void* from, const elements& to, MPI_Op operation) {
  if (const std::size_t bytes = bytes_of(to); are_few(in, comm, bytes)) {
    const part sum = prefix_of_few(in, comm, own_part(from, to.address), bytes, to, operation, prefix::total);
    std::copy_n(sum.data, bytes, static_cast<std::byte*>(to.address));
    return MPI_SUCCESS;
  }
  return run_planned(in, comm,
                     request_of(coll::collective::allreduce, "multi_object_ring", from, to.address,
                                coll::block_layout::uniform(static_cast<std::uint64_t>(to.count)), to.type, operation));
}

int scan(session& in, communicator& comm, const void* from, const elements& to, MPI_Op operation, bool is_exclusive) {
  if (const std::size_t bytes = bytes_of(to); are_few(in, comm, bytes)) {
    const part sum = prefix_of_few(in, comm, own_part(from, to.address), bytes, to, operation,
                                   is_exclusive ? prefix::exclusive : prefix::inclusive);
    if (!is_exclusive || comm.rank > 0) std::copy_n(sum.data, bytes, static_cast<std::byte*>(to.address));
    return MPI_SUCCESS;
  }
  return run_planned(in, comm, scan_of(from, to, operation, is_exclusive));
}

int reduce_scatter(session& in, communicator& comm, const void* from, void* to, std::span<const std::uint64_t> counts,
                   MPI_Datatype type, MPI_Op operation) {
  const std::size_t size = datatypes::find(type).bytes;
  const std::uint64_t all = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  if (are_few(in, comm, all * size)) {
    const part sum = prefix_of_few(in, comm, own_part(from, to), all * size,
                                   {nullptr, static_cast<MPI_Count>(all), type}, operation, prefix::total);
    const auto mine = static_cast<std::size_t>(comm.rank);
    const std::uint64_t before = std::accumulate(counts.begin(), counts.begin() + comm.rank, std::uint64_t{0});
    std::copy_n(sum.data + before * size, counts[mine] * size, static_cast<std::byte*>(to));
    return MPI_SUCCESS;
  }
  return run_planned(in, comm, scattered_sum_of(from, to, counts, type, operation));
}

std::unique_ptr<nonblocking_operation> begin_scan(session& in, communicator& comm, const void* from, const elements& to,
                                                  MPI_Op operation, bool is_exclusive) {
  return planned_collective::begin(in, comm, scan_of(from, to, operation, is_exclusive));
}

std::unique_ptr<nonblocking_operation> begin_reduce_scatter(session& in, communicator& comm, const void* from, void* to,
                                                            std::span<const std::uint64_t> counts, MPI_Datatype type,
                                                            MPI_Op operation) {
  return planned_collective::begin(in, comm, scattered_sum_of(from, to, counts, type, operation));
}

}  // namespace tri::mpi::collectives
