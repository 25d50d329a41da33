// The predefined datatypes of C, C++ and Fortran. Per ABI, as read_datatype.hpp.
#pragma once

#include <mpi.h>

#include <optional>

#include "mpi/datatypes/layout/datatype.hpp"

namespace tri::mpi {

/// The predefined datatype with this handle, also LB and UB, or nothing.
std::optional<datatype> named_datatype(MPI_Datatype handle);

/// A number of this many bytes; nothing if this machine has none.
enum class number_class { integer, unsigned_integer, logical, real, complex };
std::optional<element_kind> kind_of(number_class what, int bytes);

}  // namespace tri::mpi
