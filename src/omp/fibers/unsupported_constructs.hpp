// Whether a program can have virtual threads: found by looking at what the objects that are loaded ask of others, in
// their dynamic sections. Looked at once, when the program first does something of OpenMP.
#pragma once

#include <string>
#include <string_view>

namespace tri::omp {

struct program_traits {
  std::string unsupported;   // why it cannot; empty: it can
  bool keeps_errno = false;  // an object asks where errno is, and may remember it: what has begun stays on its thread
};

/// Of this process. `ours` is any address inside our own library.
program_traits look_at_program(const void* ours);

/// The parts, apart for tests.
/// Libraries that know nothing of the program's threads: the C and C++ and Fortran run-time and the OpenMP one.
bool is_known_library(std::string_view path);
/// Those of MPI, and our drop-ins for them: each has thread-local data and threads, which is no fault of the program's.
bool is_mpi_library(std::string_view path);
/// Why an object that asks for this symbol cannot run on virtual threads, or null.
const char* unsupported_symbol(std::string_view name);
bool is_address_of_errno(std::string_view name);

}  // namespace tri::omp
