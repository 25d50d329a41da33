// Copies between a piece of a message and contiguous memory of the own process. Those of buffers with a layout are on
// the board: all ranks of the host that wait take part (Ouyang 2022, chapter 2). The buffer is in a record.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpi/engine/engine.hpp"

namespace tri::mpi {

void pack_piece(engine& ranks, const user_buffer& from, std::uint64_t offset, std::byte* to, std::size_t bytes);
/// False: the kernel has refused.
bool unpack_piece(engine& ranks, const user_buffer& to, std::uint64_t offset, std::byte* from, std::size_t bytes);

}  // namespace tri::mpi
