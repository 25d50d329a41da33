// See factorization.hpp.
#include "dense/linpack/factorization.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "dense/linpack/panel.hpp"
#include "dense/linpack/row_exchange.hpp"

namespace dense {
namespace {

class elimination {
 public:
  elimination(const matrix& a, const grid_place& place)
      : a_(a),
        place_(place),
        u_(static_cast<std::size_t>((tile_columns(a) / place.columns + 1) * a.tile()[0] * a.tile()[1])) {}

  tri::future<tri::shared_buffer<double>> send_panel(extent number) const {
    tri::shared_buffer<double> own;
    if (place_.has_column(number)) own = factor_panel(a_, place_, number).memory();
    return place_.along_row.broadcast(std::move(own), place_.owner_column(number));
  }
  void receive_panel(extent number, tri::shared_buffer<double>&& memory) {
    panel_.emplace(panel_shape(a_, place_, number), std::move(memory));
    moves_.emplace(*panel_);
  }
  void update(extent first, extent last) {
    std::vector<tile_column> columns;
    for (extent j = place_.next_column(first); j < last; j += place_.columns) columns.push_back({j, width(a_, j)});
    if (columns.empty()) return;
    exchange_rows(a_, place_, *panel_, *moves_, columns, u_);
    const double* u = u_.data();
    for (const tile_column& each : columns) {
      update_column(each, {u, each.width});
      u += panel_->shape().pivots * each.width;
      tri::progress();  // panels for others may pass through this PE
    }
  }

 private:
  void update_column(const tile_column& column, const const_block& u) const {
    for (extent i = place_.next_row(panel_->shape().number + 1); i < tile_rows(a_); i += place_.rows)
      multiply(height(a_, i), column.width, panel_->shape().pivots, -1.0, CblasTrans, panel_->multipliers(i),
               CblasNoTrans, u, tile_at(a_, i, column.number));
  }

  const matrix& a_;
  const grid_place& place_;
  std::optional<panel> panel_;
  std::optional<row_moves> moves_;
  std::vector<double> u_;  // rows of the panel's tile row
};

}  // namespace

void eliminate(const matrix& a, const grid_place& place, look_ahead depth) {
  factor_right_looking(a, depth, elimination(a, place));
}

std::vector<double> substitute_back(const matrix& a, const grid_place& place) {
  const extent n = a.extent(0), size = a.tile()[0], right = n / size;  // tile column of the right-hand side
  std::vector<double> own(static_cast<std::size_t>(n));
  std::vector<double> x(static_cast<std::size_t>(n));  // as far as this column of the grid has it
  for (extent k = tile_rows(a); k-- > 0;) {
    const extent rows = height(a, k);
    std::vector<double> solved;
    if (place.has_row(k)) {
      std::vector<double> right_side(static_cast<std::size_t>(rows));
      if (place.has_column(right)) {
        const block b = tile_at(a, k, right);
        cblas_dcopy(as_blasint(rows), b.data + n % size, as_blasint(b.leading_dimension), right_side.data(), 1);
      }
      for (extent j = place.next_column(k + 1); j < tile_rows(a); j += place.columns) {
        const block u = tile_at(a, k, j);
        cblas_dgemv(CblasRowMajor, CblasNoTrans, as_blasint(rows), as_blasint(height(a, j)), -1.0, u.data,
                    as_blasint(u.leading_dimension), x.data() + j * size, 1, 1.0, right_side.data(), 1);
      }
      auto sum = place.along_row.reduce(std::move(right_side), tri::elementwise(tri::sum), place.owner_column(k)).get();
      if (sum) {
        solved = std::move(*sum);
        const block u = tile_at(a, k, k);
        cblas_dtrsv(CblasRowMajor, CblasUpper, CblasNoTrans, CblasNonUnit, as_blasint(rows), u.data,
                    as_blasint(u.leading_dimension), solved.data(), 1);
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
