// Datatypes and operations as the accumulate family needs them: every datatype there consists of elements of one
// predefined type.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <optional>

#include "mpi/datatypes/layout/element_kind.hpp"
#include "mpi/rma/engine/element_reduction.hpp"

namespace tri::mpi {

struct element_type {
  MPI_Datatype handle = MPI_DATATYPE_NULL;  // the predefined one; null: none
  element_kind kind = element_kind::mixed;
  bool is_pair = false;    // a value and its place
  std::size_t bytes = 0;   // packed
  std::size_t extent = 0;  // from one element to the next in memory
  bool is_single_instruction() const { return !is_pair && tri::mpi::is_single_instruction(kind); }
};

/// Of a valid datatype. Remembered until the datatype is freed.
const element_type& element_type_of(MPI_Datatype type);
/// The same, with what accumulates compute with: bytes and characters are integers there, as in the MPI libraries.
const element_type& accumulated_as(MPI_Datatype type);
/// Before the library frees it.
void forget_element_type(MPI_Datatype type);

/// Nothing for operations that are not predefined.
std::optional<reduction> reduction_of(MPI_Op operation);

}  // namespace tri::mpi
