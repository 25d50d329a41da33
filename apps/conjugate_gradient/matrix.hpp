// The matrix of NAS CG (Bailey et al., NAS Parallel Benchmarks, RNR-94-007): sparse, symmetric, positive definite up to
// a shift, made of random vectors that every program makes alike.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cg {

/// A class of the benchmark. Its zeta is the published result; 0: there is none.
struct problem {
  std::string name;
  std::int64_t rows;
  std::int64_t nonzeros_of_vector;
  int iterations;
  double shift;
  double zeta;
};
/// The published classes S, W, A, B, and `tiny`, for tests.
const std::vector<problem>& problems();

/// Some rows of a matrix, row after row, columns ascending.
struct sparse_rows {
  std::int64_t first = 0;                 // number of the first row
  std::vector<std::int64_t> begin = {0};  // of each row in the two below; one more than rows
  std::vector<std::int64_t> column = {};
  std::vector<double> value = {};
  std::int64_t count() const { return static_cast<std::int64_t>(begin.size()) - 1; }
};
/// Rows `first` to `last` (not included). The random numbers of all rows are drawn, whichever are wanted.
sparse_rows make_rows(const problem& of, std::int64_t first, std::int64_t last);

/// Floating-point operations that the benchmark counts for a run.
double operations(const problem& of);

}  // namespace cg
