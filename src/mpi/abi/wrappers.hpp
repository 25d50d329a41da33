// Functions of MPI that somebody defines in front of the drop-in: a profiling layer inside the program, or a tool that
// was preloaded before us. Such a function calls PMPI_Send, which is the library's, while its peer's MPI_Recv is ours:
// the message would never be found. So the drop-in stands aside then.
#pragma once

#include <optional>
#include <string>

namespace tri::mpi {

struct wrapper {
  std::string function;  // the first one that was found
  std::string object;    // the file that defines it
};
/// None when the program's calls reach us, directly or through layers that pass on to whoever comes next (RTLD_NEXT).
std::optional<wrapper> wrapper_in_front();

}  // namespace tri::mpi
