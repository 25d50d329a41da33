// Large copies and reductions of one-sided operations as tasks on the board: ranks that wait take chunks of them
// (Ouyang 2022, chapter 2). Who does the operation takes part, and has it all behind when the functions return.
#pragma once

#include <cstddef>

#include "mpi/engine/engine.hpp"
#include "mpi/windows/element_reduction.hpp"

namespace tri::mpi {

/// Both in memory that every process reaches at these addresses; they do not overlap. False, with nothing done, when it
/// is not worth it or there is no room on the board.
bool copy_together(engine& ranks, std::byte* to, const std::byte* from, std::size_t bytes);

/// As reduce_plainly, of contiguous elements that nobody else changes meanwhile. False as above, and when somebody does
/// not reach the memory.
bool reduce_together(engine& ranks, reduction operation, element_kind kind, std::byte* target,
                     const std::byte* operands, std::byte* before, std::size_t bytes);

}  // namespace tri::mpi
