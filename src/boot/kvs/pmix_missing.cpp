// In place of pmix_client.cpp where TRIREME_WITH_PMIX=OFF left it out.
#include "boot/kvs/pmix_client.hpp"
#include "boot/membership.hpp"

namespace tri::boot {

std::unique_ptr<key_value_space> connect_to_pmix() {
  throw job_error(
      "PMIX_NAMESPACE is set, so a PMIx launcher (mpirun of Open MPI, srun) started this program, but this build of "
      "trireme was configured with TRIREME_WITH_PMIX=OFF; build it without that, or start the program with `trireme "
      "run`");
}

}  // namespace tri::boot
