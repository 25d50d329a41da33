// The checks that every one-sided operation begins with.
#pragma once

#include <mpi.h>

#include "mpi/calls/typed_memory.hpp"
#include "mpi/calls/windows.hpp"

namespace tri::mpi {

/// Elements at an address of this process. MPI_SUCCESS, or the class of the error.
int describe(const void* address, MPI_Count count, MPI_Datatype type, typed_memory& described);

/// What an operation accesses at its target.
class window_access {
 public:
  window_access(window& on, int rank, MPI_Aint displacement, MPI_Count count, MPI_Datatype type);

  /// There is an error, or nobody at the other end.
  bool is_over() const { return error_ != MPI_SUCCESS || part_ == nullptr; }
  int error() const { return error_; }
  const typed_memory& memory() const { return memory_; }
  window_part& part() const { return *part_; }

 private:
  int error_ = MPI_SUCCESS;
  window_part* part_ = nullptr;
  typed_memory memory_;
};

}  // namespace tri::mpi
