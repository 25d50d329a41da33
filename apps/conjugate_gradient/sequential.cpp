// See sequential.hpp.
#include "conjugate_gradient/sequential.hpp"

#include <cmath>
#include <numeric>

namespace cg {
namespace {

using vector = std::vector<double>;

double dot(const vector& a, const vector& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

void multiply(const sparse_rows& matrix, const vector& p, vector& q) {
  for (std::size_t row = 0; row < q.size(); ++row) {
    double sum = 0;
    for (auto k = static_cast<std::size_t>(matrix.begin[row]); k < static_cast<std::size_t>(matrix.begin[row + 1]); ++k)
      sum += matrix.value[k] * p[static_cast<std::size_t>(matrix.column[k])];
    q[row] = sum;
  }
}

// Some steps of conjugate gradients for A z = x.
vector solve(const sparse_rows& matrix, const vector& x) {
  vector z(x.size()), r = x, p = x, q(x.size());
  double rho = dot(r, r);
  for (int step = 0; step < steps_of_iteration; ++step) {
    multiply(matrix, p, q);
    const double alpha = rho / dot(p, q);
    for (std::size_t i = 0; i < x.size(); ++i) z[i] += alpha * p[i];
    for (std::size_t i = 0; i < x.size(); ++i) r[i] -= alpha * q[i];
    const double before = rho;
    rho = dot(r, r);
    for (std::size_t i = 0; i < x.size(); ++i) p[i] = r[i] + rho / before * p[i];
  }
  return z;
}

}  // namespace

double sequential_zeta(const problem& of, const sparse_rows& matrix) {
  vector x(static_cast<std::size_t>(of.rows), 1.0);
  double zeta = 0;
  for (int iteration = 0; iteration < of.iterations; ++iteration) {
    const vector z = solve(matrix, x);
    zeta = of.shift + 1 / dot(x, z);
    const double scale = 1 / std::sqrt(dot(z, z));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = scale * z[i];
  }
  return zeta;
}

}  // namespace cg
