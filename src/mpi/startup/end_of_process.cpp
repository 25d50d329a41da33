// Reports, at process exit, that MPI was never initialized through our functions although the user enabled the drop-in:
// without a message all would seem fine, and the statistics would be missing.
#include <dlfcn.h>
#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "mpi/abi/abi.hpp"
#include "mpi/startup/session.hpp"
#include "mpi/startup/user_settings.hpp"

namespace tri::mpi {
namespace {

const pid_t loaded_in = getpid();  // forked children print nothing when they end

// By its name: shells have no MPI library, and nothing to report.
bool has_begun_mpi() {
  auto* const ask = reinterpret_cast<int (*)(int*)>(dlsym(RTLD_DEFAULT, "PMPI_Initialized"));
  int begun = 0;
  return ask != nullptr && ask(&begun) == MPI_SUCCESS && begun != 0;
}

// MPI has ended: only the launcher's variables are left. A process without a launcher is alone.
bool is_first_rank() {
  const char* const rank = std::getenv(abi::rank_variable);
  return rank == nullptr || std::string_view(rank) == "0";
}

[[gnu::destructor]] void tell_that_nothing_was_taken() {
  if (session::was_asked_to_start() || !(is_wished() || wished_statistics().any())) return;
  if (getpid() != loaded_in || !is_first_rank() || !has_begun_mpi()) return;
  fmt::print(
      stderr,
      "trireme mpi: the program initialized MPI through the profiling interface (PMPI_Init), as MPICH's mpi_f08 does; "
      "all messages were left to {}, and there are no statistics\n",
      abi::library_name);
}

}  // namespace
}  // namespace tri::mpi
