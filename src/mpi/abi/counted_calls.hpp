// Counts the program's calls when statistics were requested: those handled by the drop-in and those passed to the
// library. Without statistics a call tests one pointer.
#pragma once

#include <mpi.h>

#include "mpi/engine/call_statistics.hpp"
#include "mpi/startup/session.hpp"

namespace tri::mpi {

/// What is recorded of a call. By default the enclosing function is the call.
struct counted_call {
  const char* name = nullptr;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Count count = -1;  // less than 0: without a size
  MPI_Datatype type = MPI_DATATYPE_NULL;
  bool is_on_window = false;
};

class counted_calls {
 public:
  static inline call_counts* counts = nullptr;  // of this rank, in shared memory
  static void add(const counted_call& call, bool is_intercepted);
  static void add(const counted_call& call, left_because reason);
};

/// As intercept_or_pass.
template <class Body, class Library>
int counted(const counted_call& call, Body&& body, Library&& library) {
  if (session* const in = session::active()) {
    const call_guard guard(*in);
    const int error = body(*in);
    if (counted_calls::counts != nullptr) [[unlikely]]
      counted_calls::add(call, error != pass_through);
    if (error != pass_through) return error;
  }
  return library();
}

}  // namespace tri::mpi
