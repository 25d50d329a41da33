// Gravity in a star cluster by the method of Barnes and Hut, with leapfrog steps. The tree is built by one thread; the
// loop over bodies finds the forces. Bodies in the dense centre cost several times as much as those outside.
#pragma once

#include "kernel.hpp"
#include "n_body/octree.hpp"

namespace kernels {

struct barnes_hut_size {
  int bodies = 20000;
  int steps = 3;
  double theta = 0.5;  ///< a cube counts as a point when it looks smaller than this
  double time_step = 0.01;
};

class barnes_hut final : public kernel {
 public:
  /// Throws std::invalid_argument when there are no bodies, steps are negative, or theta is not in 0 .. 1.
  explicit barnes_hut(const barnes_hut_size& size);

  std::string problem() const override;
  int steps() const override { return size_.steps; }
  void reset() override;
  void run(method& how) override;
  /// Accelerations of the last step, then positions.
  std::vector<double> result() const override;
  void run_serial() override;
  std::vector<finding> check() override;

  /// Root mean square error of the accelerations relative to their root mean square, by direct summation for at most
  /// `sample` bodies.
  double error_to_direct_sum(std::size_t sample) const;

 private:
  struct state {
    kernels::bodies bodies;
    std::vector<vector3> acceleration;
    std::vector<vector3> positions_before;  ///< where the accelerations were found
  };
  void move(state& at, std::size_t body) const;

  barnes_hut_size size_;
  kernels::bodies initial_;
  state state_;
  state serial_;
  octree tree_;
};

}  // namespace kernels
