// See panel.hpp.
#include "dense/linpack/panel.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace dense {
namespace {

/// The row that a PE proposes to exchange with row j, and that row itself, if it has it.
struct proposal {
  double size = -1;
  extent row = -1;
  std::vector<double> values{};
  std::vector<double> row_j{};

  template <class Archive>
  void serialize(Archive& archive) {
    archive(size, row, values, row_j);
  }
};
constexpr auto larger = [](proposal a, proposal b) {
  if (b.size > a.size || (b.size == a.size && b.row < a.row)) {
    std::swap(a.size, b.size);
    std::swap(a.row, b.row);
    std::swap(a.values, b.values);
  }
  if (a.row_j.empty()) a.row_j = std::move(b.row_j);
  return a;
};

class factoring {
 public:
  factoring(const matrix& a, const grid_place& place, const panel_shape& shape)
      : a_(a), place_(place), shape_(shape), memory_(shape.size()) {
    pivots_ = memory_.data();
    top_ = pivots_ + shape.pivots;
    rows_ = top_ + shape.pivots * shape.columns;
  }
  tri::buffer<double> run() {
    load();
    factor(0, shape_.pivots);
    if (shape_.columns > shape_.pivots)  // the right-hand side is in the last panel
      solve_unit_lower(shape_.pivots, shape_.columns - shape_.pivots, {top_, shape_.columns},
                       {top_ + shape_.pivots, shape_.columns});
    store_diagonal();
    return std::move(memory_);
  }

 private:
  static constexpr extent narrow = 8;

  double* at(extent row, extent column) const { return rows_ + row + column * shape_.leading_dimension; }
  /// Rows before were chosen.
  extent first_active(extent column) const { return std::min(column, shape_.diagonal_rows); }

  void load() {
    for (extent i = shape_.first_tile; i < tile_rows(a_); i += shape_.tile_rows_apart) {
      const block from = tile_at(a_, i, shape_.number);
      cblas_domatcopy(CblasRowMajor, CblasTrans, as_blasint(height(a_, i)), as_blasint(shape_.columns), 1.0, from.data,
                      as_blasint(from.leading_dimension), at(shape_.offset_of(i), 0),
                      as_blasint(shape_.leading_dimension));
    }
  }
  void store_diagonal() const {
    if (shape_.diagonal_rows == 0) return;
    const block to = tile_at(a_, shape_.number, shape_.number);
    for (extent i = 0; i < shape_.pivots; ++i)
      std::copy_n(top_ + i * shape_.columns, shape_.columns, to.data + i * to.leading_dimension);
  }

  /// Halves: left, its effect on the right half, right. What is left of multiplications is in large blocks.
  void factor(extent first, extent last) {
    if (last - first <= narrow) return factor_columns(first, last);
    const extent middle = (first + last) / 2;
    factor(first, middle);
    solve_unit_lower(middle - first, last - middle, {top_ + first * shape_.columns + first, shape_.columns},
                     {top_ + first * shape_.columns + middle, shape_.columns});
    const extent active = first_active(middle);
    if (active < shape_.rows)
      cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, as_blasint(shape_.rows - active), as_blasint(last - middle),
                  as_blasint(middle - first), -1.0, at(active, first), as_blasint(shape_.leading_dimension),
                  top_ + first * shape_.columns + middle, as_blasint(shape_.columns), 1.0, at(active, middle),
                  as_blasint(shape_.leading_dimension));
    factor(middle, last);
  }
  void factor_columns(extent first, extent last) {
    for (extent j = first; j < last; ++j) {
      choose_pivot(j);
      const double* const chosen = top_ + j * shape_.columns;
      if (chosen[j] == 0.0)
        throw std::domain_error("linpack: the matrix is singular: column " + std::to_string(shape_.first + j) +
                                " has only zeros from the diagonal on");
      const extent active = first_active(j + 1);
      if (active >= shape_.rows) continue;
      cblas_dscal(as_blasint(shape_.rows - active), 1.0 / chosen[j], at(active, j), 1);
      cblas_dger(CblasColMajor, as_blasint(shape_.rows - active), as_blasint(last - j - 1), -1.0, at(active, j), 1,
                 chosen + j + 1, 1, at(active, j + 1), as_blasint(shape_.leading_dimension));
    }
  }

  /// Chooses the row of column j, and exchanges it with row j.
  void choose_pivot(extent j) {
    const extent active = first_active(j);
    extent best = -1;
    if (active < shape_.rows)
      best = active + static_cast<extent>(cblas_idamax(as_blasint(shape_.rows - active), at(active, j), 1));
    if (place_.rows > 1) return choose_with_others(j, best);
    pivots_[j] = static_cast<double>(row_number(best));
    if (best != j)
      cblas_dswap(as_blasint(shape_.columns), at(j, 0), as_blasint(shape_.leading_dimension), at(best, 0),
                  as_blasint(shape_.leading_dimension));
    cblas_dcopy(as_blasint(shape_.columns), at(j, 0), as_blasint(shape_.leading_dimension), top_ + j * shape_.columns,
                1);
  }
  void choose_with_others(extent j, extent best) {
    proposal own;
    if (best >= 0) own = {std::abs(*at(best, j)), row_number(best), row(best), {}};
    if (shape_.diagonal_rows != 0) own.row_j = row(j);
    const extent own_row = own.row;
    const proposal chosen = place_.along_column.allreduce(std::move(own), tri::by(larger)).get();
    pivots_[j] = static_cast<double>(chosen.row);
    std::ranges::copy(chosen.values, top_ + j * shape_.columns);
    if (chosen.row == own_row)
      cblas_dcopy(as_blasint(shape_.columns), chosen.row_j.data(), 1, at(best, 0),
                  as_blasint(shape_.leading_dimension));
  }
  std::vector<double> row(extent which) const {
    std::vector<double> values(static_cast<std::size_t>(shape_.columns));
    cblas_dcopy(as_blasint(shape_.columns), at(which, 0), as_blasint(shape_.leading_dimension), values.data(), 1);
    return values;
  }
  extent row_number(extent own_row) const {
    const extent round = own_row / shape_.tile_height;
    return (shape_.first_tile + round * shape_.tile_rows_apart) * shape_.tile_height + own_row % shape_.tile_height;
  }

  const matrix& a_;
  const grid_place& place_;
  const panel_shape& shape_;
  tri::buffer<double> memory_;
  double* pivots_;
  double* top_;
  double* rows_;
};

}  // namespace

panel_shape::panel_shape(const matrix& a, const grid_place& place, extent which)
    : number(which),
      first(which * a.tile()[0]),
      pivots(height(a, which)),
      columns(width(a, which)),
      diagonal_rows(place.has_row(which) ? pivots : 0),
      rows(0),
      leading_dimension(0),
      first_tile(place.next_row(which)),
      tile_rows_apart(place.rows),
      tile_height(a.tile()[0]) {
  for (extent i = first_tile; i < tile_rows(a); i += tile_rows_apart) rows += height(a, i);
  // Distances of whole pages would put a row's values into few sets of the caches.
  constexpr extent page = 512, line = 8;
  leading_dimension = (rows + line - 1) / line * line;
  if (leading_dimension % page == 0) leading_dimension += line;
}

panel factor_panel(const matrix& a, const grid_place& place, extent number) {
  const panel_shape shape(a, place, number);
  return {shape, factoring(a, place, shape).run()};
}

}  // namespace dense
