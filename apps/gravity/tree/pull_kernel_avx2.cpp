// The pull kernels for processors with AVX2.
#include "gravity/tree/pull_loops.hpp"

namespace gravity::kernel {

extern const pull_kernels avx2_kernels;
const pull_kernels avx2_kernels = {"avx2", &pull_of_multipoles, &pull_of_bodies, &pull_of_own_bodies};

}  // namespace gravity::kernel
