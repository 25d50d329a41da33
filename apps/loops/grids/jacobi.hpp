// Jacobi relaxation of Poisson's equation on a box with the 7-point stencil, cut into slabs: the loop runs over planes,
// so with contiguous blocks every thread keeps the same slab from step to step. The model problem of V. Kale, PhD
// dissertation, Illinois 2015, chapter 2.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "kernel.hpp"

namespace kernels {

struct jacobi_size {
  int planes = 512;
  int side = 64;  ///< points along both sides of a plane
  int steps = 20;
};

class jacobi final : public kernel {
 public:
  /// Throws std::invalid_argument when a size is below 1 (steps: below 0).
  explicit jacobi(const jacobi_size& size);

  std::string problem() const override;
  int steps() const override { return size_.steps; }
  void reset() override;
  void run(method& how) override;
  std::vector<double> result() const override;
  void run_serial() override;
  std::vector<finding> check() override;

  /// Called for every plane before it is first written, with the plane and the participant that will write it.
  using plane_observer = std::function<void(int plane, int participant)>;
  /// reset() and run() with an observer.
  void first_touch(const plane_observer& observer);
  void run(method& how, const plane_observer& observer);

 private:
  std::size_t plane_points() const;
  double* plane_of(std::unique_ptr<double[]>& grid, int plane) const;
  void write_initial_plane(int plane);
  template <class Before>
  void run_steps(method& how, const Before& before);

  jacobi_size size_;
  // Planes 0 to planes + 1, the first and the last being boundary, as are the rims of the others. Not written where
  // they are allocated: memory is placed near the thread that writes it first.
  std::unique_ptr<double[]> now_;
  std::unique_ptr<double[]> next_;
  std::unique_ptr<double[]> source_;
  std::vector<double> serial_;
};

}  // namespace kernels
