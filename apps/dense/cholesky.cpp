// Cholesky's factorization A = L L^T of a symmetric positive definite matrix, in tiles over a grid of PEs. Only the
// lower triangle is used. Verified by L (L^T x) against A x for a random vector. Versions:
//   naive       column by column, through the elements of the array
//   privatized  the same; the column is fetched once, the own tiles are plain memory
//   blas        tile by tile; each PE reads the tiles that it needs where they are, and BLAS computes in its own
//   tuned       a panel goes along rows and columns of the grid by team collectives, with look-ahead
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "dense/program.hpp"
#include "dense/right_looking.hpp"

namespace dense {
namespace {

[[noreturn]] void report_not_positive(extent row) {
  throw std::domain_error("cholesky: the matrix is not positive definite: no factor of row " + std::to_string(row));
}

void factor_elements(const matrix& a) {
  const extent n = a.extent(0);
  const int own = tri::this_pe();
  for (extent k = 0; k < n; ++k) {
    if (a.owner({k, k}) == own) {
      if (!(a(k, k) > 0)) report_not_positive(k);
      a(k, k) = std::sqrt(a(k, k).read());
    }
    tri::barrier().get();
    for (extent i = k + 1; i < n; ++i)
      if (a.owner({i, k}) == own) a(i, k) = a(i, k) / a(k, k);
    tri::barrier().get();
    for (extent i = k + 1; i < n; ++i)
      for (extent j = k + 1; j <= i; ++j)
        if (a.owner({i, j}) == own) a(i, j) = a(i, j) - a(i, k) * a(j, k);
    tri::barrier().get();
  }
}

void factor_columns(const matrix& a) {
  const extent n = a.extent(0);
  std::vector<double> column(static_cast<std::size_t>(n));  // from row k on
  for (extent k = 0; k < n; ++k) {
    a.get({{k, k}, {n, k + 1}}, column.data()).get();
    tri::barrier().get();  // all have the column as it was
    if (!(column[0] > 0)) report_not_positive(k);
    const double root = std::sqrt(column[0]);
    for (double& each : column) each /= root;
    const double* const factor = column.data();
    for (const tile part : a.own_tiles()) {
      const auto [first, last] = std::pair(part.elements().first, part.elements().last);
      for (extent i = std::max(first[0], k); i < last[0]; ++i) {
        double* const row = part.data() + (i - first[0]) * part.leading_dimension() - first[1];
        const double own = factor[i - k];
        if (first[1] <= k && k < last[1]) row[k] = own;
        for (extent j = std::max(first[1], k + 1); j < std::min(last[1], i + 1); ++j) row[j] -= own * factor[j - k];
      }
    }
    tri::barrier().get();
  }
}

void factor_tiles(const matrix& a) {
  std::vector<double> copy, other;
  const extent tiles = tile_rows(a);
  const auto is_own = [&](extent i, extent j) { return a.where().owner_of_tile({i, j}) == tri::this_pe(); };
  for (extent k = 0; k < tiles; ++k) {
    const extent size = height(a, k);
    if (is_own(k, k) && !factor_symmetric(size, tile_at(a, k, k))) report_not_positive(k * a.tile()[0]);
    tri::barrier().get();
    for (extent i = k + 1; i < tiles; ++i)
      if (is_own(i, k)) solve_lower_from_the_right(height(a, i), size, read_tile(a, k, k, copy), tile_at(a, i, k));
    tri::barrier().get();
    for (extent i = k + 1; i < tiles; ++i)
      for (extent j = k + 1; j <= i; ++j) {
        if (!is_own(i, j)) continue;
        const const_block left = read_tile(a, i, k, copy);
        if (i == j)
          subtract_square(height(a, i), size, left, tile_at(a, i, i));
        else
          multiply(height(a, i), width(a, j), size, -1.0, CblasNoTrans, left, CblasTrans, read_tile(a, j, k, other),
                   tile_at(a, i, j));
      }
    tri::barrier().get();
  }
}

/// A panel is the tile column below the diagonal. Each PE gets of it the tiles of its rows, along its row of the grid,
/// and those of the rows that are its columns, which PEs of its column of the grid have then. On one host the same
/// messages say that the tiles are ready, and carry none: they are read where they are.
class factoring {
 public:
  factoring(const matrix& a, const grid_place& place) : a_(a), place_(place) {}

  tri::future<tri::shared_buffer<double>> send_panel(extent k) {
    tri::buffer<double> panel;
    if (place_.has_column(k)) {
      const extent size = height(a_, k);
      const tri::shared_buffer<double> diagonal = factor_diagonal(k, size);
      if (!place_.is_on_one_host)
        panel = tri::buffer<double>(static_cast<std::size_t>(tiles_behind(k) * a_.tile()[0] * size));
      double* to = panel.data();
      for (extent i = place_.next_row(k + 1); i < tile_rows(a_); i += place_.rows) {
        const block own = tile_at(a_, i, k);
        solve_lower_from_the_right(height(a_, i), size, {diagonal.data(), size}, own);
        for (extent row = 0; row < height(a_, i) && !panel.empty(); ++row)
          to = std::copy_n(own.data + row * own.leading_dimension, size, to);
      }
    }
    return place_.along_row.broadcast(tri::shared_buffer<double>(std::move(panel)), place_.owner_column(k));
  }
  void receive_panel(extent k, tri::shared_buffer<double>&& rows) {
    number_ = k;
    size_ = height(a_, k);
    rows_ = std::move(rows);
    parts_ = place_.rows == 1 ? std::vector{rows_} : place_.along_column.allgather(tiles_of_own_columns()).get();
  }
  void update(extent first, extent last) {
    for (extent j = place_.next_column(first); j < last; j += place_.columns) {
      const const_block right = tile_of_column(j);
      for (extent i = place_.next_row(j); i < tile_rows(a_); i += place_.rows) {
        if (i == j)
          subtract_square(height(a_, i), size_, tile_of_row(i), tile_at(a_, i, i));
        else
          multiply(height(a_, i), width(a_, j), size_, -1.0, CblasNoTrans, tile_of_row(i), CblasTrans, right,
                   tile_at(a_, i, j));
      }
      tri::progress();  // panels for others may pass through this PE
    }
  }

