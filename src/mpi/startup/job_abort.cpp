#include "mpi/startup/job_abort.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <cstdlib>

#include "os/standard_output.hpp"

namespace tri::mpi {

void abort_job(std::string_view why) {
  os::print_error_line(fmt::format("trireme mpi: {}", why));
  os::wait_until_output_is_read();
  PMPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

}  // namespace tri::mpi
