// See block_multiply.hpp. Compiled for AVX2 with fused multiply-add.
#include "lu/block_multiply_loops.hpp"

namespace kernels {

void multiply_avx2(const block& c, const block& a, const block& b) { block_multiplier<4, 3, 4>::run(c, a, b); }

}  // namespace kernels
