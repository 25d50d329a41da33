// What reductions' calls have in common: which operations on which elements are intercepted, and where a buffer is
// missing.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>

#include "mpi/coll/collective_arguments.hpp"
#include "mpi/coll/element_operation.hpp"
#include "mpi/coll/planned_collective.hpp"
#include "mpi/rma/accumulated_elements.hpp"
#include "mpi/rma/accumulation.hpp"

namespace tri::mpi {

/// Whether a predefined operation is defined on elements of a predefined type: of both nothing changes while MPI runs.
/// Of other types none is.
inline bool is_defined_on(reduction operation, MPI_Datatype type) {
  const element_type& element = element_type_of(type);
  return element.handle == type && operation != reduction::replace && operation != reduction::nothing &&
         is_defined(operation, element.kind, element.is_pair);
}

/// Whether it is one of an inter-communicator, where no rank contributes in place.
inline bool is_reduction_between_groups(const void* from, const elements& of, MPI_Op operation) {
  return is_valid(of.count, of.type) && from != MPI_IN_PLACE && operation != MPI_OP_NULL &&
         (!reduction_of(operation) || is_defined_on(*reduction_of(operation), of.type));
}

/// How the contributions of ranks may be combined.
enum class reduction_order : std::uint8_t {
  any,
  of_ranks,  ///< the operation is not commutative; plans can split vectors of the elements
  unknown,   ///< the library's: it also reports errors
};

/// The type is valid.
inline reduction_order order_of(MPI_Datatype type, MPI_Op operation) {
  static MPI_Datatype last_type = MPI_DATATYPE_NULL;  // calls are serialized
  static MPI_Op last_operation = MPI_OP_NULL;
  if (operation == MPI_OP_NULL) return reduction_order::unknown;
  if (type == last_type && operation == last_operation) return reduction_order::any;
  if (const std::optional<reduction> known = reduction_of(operation)) {
    if (!is_defined_on(*known, type)) return reduction_order::unknown;
    last_type = type;
    last_operation = operation;
    return reduction_order::any;
  }
  if (collectives::is_commutative(operation)) return reduction_order::any;
  return collectives::element_form::of(type) ? reduction_order::of_ranks : reduction_order::unknown;
}

/// The result buffer matters only on ranks that receive the result.
inline bool lacks_part(const void* from, bool gets_sum, const void* sum, MPI_Count count, MPI_Datatype type) {
  return lacks_buffer(from, count, type) || (gets_sum && lacks_buffer(sum, count, type));
}

}  // namespace tri::mpi