 private:
  tri::shared_buffer<double> factor_diagonal(extent k, extent size) const {
    tri::buffer<double> copy;
    if (place_.has_row(k)) {
      const block own = tile_at(a_, k, k);
      if (!factor_symmetric(size, own)) report_not_positive(k * a_.tile()[0]);
      copy = tri::buffer<double>(static_cast<std::size_t>(size * size));
      for (extent row = 0; row < size; ++row)
        std::copy_n(own.data + row * own.leading_dimension, size, copy.data() + row * size);
    }
    return place_.along_column.broadcast(tri::shared_buffer<double>(std::move(copy)), place_.owner_row(k)).get();
  }
  extent tiles_behind(extent k) const {
    const extent first = place_.next_row(k + 1);
    return first < tile_rows(a_) ? (tile_rows(a_) - first - 1) / place_.rows + 1 : 0;
  }
  const_block tile_of_row(extent i) const {
    if (place_.is_on_one_host) return tile_at(a_, i, number_);
    return {rows_.data() + (i - place_.next_row(number_ + 1)) / place_.rows * a_.tile()[0] * size_, size_};
  }
  /// Of this PE's rows those that are its columns, too; tiles of whole height, so that all know where each is.
  tri::shared_buffer<double> tiles_of_own_columns() const {
    std::vector<extent> tiles;
    if (place_.is_on_one_host) return {};
    for (extent j = place_.next_column(number_ + 1); j < tile_rows(a_); j += place_.columns)
      if (place_.has_row(j)) tiles.push_back(j);
    tri::buffer<double> packed(tiles.size() * static_cast<std::size_t>(a_.tile()[0] * size_));
    double* to = packed.data();
    for (const extent j : tiles) {
      std::copy_n(tile_of_row(j).data, height(a_, j) * size_, to);
      to += a_.tile()[0] * size_;
    }
    return packed;
  }
  const_block tile_of_column(extent j) const {
    if (place_.rows == 1 || place_.is_on_one_host) return tile_of_row(j);
    extent before = 0;
    for (extent other = place_.next_column(number_ + 1); other < j; other += place_.columns)
      before += place_.owner_row(other) == place_.owner_row(j) ? 1 : 0;
    return {parts_[static_cast<std::size_t>(place_.owner_row(j))].data() + before * a_.tile()[0] * size_, size_};
  }

  const matrix& a_;
  const grid_place& place_;
  extent number_ = 0;
  extent size_ = 0;
  tri::shared_buffer<double> rows_;
  std::vector<tri::shared_buffer<double>> parts_;
};

using factorization = void (*)(const matrix& a, const grid_place& place, const settings& chosen);

template <factorization Factor>
outcome factor(const settings& chosen) {
  const matrix a({chosen.n, chosen.n}, tri::tiles(chosen.nb, chosen.nb), tri::grid(chosen.p, chosen.q));
  const grid_place place = place_in_grid(a);
  fill(a, [&](extent i, extent j) { return positive_definite_element(chosen.seed, chosen.n, i, j); });
  const std::vector<double> x = random_vector(chosen.seed, chosen.n);
  const std::vector<double> right = times(a, x);
  outcome result = timed([&] { Factor(a, place, chosen); });
  result.residual = relative_difference(times(a, times(a, x, part::lower_transposed), part::lower), right);
  free_teams(place);
  a.free().get();
  return result;
}

void naive(const matrix& a, const grid_place&, const settings&) { factor_elements(a); }
void privatized(const matrix& a, const grid_place&, const settings&) { factor_columns(a); }
void blas(const matrix& a, const grid_place&, const settings&) { factor_tiles(a); }
void tuned(const matrix& a, const grid_place& place, const settings& chosen) {
  if (place.is_inside)
    factor_right_looking(a, chosen.depth == 0 ? look_ahead::none : look_ahead::one, factoring(a, place));
}

int cholesky(int argc, char** argv) {
  return run_program(argc, argv,
                     {.name = "cholesky",
                      .purpose = "Factors a symmetric positive definite matrix on a global array.",
                      .versions = {{"naive", factor<&naive>},
                                   {"privatized", factor<&privatized>},
                                   {"blas", factor<&blas>},
                                   {"tuned", factor<&tuned>}},
                      .operations =
                          [](extent n) {
                            const auto size = static_cast<double>(n);
                            return size * size * size / 3;
                          },
                      .largest_residual = 1e-10});
}

}  // namespace
}  // namespace dense

int main(int argc, char** argv) { return tri::run_everywhere(argc, argv, &dense::cholesky); }
