// See block_multiply.hpp. Compiled for AVX-512.
#include "lu/block_multiply_loops.hpp"

namespace kernels {

void multiply_avx512(const block& c, const block& a, const block& b) { block_multiplier<8, 3, 8>::run(c, a, b); }

}  // namespace kernels
