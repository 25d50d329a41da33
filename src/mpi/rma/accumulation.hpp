// The accumulate family on memory that this process reaches: the elements of a target, changed by operands, each
// atomically towards all other calls of the family on the same window.
#pragma once

#include <mpi.h>

#include <cstddef>

#include "mpi/engine/engine.hpp"
#include "mpi/rma/accumulated_elements.hpp"
#include "mpi/rma/engine/accumulate_order.hpp"
#include "mpi/rma/typed_memory.hpp"

namespace tri::mpi {

/// target = target op operands, element by element. `before`, if not null, gets the old values, packed; `operands` are
/// packed, as many bytes as the target has, and null for reduction::nothing. `order` is that of the target's elements.
/// The type is valid, its elements are `element`s, and the operation is defined on them.
void accumulate(engine& ranks, const typed_memory& target, const element_type& element, reduction operation,
                MPI_Op handle, const std::byte* operands, std::byte* before, accumulate_order order);

/// One element: becomes `desired` if it is `expected`; `before` gets the old value.
void compare_and_swap(void* target, const element_type& element, const void* expected, const void* desired,
                      void* before, accumulate_order order);

}  // namespace tri::mpi
