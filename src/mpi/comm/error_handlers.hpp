// Errors of calls that the MPI library never saw: the program's error handlers hear of them as of the library's own. A
// handler that ends the job (MPI_ERRORS_ARE_FATAL) could only name PMPI_Comm_call_errhandler, so that before it a line
// on standard error says which call failed and why.
#pragma once

#include <mpi.h>

namespace tri::mpi {

/// Calls the communicator's error handler, and returns the code. At the end of a call that has the call guard, which is
/// let go of meanwhile: the handler may call MPI. `cause` is what the line names where the code itself says nothing
/// (MPI_ERR_IN_STATUS). MPI_SUCCESS: does nothing.
int report(MPI_Comm comm, int error, int cause);
inline int report(MPI_Comm comm, int error) { return error == MPI_SUCCESS ? error : report(comm, error, error); }

/// The same of a window and the call of that name, without the call guard.
int report_on_window(MPI_Win window, int error, const char* call);

}  // namespace tri::mpi
