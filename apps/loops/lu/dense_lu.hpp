// Dense LU factorization, by loops with any schedule (a loop over block columns and one over tiles in every step) or as
// a graph of tasks with a static fraction.
#pragma once

#include "kernel.hpp"
#include "lu/lu_tasks.hpp"
#include "lu/tiled_lu.hpp"

namespace kernels {

struct dense_lu_size {
  int size = 1536;
  int tile = 128;
};

class dense_lu final : public kernel {
 public:
  /// Throws std::invalid_argument when size or tile is below 1.
  explicit dense_lu(const dense_lu_size& size);

  std::string problem() const override;
  int steps() const override { return 1; }
  double operations() const override { return lu_.operations(); }
  bool has_task_graph() const override { return true; }
  void reset() override;
  void run(method& how) override;
  /// L and U, then the pivots.
  std::vector<double> result() const override;
  void run_serial() override;
  std::vector<finding> check() override;
  std::vector<peer> peers() override;

  const tiled_lu& factors() const { return lu_; }

 private:
  void run_loops(method& how);
  void run_tasks(double static_fraction);

  tiled_lu lu_;
  std::vector<double> original_;
  std::vector<double> serial_;
  std::vector<double> lapack_factors_;
  std::vector<std::size_t> lapack_pivots_;
};

}  // namespace kernels
