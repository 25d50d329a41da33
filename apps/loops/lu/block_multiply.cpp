// See block_multiply.hpp: the variant for any processor, and the choice.
#include "lu/block_multiply.hpp"

#include "lu/block_multiply_loops.hpp"

namespace kernels {

void multiply_generic(const block& c, const block& a, const block& b) { block_multiplier<2, 2, 4>::run(c, a, b); }

const multiply_variant& chosen_multiply() {
  static const multiply_variant chosen = []() -> multiply_variant {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return {"avx512", multiply_avx512};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {"avx2", multiply_avx2};
#endif
    return {"generic", multiply_generic};
  }();
  return chosen;
}

}  // namespace kernels
