// Errors of calls that the MPI library never saw: the program's error handlers are called as for the library's own. A
// handler that ends the job (MPI_ERRORS_ARE_FATAL) could only name PMPI_Comm_call_errhandler, so a line on standard
// error first names the call and the cause.
#pragma once

#include <mpi.h>

namespace tri::mpi {

/// Calls the communicator's error handler and returns the code. At the end of a call that holds the call guard, which
/// is released meanwhile: the handler may call MPI. `cause` is what the line names when the code itself has no
/// information (MPI_ERR_IN_STATUS). MPI_SUCCESS: does nothing.
int report(MPI_Comm comm, int error, int cause);
inline int report(MPI_Comm comm, int error) { return error == MPI_SUCCESS ? error : report(comm, error, error); }

/// The same of a window and the call of that name, without the call guard.
int report_on_window(MPI_Win window, int error, const char* call);

}  // namespace tri::mpi
