// The arguments of collective calls with a part for each rank, or for each neighbour.
#pragma once

#include <mpi.h>

#include <algorithm>

#include "mpi/coll/collective_arguments.hpp"

namespace tri::mpi {

inline MPI_Aint extent_of(MPI_Datatype type) {
  MPI_Aint lower = 0, extent = 0;
  if (type == MPI_BYTE) return 1;
  if (!is_valid(0, type)) return 0;  // the library reports it through the communicator's error handler, unknown here
  PMPI_Type_get_extent(type, &lower, &extent);
  return extent;
}

/// As many elements for each rank, one part behind the other.
struct equal_parts {
  void* address;
  MPI_Count count;
  MPI_Datatype type;
  MPI_Aint extent;

  equal_parts(const void* start, MPI_Count each, MPI_Datatype of_type)
      : address(const_cast<void*>(start)), count(each), type(of_type), extent(extent_of(of_type)) {}
  bool are_valid(int) const {
    if (type == MPI_BYTE && count == 0) return true;
    return is_valid(count, type) && !lacks_buffer(address, count, type);
  }
  elements whole(int ranks) const { return {address, count * ranks, type}; }
  parts all() const {
    return {[](const void* description, int rank) {
              const auto& self = *static_cast<const equal_parts*>(description);
              return elements{static_cast<std::byte*>(self.address) + rank * self.count * self.extent, self.count,
                              self.type};
            },
            this};
  }
};

template <class Count, class Displacement>
struct unequal_parts {
  void* address;
  const Count* counts;  // null on ranks that receive no part
  const Displacement* displacements;
  MPI_Datatype type;
  MPI_Aint extent;

  unequal_parts(const void* start, const Count* of_rank, const Displacement* at, MPI_Datatype of_type)
      : address(const_cast<void*>(start)),
        counts(of_rank),
        displacements(at),
        type(of_type),
        extent(extent_of(of_type)) {}
  bool are_valid(int ranks) const {
    return is_valid(0, type) && (counts == nullptr || std::all_of(counts, counts + ranks, [&](Count c) {
                                   return c >= 0 && !lacks_buffer(address, c, type);
                                 }));
  }
  parts all() const {
    return {[](const void* description, int rank) {
              const auto& self = *static_cast<const unequal_parts*>(description);
              return elements{static_cast<std::byte*>(self.address) + self.displacements[rank] * self.extent,
                              self.counts[rank], self.type};
            },
            this};
  }
};

/// Each with a type of its own; displacements are in bytes.
template <class Count, class Displacement>
struct typed_parts {
  void* address;
  const Count* counts;  // null: there are no parts
  const Displacement* displacements;
  const MPI_Datatype* types;

  typed_parts(const void* start, const Count* of_rank, const Displacement* at, const MPI_Datatype* of_types)
      : address(const_cast<void*>(start)), counts(of_rank), displacements(at), types(of_types) {}
  bool are_valid(int ranks) const {
    for (int rank = 0; rank < ranks && counts != nullptr; ++rank)
      if (!is_valid(counts[rank], types[rank]) || lacks_buffer(address, counts[rank], types[rank])) return false;
    return true;
  }
  parts all() const {
    return {[](const void* description, int rank) {
              const auto& self = *static_cast<const typed_parts*>(description);
              return elements{static_cast<std::byte*>(self.address) + self.displacements[rank], self.counts[rank],
                              self.types[rank]};
            },
            this};
  }
};

/// Parts that matter at the root only, or not in place: elsewhere the arguments may be anything.
inline equal_parts equal_parts_if(bool is_here, const void* start, MPI_Count each, MPI_Datatype type) {
  return {start, is_here ? each : 0, is_here ? type : MPI_BYTE};
}
template <class Count, class Displacement>
unequal_parts<Count, Displacement> unequal_parts_if(bool is_here, const void* start, const Count* counts,
                                                    const Displacement* displacements, MPI_Datatype type) {
  return {start, is_here ? counts : nullptr, displacements, is_here ? type : MPI_BYTE};
}

}  // namespace tri::mpi
