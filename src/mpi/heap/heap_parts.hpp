// The parts of the one user heap of a process, for the files of this folder.
#pragma once

#include "mpi/heap/page_runs.hpp"
#include "mpi/heap/small_blocks.hpp"

namespace tri::mpi {

extern page_runs heap_pages;
extern small_blocks heap_blocks;

/// In a forked child, once the heap is a private copy.
void user_heap_is_private_now();

/// Drops the free blocks that this thread holds, without returning them.
void forget_cached_blocks();

}  // namespace tri::mpi
