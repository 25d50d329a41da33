// Which of the program's memory every process of the host reaches at the same address.
#pragma once

#include <cstddef>

namespace tri::mpi {

bool is_user_memory_shared(const void* address, std::size_t bytes);

}  // namespace tri::mpi
