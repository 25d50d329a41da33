// The part of the Coulomb interaction that the pair kernel computes:
//
//   E(r) = q_i q_j (1/r - g(r^2)),   F(r)/r = q_i q_j (1/r^3 + 2 g'(r^2))   for r < cutoff.
//
// With Ewald's splitting g(s) = erf(alpha sqrt(s)) / sqrt(s), so that E = q_i q_j erfc(alpha r)/r. It is an entire
// function of s: a short polynomial on [0, cutoff^2] has all its digits, vectors evaluate it without a table, and the
// force polynomial is the derivative of the energy polynomial, so that forces are the gradient of this very energy.
// Without splitting g = 0.
#pragma once

#include <cstdint>

namespace md {

/// Both polynomials in u = scale r^2 - 1, which is in [-1, 1]; the coefficient of the highest power comes first.
struct screened_coulomb {
  static constexpr std::uint32_t most_terms = 48;
  double scale = 0.0;
  std::uint32_t terms = 0;         ///< of each polynomial
  double energy[most_terms] = {};  ///< -g
  double force[most_terms] = {};   ///< 2 g'
};

/// Ewald's splitting with this alpha; alpha = 0: the plain Coulomb interaction. The polynomials are exact to 1e-12 of
/// the largest value of g or g'. Throws std::invalid_argument if alpha times cutoff is larger than 6, where erfc is
/// below the rounding of a double.
screened_coulomb make_screened_coulomb(double alpha, double cutoff);

}  // namespace md
