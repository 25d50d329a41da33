// Large copies and reductions of one-sided operations as tasks on the board: waiting ranks take chunks of them (Ouyang
// 2022, chapter 2). The origin takes part; all is done when the functions return.
#pragma once

#include <cstddef>

#include "mpi/engine/engine.hpp"
#include "mpi/rma/engine/element_reduction.hpp"

namespace tri::mpi {

/// Both must be in memory that every process can access at these addresses, without overlap. False, with nothing done,
/// when sharing does not pay or there is no room on the board.
bool copy_together(engine& ranks, std::byte* to, const std::byte* from, std::size_t bytes);

/// As reduce_plainly, of contiguous elements that no other rank changes meanwhile. False as above, and when some rank
/// cannot access the memory.
bool reduce_together(engine& ranks, reduction operation, element_kind kind, std::byte* target,
                     const std::byte* operands, std::byte* before, std::size_t bytes);

}  // namespace tri::mpi
