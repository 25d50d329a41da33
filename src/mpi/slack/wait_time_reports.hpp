// Where the waits in MPI calls are reported, and the MPI library's functions behind ours. Any thread.
#pragma once

#include <cstdint>

#include "os/loaded_objects.hpp"

namespace tri::mpi_slack {

// The definition behind a profiling name (PMPI_...): in the usual search order, or, when MPI was loaded privately by a
// plug-in of an interpreter, in whichever loaded object defines it. When none does, reports the name and ends the
// process.
void* find_profiled(const char* name);

using profiled_function = os::late_function<void(), find_profiled>;

// A blocking call of this thread, from its beginning to its end. Calls that the MPI library makes inside of it (a
// Fortran binding that calls the C one) are part of it and not reported.
class blocking_call {
 public:
  // `count`: elements, where the call has a number of them.
  explicit blocking_call(const char* operation, std::int64_t count);
  ~blocking_call();
  blocking_call(const blocking_call&) = delete;
  blocking_call& operator=(const blocking_call&) = delete;

 private:
  const char* operation_;
  std::int64_t count_;
  std::int64_t began_ = 0;  // ns
};

}  // namespace tri::mpi_slack
