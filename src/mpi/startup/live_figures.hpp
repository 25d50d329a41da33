// What a rank shows to readers outside of the job (live/format.hpp): the counters that it has anyway, where they are.
#pragma once

#include "arena/heap.hpp"
#include "mpi/engine/endpoint.hpp"

namespace tri::mpi {

struct live_facts {
  int rank = 0;  // in MPI_COMM_WORLD
  int size = 1;
  int host = 0;
  int hosts = 1;
  int first_pid = 0;  // of the first rank of the host
};

/// Once, when the endpoint is laid out; `heap` is that of its window.
void publish_live_page(arena::heap& heap, const endpoint& own, const live_facts& facts);

}  // namespace tri::mpi
