// See factorization.hpp.
#include "dense/linpack/factorization.hpp"

#include <algorithm>
#include <utility>

#include "dense/linpack/panel.hpp"
#include "dense/linpack/row_exchange.hpp"

namespace dense {
namespace {

class elimination {
 public:
  elimination(const matrix& a, const grid_place& place, look_ahead depth)
      : a_(a),
        place_(place),
        depth_(depth),
        panels_(tile_rows(a)),
        u_(static_cast<std::size_t>((tile_columns(a) / place.columns + 1) * a.tile()[0] * a.tile()[1])) {}

  void run() {
    tri::future<tri::shared_buffer<double>> coming = send_panel(0);
    for (extent k = 0; k < panels_; ++k) {
      const panel current(panel_shape(a_, place_, k), coming.get());
      const row_moves moves(current);
      extent next = place_.next_column(k + 1);  // the first column that is not updated yet
      if (k + 1 < panels_ && depth_ == look_ahead::one) {
        if (next == k + 1) {
          update(current, moves, next, next + 1);
          next += place_.columns;
        }
        coming = send_panel(k + 1);
      }
      update(current, moves, next, tile_columns(a_));
      if (k + 1 < panels_ && depth_ == look_ahead::none) coming = send_panel(k + 1);
    }
  }

 private:
  /// Factored by the PEs that have it, and broadcast along each row of the grid.
  tri::future<tri::shared_buffer<double>> send_panel(extent number) {
    tri::shared_buffer<double> own;
    if (place_.has_column(number)) own = factor_panel(a_, place_, number).memory();
    return place_.along_row.broadcast(std::move(own), place_.owner_column(number));
  }

  /// Of this PE's tile columns from `first` to before `last`.
  void update(const panel& by, const row_moves& moves, extent first, extent last) {
    std::vector<tile_column> columns;
    for (extent j = first; j < last; j += place_.columns) columns.push_back({j, width(a_, j)});
    if (columns.empty()) return;
    exchange_rows(a_, place_, by, moves, columns, u_);
    const double* u = u_.data();
    for (const tile_column& each : columns) {
      update_column(by, each, u);
      u += by.shape().pivots * each.width;
      tri::progress();  // panels for others may pass through this PE
    }
  }
  void update_column(const panel& by, const tile_column& column, const double* u) {
    for (extent i = place_.next_row(by.shape().number + 1); i < tile_rows(a_); i += place_.rows)
      multiply(height(a_, i), column.width, by.shape().pivots, -1.0, CblasTrans, by.multipliers(i), CblasNoTrans,
               {u, column.width}, tile_at(a_, i, column.number));
  }

  const matrix& a_;
  const grid_place& place_;
  const look_ahead depth_;
  const extent panels_;
  std::vector<double> u_;
};

}  // namespace

void eliminate(const matrix& a, const grid_place& place, look_ahead depth) { elimination(a, place, depth).run(); }

std::vector<double> substitute_back(const matrix& a, const grid_place& place) {
  const extent n = a.extent(0), size = a.tile()[0], right = n / size;  // tile column of the right-hand side
  std::vector<double> own(static_cast<std::size_t>(n));
  std::vector<double> x(static_cast<std::size_t>(n));  // as far as this column of the grid has it
  for (extent k = tile_rows(a); k-- > 0;) {
    const extent rows = height(a, k);
    std::vector<double> solved(static_cast<std::size_t>(rows));
    if (place.has_row(k)) {
      if (place.has_column(right)) {
        const block b = tile_at(a, k, right);
        cblas_dcopy(whole(rows), b.data + n % size, whole(b.step), solved.data(), 1);
      }
      for (extent j = place.next_column(k + 1); j < tile_rows(a); j += place.columns) {
        const block u = tile_at(a, k, j);
        cblas_dgemv(CblasRowMajor, CblasNoTrans, whole(rows), whole(height(a, j)), -1.0, u.data, whole(u.step),
                    x.data() + j * size, 1, 1.0, solved.data(), 1);
      }
      auto sum = place.along_row.reduce(std::move(solved), tri::elementwise(tri::sum), place.owner_column(k)).get();
      if (sum) {
        solved = std::move(*sum);
        const block u = tile_at(a, k, k);
        cblas_dtrsv(CblasRowMajor, CblasUpper, CblasNoTrans, CblasNonUnit, whole(rows), u.data, whole(u.step),
                    solved.data(), 1);
        std::ranges::copy(solved, own.begin() + k * size);
      }
    }
    if (place.has_column(k)) {
      solved = place.along_column.broadcast(std::move(solved), place.owner_row(k)).get();
      std::ranges::copy(solved, x.begin() + k * size);
    }
  }
  return own;
}

}  // namespace dense
