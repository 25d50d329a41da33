// Whether a program can have virtual threads: decided by the undefined symbols in the dynamic sections of the loaded
// objects. Checked once, when the program first uses OpenMP.
#pragma once

#include <string>
#include <string_view>

namespace tri::omp {

struct program_traits {
  std::string unsupported;   // why it cannot; empty: it can
  bool keeps_errno = false;  // an object may keep the address of errno: started contexts stay on their thread
};

/// Of this process. `ours` is any address inside our own library.
program_traits look_at_program(const void* ours);

/// The parts, apart for tests.
/// Libraries that know nothing of the program's threads: the C and C++ and Fortran run-time and the OpenMP one.
bool is_known_library(std::string_view path);
/// MPI libraries and our drop-ins for them: their thread-local data and threads do not count against the program.
bool is_mpi_library(std::string_view path);
/// Why an object that imports this symbol cannot run on virtual threads, or null.
const char* unsupported_symbol(std::string_view name);
bool is_address_of_errno(std::string_view name);

}  // namespace tri::omp
