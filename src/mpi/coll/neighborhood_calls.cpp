// MPI's collective calls among neighbours.
#include <mpi.h>

#include "mpi/coll/collective_forms.hpp"
#include "mpi/coll/neighborhood.hpp"
#include "mpi/coll/part_arguments.hpp"

namespace tri::mpi {
namespace {

// The same elements for each neighbour.
equal_parts same_for_all(const void* start, MPI_Count count, MPI_Datatype type) {
  equal_parts made(start, count, type);
  made.extent = 0;
  return made;
}

template <class PartsTo, class PartsFrom>
int exchange(session& in, communicator& known, const completion& how, const PartsTo& to_each,
             const PartsFrom& from_each) {
  const collectives::neighborhood* const neighbors = collectives::neighborhood_of(known);
  if (neighbors == nullptr) return pass_through;
  const auto destinations = static_cast<int>(neighbors->destinations.size());
  const auto sources = static_cast<int>(neighbors->sources.size());
  if ((destinations > 0 && !to_each.are_valid(destinations)) || (sources > 0 && !from_each.are_valid(sources)))
    return leave_to_library(known);
  return run(in, known, how, [&](collectives::operation& all) {
    collectives::begin_neighbor_exchange(all, *neighbors, to_each.all(), from_each.all());
  });
}

// How many neighbours this rank sends to, and receives from.
int destinations_of(communicator& known) {
  const collectives::neighborhood* const neighbors = collectives::neighborhood_of(known);
  return neighbors == nullptr ? 0 : static_cast<int>(neighbors->destinations.size());
}
int sources_of(communicator& known) {
  const collectives::neighborhood* const neighbors = collectives::neighborhood_of(known);
  return neighbors == nullptr ? 0 : static_cast<int>(neighbors->sources.size());
}

}  // namespace
}  // namespace tri::mpi

using namespace tri::mpi;

#define TRIREME_COLLECTIVES(suffix, count_type, displacement_type)                                                 \
  TRIREME_COLLECTIVE(Neighbor_allgather, Ineighbor_allgather, suffix,                                              \
                     (const void* from, count_type count, MPI_Datatype type, void* to, count_type each,            \
                      MPI_Datatype to_type, MPI_Comm comm),                                                        \
                     (from, count, type, to, each, to_type, comm), (count, type),                                  \
                     (, type = kept(type), to_type = kept(to_type)),                                               \
                     exchange(in, known, how, same_for_all(from, count, type), equal_parts(to, each, to_type)))    \
  TRIREME_COLLECTIVE(                                                                                              \
      Neighbor_allgatherv, Ineighbor_allgatherv, suffix,                                                           \
      (const void* from, count_type count, MPI_Datatype type, void* to, const count_type counts[],                 \
       const displacement_type places[], MPI_Datatype to_type, MPI_Comm comm),                                     \
      (from, count, type, to, counts, places, to_type, comm), (count, type),                                       \
      (, type = kept(type), to_type = kept(to_type)),                                                              \
      exchange(in, known, how, same_for_all(from, count, type), unequal_parts(to, counts, places, to_type)))       \
  TRIREME_COLLECTIVE(Neighbor_alltoall, Ineighbor_alltoall, suffix,                                                \
                     (const void* from, count_type count, MPI_Datatype type, void* to, count_type each,            \
                      MPI_Datatype to_type, MPI_Comm comm),                                                        \
                     (from, count, type, to, each, to_type, comm), (count, type),                                  \
                     (, type = kept(type), to_type = kept(to_type)),                                               \
                     exchange(in, known, how, equal_parts(from, count, type), equal_parts(to, each, to_type)))     \
  TRIREME_COLLECTIVE(                                                                                              \
      Neighbor_alltoallv, Ineighbor_alltoallv, suffix,                                                             \
      (const void* from, const count_type counts[], const displacement_type places[], MPI_Datatype type, void* to, \
       const count_type to_counts[], const displacement_type to_places[], MPI_Datatype to_type, MPI_Comm comm),    \
      (from, counts, places, type, to, to_counts, to_places, to_type, comm), (-1, type),                           \
      (, type = kept(type), to_type = kept(to_type)),                                                              \
      exchange(in, known, how, unequal_parts(from, counts, places, type),                                          \
               unequal_parts(to, to_counts, to_places, to_type)))                                                  \
  TRIREME_COLLECTIVE(                                                                                              \
      Neighbor_alltoallw, Ineighbor_alltoallw, suffix,                                                             \
      (const void* from, const count_type counts[], const MPI_Aint places[], const MPI_Datatype types[], void* to, \
       const count_type to_counts[], const MPI_Aint to_places[], const MPI_Datatype to_types[], MPI_Comm comm),    \
      (from, counts, places, types, to, to_counts, to_places, to_types, comm), (-1, MPI_DATATYPE_NULL),            \
      (, types = kept(types, destinations_of(of)), to_types = kept(to_types, sources_of(of))),                     \
      exchange(in, known, how, typed_parts(from, counts, places, types),                                           \
               typed_parts(to, to_counts, to_places, to_types)))

TRIREME_COLLECTIVES(, int, int)
#if MPI_VERSION >= 4
TRIREME_COLLECTIVES(_c, MPI_Count, MPI_Aint)
#endif
#undef TRIREME_COLLECTIVES
