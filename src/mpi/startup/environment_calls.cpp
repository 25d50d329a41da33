// The beginning of MPI. Its end: session.cpp.
#include <mpi.h>

#include "mpi/abi/exported.hpp"
#include "mpi/startup/session.hpp"

using namespace tri::mpi;

TRIREME_EXPORTED int MPI_Init(int* argc, char*** argv) {
  const int error = PMPI_Init(argc, argv);
  if (error == MPI_SUCCESS) session::start(MPI_THREAD_SINGLE);
  return error;
}

TRIREME_EXPORTED int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int error = PMPI_Init_thread(argc, argv, required, provided);
  if (error == MPI_SUCCESS) session::start(*provided);
  return error;
}
