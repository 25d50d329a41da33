// The checks that every one-sided operation begins with.
#pragma once

#include <mpi.h>

#include "mpi/rma/typed_memory.hpp"
#include "mpi/rma/windows.hpp"

namespace tri::mpi {

/// Elements at an address of this process. MPI_SUCCESS, or the class of the error.
int describe(const void* address, MPI_Count count, MPI_Datatype type, typed_memory& described);

/// The memory that an operation accesses at its target.
class window_access {
 public:
  window_access(window& on, int rank, MPI_Aint displacement, MPI_Count count, MPI_Datatype type);

  /// There is an error, or the target is MPI_PROC_NULL.
  bool is_over() const { return error_ != MPI_SUCCESS || part_ == nullptr; }
  int error() const { return error_; }
  /// Accessible here if mapped; otherwise its address is valid in the target's process alone.
  const typed_memory& memory() const { return memory_; }
  bool is_reached() const { return is_reached_; }
  window_part& part() const { return *part_; }

 private:
  void find_attached(window_part& part, MPI_Aint displacement, const touched_bytes& touched);
  int error_ = MPI_SUCCESS;
  window_part* part_ = nullptr;
  typed_memory memory_;
  bool is_reached_ = true;
};

}  // namespace tri::mpi
