// The hosts of a job: which ranks share memory with this one. Numbers on a host are those of its arenas and of the
// engine, in the order of the ranks in MPI_COMM_WORLD.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "mpi/engine/records.hpp"

namespace tri::mpi {

struct job_hosts {
  MPI_Comm of_host = MPI_COMM_WORLD;  ///< the ranks of this host
  int rank = 0;                       ///< of this process among them
  int size = 0;
  std::vector<int> host_of;  ///< of each rank of MPI_COMM_WORLD: the first rank of its host. Empty: all are on this one

  bool are_several() const { return !host_of.empty(); }
  bool is_alone_everywhere() const;
  /// Of each rank of MPI_COMM_WORLD; `on_another_host` for the others.
  std::vector<std::uint32_t> numbers_on_host(int world_rank, int world_size) const;
};

/// By the library: collective over the job. `pretended`: of the ranks of a host, those with the same number share it.
job_hosts find_job_hosts(int world_rank, int world_size, int pretended);

}  // namespace tri::mpi
