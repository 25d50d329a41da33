// PMIx: mpirun of Open MPI, prterun, srun. The library is loaded only under such a launcher, so that programs neither
// need it nor wait for it.
#pragma once

#include <memory>

#include "boot/kvs/key_value_space.hpp"

namespace tri::boot {

// Throws job_error when libpmix cannot be loaded, when this build has no support for it, or when the launcher does not
// answer.
std::unique_ptr<key_value_space> connect_to_pmix();

}  // namespace tri::boot
