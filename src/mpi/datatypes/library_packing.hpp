// Packing by the MPI library, for the few datatypes that no layout describes. Its calls count bytes in an int; these
// functions do not.
#pragma once

#include <mpi.h>

#include <climits>
#include <cstddef>

namespace tri::mpi {

/// Maximum bytes per pack call of the library. Smaller in tests.
inline constexpr std::size_t most_packed_at_once = INT_MAX;

/// All elements.
void pack_by_library(const void* from, MPI_Count count, MPI_Datatype type, std::byte* to,
                     std::size_t at_once = most_packed_at_once);
/// The bytes may end inside an element; `count` elements have room for them.
void unpack_by_library(const std::byte* from, std::size_t bytes, void* to, MPI_Count count, MPI_Datatype type,
                       std::size_t at_once = most_packed_at_once);

}  // namespace tri::mpi
