// Forks: the child gets a private copy of the heap as of the fork, and can never change its parent's. When free memory
// does not allow a copy, the child gets a private view of the parent's pages, and the parent waits briefly for it to
// exec (docs/dev/decisions/0013-forks-without-memory.md). vfork, posix_spawn, system and popen do not come here and
// cost nothing; fork followed by exec pays for the copy.
#pragma once

#include <cstdint>

#include "mpi/heap/heap_window.hpp"

namespace tri::mpi {

/// Registers the handlers. Called in the first allocation of the process, so that they are the first that are
/// registered: their prepare step runs last, their steps after the fork run first. False: no room for them.
bool guard_forks(const heap_window& own);

/// The cost of the forks so far.
struct fork_copy_use {
  std::uint64_t copies = 0;
  std::uint64_t copied_bytes = 0;
  std::uint64_t views = 0;  ///< forks without a copy
};
fork_copy_use use_of_fork_copies();

}  // namespace tri::mpi
