// NAS CG on one PE, without the runtime: what the parallel versions are compared with.
#pragma once

#include "conjugate_gradient/matrix.hpp"

namespace cg {

inline constexpr int steps_of_iteration = 25;

/// The estimate of the smallest eigenvalue after all iterations, from all rows of the matrix.
double sequential_zeta(const problem& of, const sparse_rows& matrix);

}  // namespace cg
