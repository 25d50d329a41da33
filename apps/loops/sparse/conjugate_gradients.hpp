// Conjugate gradients for a sparse matrix with very uneven rows. Dot products are summed in an order that depends on
// the number of rows alone, so all methods and numbers of threads give the same bits.
#pragma once

#include "kernel.hpp"
#include "sparse/sparse_matrix.hpp"

namespace kernels {

struct conjugate_gradients_size {
  int rows = 100000;
  int shortest_row = 4;
  int steps = 20;
};

class conjugate_gradients final : public kernel {
 public:
  /// Throws std::invalid_argument when there are fewer than 2 rows, or steps are negative.
  explicit conjugate_gradients(const conjugate_gradients_size& size);

  std::string problem() const override;
  int steps() const override { return size_.steps; }
  void reset() override;
  void run(method& how) override;
  /// The solution, then the square of the length of the residual after every step.
  std::vector<double> result() const override;
  void run_serial() override;
  std::vector<finding> check() override;

  const sparse_matrix& matrix() const { return matrix_; }

 private:
  conjugate_gradients_size size_;
  sparse_matrix matrix_;
  std::vector<double> right_side_;
  std::vector<double> solution_;
  std::vector<double> residual_;
  std::vector<double> direction_;
  std::vector<double> product_;  // matrix times direction
  std::vector<double> lengths_;  // squares of the residual's
  std::vector<double> serial_;   // what result() should be
};

}  // namespace kernels
