// In place of pmix_client.cpp where the header of PMIx was missing when this was built.
#include "host/membership.hpp"
#include "host/pmix_client.hpp"

namespace tri::host {

std::unique_ptr<key_value_space> connect_to_pmix() {
  throw job_error(
      "PMIX_NAMESPACE is set, so a PMIx launcher (mpirun of Open MPI, srun) started this program, but this build of "
      "trireme was made without PMIx; install libpmix-dev and build again, or start the program with `trireme run`");
}

}  // namespace tri::host
