// Collective operations among neighbours, of communicators with a topology: one message along each edge.
#pragma once

#include <cstddef>
#include <vector>

#include "mpi/coll/collectives.hpp"
#include "mpi/comm/communicators.hpp"

namespace tri::mpi::collectives {

/// In the order of the program's parts. Some are MPI_PROC_NULL (the edge of a grid); a rank may occur more than once,
/// and be its own neighbour.
struct neighborhood {
  std::vector<int> sources;
  std::vector<int> destinations;
  /// In which order the parts are received: messages of one sender come in the order in which it sends them. In a grid
  /// of one or two ranks the same one is on both sides; what it sends down comes from above here.
  std::vector<std::size_t> arrival;
};

/// Null: the communicator has no topology, on all members alike.
const neighborhood* neighborhood_of(communicator& comm);

/// `to_each` has a part for each destination, `from_each` for each source.
void begin_neighbor_exchange(operation& all, const neighborhood& neighbors, const parts& to_each,
                             const parts& from_each);

}  // namespace tri::mpi::collectives
