// Linpack: solves A x = b for a random matrix, in tiles over a grid of PEs, and verifies the solution as HPL does.
// Ways:
//   naive       column by column, through the elements of the array
//   privatized  the same; what others have is fetched once a column, the own tiles are plain memory
//   blas        tile by tile: panels, row exchange and updates by BLAS, with teams along rows and columns of the grid
//   tuned       the same with look-ahead
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "dense/linpack/by_columns.hpp"
#include "dense/linpack/factorization.hpp"
#include "dense/program.hpp"

namespace dense {
namespace {

/// HPL's scaled residual: |A x - b| / (eps (|A| |x| + |b|) n), in the maximum norm. The matrix is made again.
/// Collective.
double scaled_residual(const settings& chosen, const matrix& shape, const std::vector<double>& x) {
  const auto n = static_cast<std::size_t>(chosen.n);
  std::vector<double> rows(2 * n);  // of A x - b, then of the sums of |A|
  std::vector<double> b(n);
  for (std::size_t i = 0; i < n; ++i) b[i] = random_element(chosen.seed, static_cast<extent>(i), chosen.n);
  for (const tile part : shape.own_tiles()) {
    const tri::region<2>& box = part.elements();
    for (extent i = box.first[0]; i < box.last[0]; ++i)
      for (extent j = box.first[1]; j < std::min(box.last[1], chosen.n); ++j) {
        const double value = random_element(chosen.seed, i, j);
        rows[static_cast<std::size_t>(i)] += value * x[static_cast<std::size_t>(j)];
        rows[n + static_cast<std::size_t>(i)] += std::abs(value);
      }
  }
  rows = tri::team::world().allreduce(std::move(rows), tri::elementwise(tri::sum)).get();
  for (std::size_t i = 0; i < n; ++i) rows[i] -= b[i];
  const std::span<const double> all(rows);
  constexpr double eps = std::numeric_limits<double>::epsilon() / 2;
  return largest(all.first(n)) /
         (eps * (largest(all.subspan(n)) * largest(x) + largest(b)) * static_cast<double>(chosen.n));
}

using factorization = void (*)(const matrix& a, const grid_place& place, const settings& chosen);

template <factorization Factor>
outcome solve(const settings& chosen) {
  const matrix a({chosen.n, chosen.n + 1}, tri::tiles(chosen.nb, chosen.nb), tri::grid(chosen.p, chosen.q));
  const grid_place place = place_in_grid(a);
  fill(a, [&](extent i, extent j) { return random_element(chosen.seed, i, j); });
  std::vector<double> x(static_cast<std::size_t>(chosen.n));
  outcome result = timed([&] {
    Factor(a, place, chosen);
    if (place.is_inside) x = substitute_back(a, place);
  });
  x = tri::team::world().allreduce(std::move(x), tri::elementwise(tri::sum)).get();
  result.residual = scaled_residual(chosen, a, x);
  free_teams(place);
  a.free().get();
  return result;
}

void naive(const matrix& a, const grid_place&, const settings&) { eliminate_by_elements(a); }
void privatized(const matrix& a, const grid_place&, const settings&) { eliminate_by_columns(a); }
void blas(const matrix& a, const grid_place& place, const settings&) {
  if (place.is_inside) eliminate(a, place, look_ahead::none);
}
void tuned(const matrix& a, const grid_place& place, const settings& chosen) {
  if (place.is_inside) eliminate(a, place, chosen.depth == 0 ? look_ahead::none : look_ahead::one);
}

int linpack(int argc, char** argv) {
  return run_program(argc, argv,
                     {.name = "linpack",
                      .purpose = "Solves a dense system of linear equations, as HPL does, on a global array.",
                      .versions = {{"naive", solve<&naive>},
                                   {"privatized", solve<&privatized>},
                                   {"blas", solve<&blas>},
                                   {"tuned", solve<&tuned>}},
                      .operations =
                          [](extent n) {
                            const auto size = static_cast<double>(n);
                            return size * size * (2.0 / 3.0 * size + 1.5);  // as HPL counts
                          },
                      .largest_residual = 16});
}

}  // namespace
}  // namespace dense

int main(int argc, char** argv) { return tri::run_everywhere(argc, argv, &dense::linpack); }
