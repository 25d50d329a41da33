#include "mpi/coll/neighborhood.hpp"

#include <mpi.h>

#include <algorithm>
#include <memory>
#include <numeric>

namespace tri::mpi::collectives {
namespace {

neighborhood in_grid(MPI_Comm comm) {
  neighborhood made;
  int dimensions = 0;
  PMPI_Cartdim_get(comm, &dimensions);
  for (int dimension = 0; dimension < dimensions; ++dimension) {
    int below = MPI_PROC_NULL, above = MPI_PROC_NULL;
    PMPI_Cart_shift(comm, dimension, 1, &below, &above);
    made.sources.insert(made.sources.end(), {below, above});
    const std::size_t first = 2 * static_cast<std::size_t>(dimension);
    made.arrival.insert(made.arrival.end(), {first + 1, first});
  }
  made.destinations = made.sources;
  return made;
}

neighborhood in_graph(MPI_Comm comm, int rank) {
  neighborhood made;
  int count = 0;
  PMPI_Graph_neighbors_count(comm, rank, &count);
  made.sources.resize(static_cast<std::size_t>(count));
  PMPI_Graph_neighbors(comm, rank, count, made.sources.data());
  made.destinations = made.sources;
  return made;
}

neighborhood in_distributed_graph(MPI_Comm comm) {
  neighborhood made;
  int sources = 0, destinations = 0, is_weighted = 0;
  PMPI_Dist_graph_neighbors_count(comm, &sources, &destinations, &is_weighted);
  made.sources.resize(static_cast<std::size_t>(sources));
  made.destinations.resize(static_cast<std::size_t>(destinations));
  std::vector<int> weights(std::max(made.sources.size(), made.destinations.size()) + 1);
  PMPI_Dist_graph_neighbors(comm, sources, made.sources.data(), weights.data(), destinations, made.destinations.data(),
                            weights.data());
  return made;
}

}  // namespace

const neighborhood* neighborhood_of(communicator& comm) {
  if (comm.neighbors != nullptr) return comm.neighbors.get();
  if (comm.is_inter()) return nullptr;
  int topology = MPI_UNDEFINED;
  PMPI_Topo_test(comm.handle, &topology);
  if (topology == MPI_UNDEFINED) return nullptr;
  neighborhood made = topology == MPI_CART    ? in_grid(comm.handle)
                      : topology == MPI_GRAPH ? in_graph(comm.handle, comm.rank)
                                              : in_distributed_graph(comm.handle);
  if (made.arrival.empty()) {
    made.arrival.resize(made.sources.size());
    std::iota(made.arrival.begin(), made.arrival.end(), std::size_t{0});
  }
  comm.neighbors = std::make_shared<const neighborhood>(std::move(made));
  return comm.neighbors.get();
}

void begin_neighbor_exchange(operation& all, const neighborhood& neighbors, const parts& to_each,
                             const parts& from_each) {
  for (const std::size_t slot : neighbors.arrival)
    if (neighbors.sources[slot] != MPI_PROC_NULL)
      all.begin_receive(from_each.of(static_cast<int>(slot)), neighbors.sources[slot]);
  for (std::size_t slot = 0; slot < neighbors.destinations.size(); ++slot)
    if (neighbors.destinations[slot] != MPI_PROC_NULL)
      all.begin_send(to_each.of(static_cast<int>(slot)), neighbors.destinations[slot]);
}

}  // namespace tri::mpi::collectives
