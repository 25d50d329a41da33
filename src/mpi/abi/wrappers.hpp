// MPI functions defined in front of the drop-in: by a profiling layer inside the program, or by a tool preloaded before
// us. Such a function calls PMPI_Send, which is the library's, while its peer's MPI_Recv is ours: the message would
// never be matched. So the drop-in disables itself then.
#pragma once

#include <optional>
#include <string>

namespace tri::mpi {

struct wrapper {
  std::string function;  // the first one that was found
  std::string object;    // the file that defines it
};
/// None when the program's calls reach us, directly or through layers that call the next definition (RTLD_NEXT).
std::optional<wrapper> wrapper_in_front();

}  // namespace tri::mpi
