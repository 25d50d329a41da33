// The steps of which collectives of a few bytes are made: all ranks of a communicator exchange them in shared memory
// (shm_collective), or the last one combines them. And what reductions have in common.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "mpi/coll/collective_operation.hpp"
#include "mpi/coll/element_operation.hpp"
#include "mpi/comm/communicators.hpp"
#include "mpi/engine/shm_collective.hpp"
#include "mpi/startup/session.hpp"
#include "os/cpu/cpu_hints.hpp"

namespace tri::mpi::collectives {

// With more ranks than cores, and a few bytes each. All ranks decide alike.
inline bool fits_shm_collective(session& in, std::size_t bytes) {
  return in.ranks().options().oversubscribed && bytes <= shm_collective::most_bytes;
}

// `combine` computes the result from all parts, on one of the ranks.
template <class Combine>
const std::byte* combine_in_shm(session& in, communicator& comm, const void* own, std::size_t bytes,
                                Combine&& combine) {
  shm_collective& shared = *comm.barrier;
  const std::uint64_t count = ++comm.barriers;
  if (shared.arrive(static_cast<std::uint32_t>(comm.rank), own, bytes)) {
    combine(shared);
    shared.end();
    for (int rank = 0; rank < comm.size(); ++rank)
      if (rank != comm.rank) in.ranks().wake(comm.number_of[static_cast<std::size_t>(rank)]);
  } else {
    in.ranks().wait([&] { return shared.has_ended(count); });
  }
  return shared.outcome();
}

// Each rank has a core, there are few ranks, and a few bytes each. All ranks decide alike.
inline bool fits_exchange(session& in, const communicator& comm, std::size_t bytes) {
  return !in.ranks().options().oversubscribed && bytes <= shm_collective::most_bytes_offered &&
         shm_collective::can_offer(static_cast<std::uint32_t>(comm.size()));
}

// Calls `take(rank, its bytes)` for each rank. The others are about to offer, too: at first we look for nothing else.
template <class Take>
void exchange_in_shm(session& in, communicator& comm, const void* own, std::size_t bytes, Take&& take) {
  constexpr int looks = 100;
  constexpr std::uint64_t steps_between_progress = 8;
  shm_collective& shared = *comm.barrier;
  const std::uint64_t count = ++comm.barriers;
  shared.offer(static_cast<std::uint32_t>(comm.rank), count, own, bytes);
  for (int rank = 0; rank < comm.size(); ++rank)
    if (rank != comm.rank) in.ranks().wake_after_store(comm.number_of[static_cast<std::size_t>(rank)]);
  // Ranks that come at the same time never wait, so the library and other ranks would be forgotten.
  if (count % steps_between_progress == 0) in.ranks().progress();
  for (std::uint32_t rank = 0; rank < static_cast<std::uint32_t>(comm.size()); ++rank) {
    const auto has_offered = [&] { return shared.has_offered(rank, count); };
    for (int look = 0; look < looks && !has_offered(); ++look) os::cpu_relax();
    in.ranks().wait(has_offered);
    take(rank, shared.offered_by(rank, count));
  }
}

// `sum` becomes `left` op `sum`.
inline void reduce_local(const void* left, void* sum, const elements& of, MPI_Op operation_) {
  element_operation::of(of.type, operation_)(left, sum, of.count);
}

inline const void* own_part(const void* from, const void* to) { return from == MPI_IN_PLACE ? to : from; }

}  // namespace tri::mpi::collectives
