// Which of the program's memory every process of the host reaches, and where.
#pragma once

#include <cstddef>

namespace tri::mpi {

/// The address valid in all ranks of the host: the same for the heap and our own memory, an alias for static data. Null
/// for all other memory (the stack, libraries, files).
void* shared_address_of_user_memory(const void* address, std::size_t bytes);

/// The arena of the job: this many consecutive windows are mapped in every process.
void set_arena_windows(int windows);

}  // namespace tri::mpi
