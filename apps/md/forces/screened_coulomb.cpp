// See screened_coulomb.hpp. The polynomials are Chebyshev interpolations, turned into powers with long doubles: the
// conversion loses up to four digits, which these have to spare.
#include "md/forces/screened_coulomb.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <stdexcept>
#include <vector>

namespace md {
namespace {

constexpr int nodes = 64;
constexpr long double precision = 1e-12L;
constexpr long double pi = std::numbers::pi_v<long double>;

long double smooth_part(long double alpha, long double s) {
  const long double r = std::sqrt(s);
  return std::erf(alpha * r) / r;
}

// Coefficients of the Chebyshev polynomials T_0, T_1, ... of g on [0, cutoff^2].
std::vector<long double> chebyshev_series(long double alpha, long double cutoff) {
  std::vector<long double> values(nodes);
  for (int i = 0; i < nodes; ++i) {
    const long double u = std::cos(pi * (i + 0.5L) / nodes);
    values[static_cast<std::size_t>(i)] = smooth_part(alpha, 0.5L * cutoff * cutoff * (u + 1.0L));
  }
  std::vector<long double> series(nodes);
  for (int k = 0; k < nodes; ++k) {
    long double sum = 0.0L;
    for (int i = 0; i < nodes; ++i) sum += values[static_cast<std::size_t>(i)] * std::cos(pi * k * (i + 0.5L) / nodes);
    series[static_cast<std::size_t>(k)] = sum * (k == 0 ? 1.0L : 2.0L) / nodes;
  }
  return series;
}

// How many terms leave out no more than the precision of the derivative, in which T_k counts at most k^2.
std::size_t terms_needed(const std::vector<long double>& series) {
  long double largest = 0.0L;
  for (std::size_t k = 0; k < series.size(); ++k) largest += std::abs(series[k]);
  long double left_out = 0.0L;
  std::size_t terms = series.size();
  while (terms > 1) {
    left_out += std::abs(series[terms - 1]) * static_cast<long double>((terms - 1) * (terms - 1));
    if (left_out > precision * largest) break;
    --terms;
  }
  return terms;
}

// Powers of u, the lowest first.
std::vector<long double> powers_of(const std::vector<long double>& series, std::size_t terms) {
  std::vector<long double> result(terms);
  std::vector<long double> before(terms);
  std::vector<long double> now(terms);
  before[0] = 1.0L;
  if (terms > 1) now[1] = 1.0L;
  for (std::size_t k = 0; k < terms; ++k) {
    const std::vector<long double>& chebyshev = k == 0 ? before : now;
    for (std::size_t power = 0; power < terms; ++power) result[power] += series[k] * chebyshev[power];
    if (k == 0) continue;
    std::vector<long double> next(terms);
    for (std::size_t power = 0; power < terms; ++power) {
      next[power] = (power == 0 ? 0.0L : 2.0L * now[power - 1]) - before[power];
    }
    before = now;
    now = next;
  }
  return result;
}

}  // namespace

screened_coulomb make_screened_coulomb(double alpha, double cutoff) {
  if (!(alpha * cutoff <= 6.0)) {
    throw std::invalid_argument(
        fmt::format("alpha {} times cutoff {} is {:.6g}; more than 6 is of no use, because erfc(6) is below the "
                    "rounding of the forces: use a smaller --pme-alpha or a larger --pme-tolerance",
                    alpha, cutoff, alpha * cutoff));
  }
  screened_coulomb result;
  result.scale = 2.0 / (cutoff * cutoff);
  result.terms = 1;
  if (alpha == 0.0) return result;
  const std::vector<long double> series = chebyshev_series(alpha, cutoff);
  const std::size_t terms = terms_needed(series);
  if (terms > screened_coulomb::most_terms) throw std::logic_error("the polynomial of erfc has too many terms");
  const std::vector<long double> powers = powers_of(series, terms);
  result.terms = static_cast<std::uint32_t>(terms);
  for (std::size_t power = 0; power < terms; ++power) {
    result.energy[terms - 1 - power] = static_cast<double>(-powers[power]);
    if (power == 0) continue;
    result.force[terms - power] = static_cast<double>(2.0L * static_cast<long double>(result.scale) *
                                                      static_cast<long double>(power) * powers[power]);
  }
  return result;
}

}  // namespace md
