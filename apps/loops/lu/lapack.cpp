// See lapack.hpp. Fortran's calling convention, 32-bit integers: what Debian's liblapack and libopenblas have.
#include "lu/lapack.hpp"

#include <stdexcept>

extern "C" {
void dgetrf_(const int* rows, const int* columns, double* matrix, const int* stride, int* pivots, int* info);
void openblas_set_num_threads(int count) __attribute__((weak));
}

namespace kernels {

std::string lapack_name() { return openblas_set_num_threads != nullptr ? "OpenBLAS" : "LAPACK"; }

std::vector<std::size_t> lapack_factor(std::vector<double>& matrix, std::size_t size) {
  const int count = static_cast<int>(size);
  std::vector<int> rows(size);
  int info = 0;
  dgetrf_(&count, &count, matrix.data(), &count, rows.data(), &info);
  if (info < 0) throw std::logic_error("dgetrf: an argument is wrong");
  std::vector<std::size_t> pivots;
  for (const int row : rows) pivots.push_back(static_cast<std::size_t>(row) - 1);
  return pivots;
}

void lapack_threads([[maybe_unused]] int count) {
#ifdef __SANITIZE_THREAD__
  count = 1;  // how the library's own threads synchronise is hidden from the sanitizer, which would report them
#endif
  if (openblas_set_num_threads != nullptr) openblas_set_num_threads(count);
}

}  // namespace kernels
