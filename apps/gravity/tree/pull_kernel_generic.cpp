// The pull kernels for the base instruction set.
#include "gravity/tree/pull_loops.hpp"

namespace gravity::kernel {

extern const pull_kernels generic_kernels;
const pull_kernels generic_kernels = {"generic", &pull_of_multipoles, &pull_of_bodies, &pull_of_own_bodies};

}  // namespace gravity::kernel
