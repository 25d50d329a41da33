// A rectangle of cells with a layer of cells around it, for the four neighbours' borders.
#pragma once

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace ported {

class plate {
 public:
  plate() = default;
  plate(int rows, int columns) : rows_(rows), columns_(columns), now_(area(), 0.0), next_(area(), 0.0) {}

  int rows() const { return rows_; }
  int columns() const { return columns_; }
  /// Rows 1 to rows(), columns 1 to columns(); 0 and the number after the last are the layer around.
  double& at(int row, int column) { return now_[place(row, column)]; }
  double at(int row, int column) const { return now_[place(row, column)]; }
  /// Keeps the value from now on, also while relax does not touch the cell.
  void fix(int row, int column, double value) { now_[place(row, column)] = next_[place(row, column)] = value; }

  /// Each cell of rows first_row..last_row and columns first_column..last_column becomes the mean of itself and its
  /// four neighbours. Returns the largest change.
  double relax(int first_row, int last_row, int first_column, int last_column) {
    double largest = 0.0;
    for (int i = first_row; i <= last_row; ++i) {
      const double* const own = &now_[place(i, 0)];
      const double* const above = &now_[place(i - 1, 0)];
      const double* const below = &now_[place(i + 1, 0)];
      double* const to = &next_[place(i, 0)];
      for (int j = first_column; j <= last_column; ++j) {
        const double mean = (own[j] + above[j] + below[j] + own[j - 1] + own[j + 1]) * 0.2;
        const double change = std::fabs(mean - own[j]);
        largest = largest > change ? largest : change;
        to[j] = mean;
      }
    }
    std::swap(now_, next_);
    return largest;
  }

  /// Of a rectangle of cells, in order.
  double sum(int first_row, int last_row, int first_column, int last_column) const {
    double total = 0.0;
    for (int i = first_row; i <= last_row; ++i)
      for (int j = first_column; j <= last_column; ++j) total += at(i, j);
    return total;
  }

  template <class Archive>
  void serialize(Archive& archive) {
    archive(rows_, columns_, now_, next_);
  }

 private:
  std::size_t area() const { return static_cast<std::size_t>(rows_ + 2) * static_cast<std::size_t>(columns_ + 2); }
  std::size_t place(int row, int column) const {
    return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns_ + 2) + static_cast<std::size_t>(column);
  }
  int rows_ = 0, columns_ = 0;
  std::vector<double> now_, next_;
};

}  // namespace ported
