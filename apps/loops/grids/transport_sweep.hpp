// A sweep through a box, as in transport of particles: each cell needs its three upwind neighbours, so the loop runs
// over the cells of one diagonal plane after the other, short ones first. Every loop has another length, and few are
// long. (The kind of SNAP; V. Kale, PhD dissertation, Illinois 2015, chapter 6.)
#pragma once

#include <vector>

#include "kernel.hpp"

namespace kernels {

struct transport_sweep_size {
  int side = 48;  ///< cells along each side
  int steps = 6;  ///< sweeps, each with the previous result as the source
};

class transport_sweep final : public kernel {
 public:
  /// Throws std::invalid_argument when the side is below 1 or steps are negative.
  explicit transport_sweep(const transport_sweep_size& size);

  std::string problem() const override;
  int steps() const override { return size_.steps; }
  void reset() override;
  void run(method& how) override;
  std::vector<double> result() const override { return flux_; }
  void run_serial() override;
  std::vector<finding> check() override;

 private:
  std::size_t at(int i, int j, int k) const {
    return (static_cast<std::size_t>(i) * static_cast<std::size_t>(size_.side) + static_cast<std::size_t>(j)) *
               static_cast<std::size_t>(size_.side) +
           static_cast<std::size_t>(k);
  }
  transport_sweep_size size_;
  std::vector<std::vector<int>> diagonals_;  // i * side + j of the cells (i, j, d - i - j) of diagonal d
  std::vector<double> flux_;
  std::vector<double> source_;
  std::vector<double> serial_;
};

}  // namespace kernels
