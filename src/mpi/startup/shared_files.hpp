// The files behind the memory that the ranks of a host share: each owner sends its file to all ranks, and all map it.
#pragma once

#include <cstdint>
#include <vector>

#include "mpi/startup/bootstrap_exchange.hpp"
#include "os/unique_fd.hpp"

namespace tri::mpi {

/// A process's user heap, broadcast to all.
struct heap_location {
  std::int32_t slot = -1;  // -1: there is none
  std::uint32_t unused = 0;
  std::uint64_t bytes = 0;
};

heap_location own_heap();

struct shared_files {
  std::vector<os::unique_fd> arenas;  // of each rank
  std::vector<os::unique_fd> heaps;   // likewise; those without one have none
};

/// Exchanges all files among all ranks of the host: all send theirs to the first rank, which sends all back.
/// Collective; when one rank throws, the caller notifies the others: all have then finished their sends and receives.
/// `locations`: the heap of each rank of the host.
shared_files exchange_files(int own_arena, const std::vector<heap_location>& locations,
                            const bootstrap_exchange& bootstrap);
/// Afterwards this rank can access the heaps of all. Throws std::runtime_error when one cannot be mapped.
void map_heaps(const shared_files& files, const std::vector<heap_location>& locations, int rank);

}  // namespace tri::mpi
