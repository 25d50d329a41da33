// See row_exchange.hpp.
#include "dense/linpack/row_exchange.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace dense {
namespace {

class exchange {
 public:
  exchange(const matrix& a, const grid_place& place, const row_moves& moves, const std::vector<tile_column>& columns)
      : a_(a), place_(place), moves_(moves), columns_(columns) {
    for (const tile_column& each : columns) width_ += each.width;
    if (place.rows > 1) gather();
  }

  void into_top(std::vector<double>& u) const {
    const auto& sources = moves_.sources();
    double* to = u.data();
    extent before = 0;
    for (const tile_column& each : columns_) {
      for (const extent source : sources) {
        std::copy_n(row_of(source, each, before), each.width, to);
        to += each.width;
      }
      before += each.width;
    }
  }
  void into_displaced() const {
    for (const row_moves::displacement& each : moves_.displaced()) {
      if (!has(each.row)) continue;
      extent before = 0;
      for (const tile_column& column : columns_) {
        std::copy_n(row_of(each.from, column, before), column.width, in_matrix(each.row, column.number));
        before += column.width;
      }
    }
  }

 private:
  extent tile_of(extent row) const { return row / a_.tile()[0]; }
  bool has(extent row) const { return place_.has_row(tile_of(row)); }
  double* in_matrix(extent row, extent column) const {
    const block in = tile_at(a_, tile_of(row), column);
    return in.data + row % a_.tile()[0] * in.leading_dimension;
  }
  const double* row_of(extent row, const tile_column& column, extent before) const {
    if (place_.rows == 1) return in_matrix(row, column.number);
    const auto found = std::ranges::lower_bound(moving_, row, {}, &moving_row::row);
    return parts_[static_cast<std::size_t>(found->rank)].data() + found->place * width_ + before;
  }

  /// All rows that move; each PE gives its own, in this order.
  void gather() {
    for (const extent source : moves_.sources()) moving_.push_back({source, 0, 0});
    for (const row_moves::displacement& each : moves_.displaced()) moving_.push_back({each.from, 0, 0});
    std::ranges::sort(moving_, {}, &moving_row::row);
    const auto doubled = std::ranges::unique(moving_, {}, &moving_row::row);
    moving_.erase(doubled.begin(), doubled.end());
    std::vector<extent> rows_of(static_cast<std::size_t>(place_.rows));
    for (moving_row& each : moving_) {
      each.rank = place_.owner_row(tile_of(each.row));
      each.place = rows_of[static_cast<std::size_t>(each.rank)]++;
    }
    tri::buffer<double> own(static_cast<std::size_t>(rows_of[static_cast<std::size_t>(place_.row)] * width_));
    double* to = own.data();
    for (const moving_row& each : moving_) {
      if (each.rank != place_.row) continue;
      for (const tile_column& column : columns_) to = std::copy_n(in_matrix(each.row, column.number), column.width, to);
    }
    parts_ = place_.along_column.allgather(tri::shared_buffer<double>(std::move(own))).get();
  }

  struct moving_row {
    extent row;
    int rank;      // who has it
    extent place;  // which of the rows that this one gives
  };
  const matrix& a_;
  const grid_place& place_;
  const row_moves& moves_;
  const std::vector<tile_column>& columns_;
  extent width_ = 0;
  std::vector<moving_row> moving_;
  std::vector<tri::shared_buffer<double>> parts_;
};

}  // namespace

row_moves::row_moves(const panel& of) {
  const extent first = of.shape().first, count = of.shape().pivots;
  for (extent j = 0; j < count; ++j) sources_.push_back(first + j);
  for (extent j = 0; j < count; ++j) {
    const extent with = of.pivot(j);
    extent& here = sources_[static_cast<std::size_t>(j)];
    if (with < first + count) {
      std::swap(here, sources_[static_cast<std::size_t>(with - first)]);
      continue;
    }
    auto found = std::ranges::find(displaced_, with, &displacement::row);
    if (found == displaced_.end()) found = displaced_.insert(found, {with, with});
    std::swap(here, found->from);
  }
}

void exchange_rows(const matrix& a, const grid_place& place, const panel& of, const row_moves& moves,
                   const std::vector<tile_column>& columns, std::vector<double>& u) {
  const exchange rows(a, place, moves, columns);
  rows.into_top(u);
  rows.into_displaced();
  double* part = u.data();
  const extent height = of.shape().pivots;
  for (const tile_column& each : columns) {
    solve_unit_lower(height, each.width, of.top(), {part, each.width});
    if (place.has_row(of.shape().number)) {
      const block to = tile_at(a, of.shape().number, each.number);
      for (extent i = 0; i < height; ++i)
        std::copy_n(part + i * each.width, each.width, to.data + i * to.leading_dimension);
    }
    part += height * each.width;
  }
}

}  // namespace dense
