// Elements in memory of another process that is not mapped here: the kernel copies them.
#pragma once

#include <sys/types.h>

#include <cstddef>

#include "mpi/rma/typed_memory.hpp"

namespace tri::mpi {

/// Whether we know the elements' layout; possibly only the MPI library does.
bool can_be_copied_by_kernel(const typed_memory& there);
/// To and from their packed form; `process` is the other one, or this. False when the kernel refuses.
[[nodiscard]] bool read_remote(const typed_memory& there, pid_t process, std::byte* packed);
[[nodiscard]] bool write_remote(const std::byte* packed, const typed_memory& there, pid_t process);

}  // namespace tri::mpi
