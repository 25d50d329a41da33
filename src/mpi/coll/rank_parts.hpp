// The data that goes to, or comes from, each rank or neighbour.
#pragma once

#include "mpi/coll/collective_operation.hpp"

namespace tri::mpi::collectives {

/// The data sent to or received from one rank.
using part_function = elements (*)(const void* description, int rank);
struct parts {
  part_function part = nullptr;
  const void* description = nullptr;
  elements of(int rank) const { return part(description, rank); }
};

}  // namespace tri::mpi::collectives
