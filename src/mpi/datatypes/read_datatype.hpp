// Reads the description of a datatype out of the MPI library that made it. Compiled once per ABI: <mpi.h> is that of
// the library the file is built for. Called while the datatype exists, by any thread that may call MPI.
#pragma once

#include <mpi.h>

#include <stdexcept>

#include "mpi/datatypes/layout/datatype.hpp"

namespace tri::mpi {

/// A datatype that we cannot move but the MPI library can; what() names it.
class unsupported_datatype : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What `type` is made of, with the bounds that the library gives it. It need not be committed. Only PMPI_ functions
/// are called, and handles that they return are released. Throws unsupported_datatype.
datatype read_datatype(MPI_Datatype type);

}  // namespace tri::mpi
