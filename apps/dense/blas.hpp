// BLAS on row-major blocks: the calls that the programs of this folder make, with 64-bit extents. OpenBLAS runs each in
// the calling thread (use_one_thread): the PEs are the threads.
#pragma once

#include <cblas.h>

#include <cstdint>

extern "C" void dpotrf_(const char* triangle, const blasint* n, double* a, const blasint* lda, blasint* info);

namespace dense {

using extent = std::int64_t;

/// Elements (i, j) at data[i * leading_dimension + j].
struct block {
  double* data;
  extent leading_dimension;
};
struct const_block {
  const double* data;
  extent leading_dimension;
  const_block(const double* first, extent between_rows) : data(first), leading_dimension(between_rows) {}
  const_block(const block& from)
      : data(from.data), leading_dimension(from.leading_dimension) {}  // NOLINT(google-explicit-constructor)
};

inline blasint as_blasint(extent number) { return static_cast<blasint>(number); }

/// For all threads of the process, before the first other call; any thread, any number of times.
inline void use_one_thread() {
  static const bool done = (openblas_set_num_threads(1), true);
  (void)done;
}

/// c += alpha op(a) op(b), where c has rows x columns elements and `inner` is the length of the sums.
inline void multiply(extent rows, extent columns, extent inner, double alpha, CBLAS_TRANSPOSE op_a,
                     const const_block& a, CBLAS_TRANSPOSE op_b, const const_block& b, const block& c) {
  if (rows == 0 || columns == 0 || inner == 0) return;
  cblas_dgemm(CblasRowMajor, op_a, op_b, as_blasint(rows), as_blasint(columns), as_blasint(inner), alpha, a.data,
              as_blasint(a.leading_dimension), b.data, as_blasint(b.leading_dimension), 1.0, c.data,
              as_blasint(c.leading_dimension));
}
/// The lower triangle of c -= a a^T.
inline void subtract_square(extent rows, extent inner, const const_block& a, const block& c) {
  cblas_dsyrk(CblasRowMajor, CblasLower, CblasNoTrans, as_blasint(rows), as_blasint(inner), -1.0, a.data,
              as_blasint(a.leading_dimension), 1.0, c.data, as_blasint(c.leading_dimension));
}
/// b = l^-1 b with the lower triangle of l, whose diagonal is ones.
inline void solve_unit_lower(extent rows, extent columns, const const_block& l, const block& b) {
  if (rows == 0 || columns == 0) return;
  cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, CblasNoTrans, CblasUnit, as_blasint(rows), as_blasint(columns), 1.0,
              l.data, as_blasint(l.leading_dimension), b.data, as_blasint(b.leading_dimension));
}
/// b = b l^-T with the lower triangle of l, of columns x columns.
inline void solve_lower_from_the_right(extent rows, extent columns, const const_block& l, const block& b) {
  if (rows == 0 || columns == 0) return;
  cblas_dtrsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, as_blasint(rows), as_blasint(columns),
              1.0, l.data, as_blasint(l.leading_dimension), b.data, as_blasint(b.leading_dimension));
}

/// Replaces the lower triangle of a symmetric block by its Cholesky factor; false: it is not positive definite.
inline bool factor_symmetric(extent n, const block& a) {
  const blasint size = as_blasint(n), lda = as_blasint(a.leading_dimension);
  blasint info = 0;
  dpotrf_("U", &size, a.data, &lda, &info);  // upper for who counts columns first
  return info == 0;
}

}  // namespace dense
