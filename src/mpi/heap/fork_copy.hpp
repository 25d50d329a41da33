// Forks that go on without exec: the child gets a private copy of the heap as it was at the fork, and can never change
// its parent's. vfork, posix_spawn, system and popen do not come here and pay nothing; fork followed by exec pays for
// the copy.
#pragma once

#include <cstdint>

#include "mpi/heap/heap_window.hpp"

namespace tri::mpi {

/// Registers the handlers. Called in the first allocation of the process, so that they are the first that are
/// registered: their prepare step runs last, their steps after the fork run first. False: no room for them.
bool guard_forks(const heap_window& own);

/// What the copies cost so far.
struct fork_copy_use {
  std::uint64_t copies = 0;
  std::uint64_t copied_bytes = 0;
};
fork_copy_use use_of_fork_copies();

}  // namespace tri::mpi
