// The MPI libraries that a comparison can start: those found when Trireme was configured, and those that the user names
// in TRIREME_BENCH_MPI=name=folder,name=folder with mpicc and mpirun in the folder, for which the measuring program is
// built then and there.
#pragma once

#include <string>
#include <vector>

namespace tri::bench {

struct mpi_library {
  std::string name;       // "openmpi", "mpich": of our ABIs; others have the names the user gave them
  std::string launcher;   // mpirun
  std::string program;    // the measuring program
  bool open_mpi = false;  // what options its launcher understands
};

// Throws std::invalid_argument for a TRIREME_BENCH_MPI that cannot be understood or built for.
std::vector<mpi_library> mpi_libraries();

}  // namespace tri::bench
