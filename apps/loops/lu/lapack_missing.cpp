// See lapack.hpp: built without one.
#include <stdexcept>

#include "lu/lapack.hpp"

namespace kernels {

std::string lapack_name() { return {}; }
std::vector<std::size_t> lapack_factor(std::vector<double>&, std::size_t) {
  throw std::logic_error("this program was built without LAPACK");
}
void lapack_threads(int) {}

}  // namespace kernels
