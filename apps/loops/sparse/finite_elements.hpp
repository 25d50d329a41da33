// Diffusion on an unstructured mesh of triangles with linear elements: one loop over elements computes what each adds
// to its three corners, one over vertices gathers, in the order of element numbers. The vertices are numbered at
// random, so neighbours are anywhere in memory, and have between two and eight or so elements. (The kind of miniFE; V.
// Kale, PhD dissertation, Illinois 2015, chapter 6.)
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernel.hpp"

namespace kernels {

struct finite_elements_size {
  int side = 120;  ///< squares along both sides, each cut into two triangles one way or the other
  int steps = 30;
};

class finite_elements final : public kernel {
 public:
  /// Throws std::invalid_argument when the side is below 1 or steps are negative.
  explicit finite_elements(const finite_elements_size& size);

  std::string problem() const override;
  int steps() const override { return size_.steps; }
  void reset() override;
  void run(method& how) override;
  std::vector<double> result() const override { return value_; }
  void run_serial() override;
  std::vector<finding> check() override;

  const std::vector<std::array<std::uint32_t, 3>>& elements() const { return elements_; }

 private:
  double first_value(std::uint32_t vertex) const;
  std::array<double, 3> flow_of(std::uint32_t element, const std::vector<double>& value) const;

  finite_elements_size size_;
  std::vector<std::array<double, 2>> place_;  // of vertices
  std::vector<std::array<std::uint32_t, 3>> elements_;
  std::vector<std::uint32_t> first_;   // of each vertex in corner_, and the end
  std::vector<std::uint32_t> corner_;  // element * 3 + corner
  std::vector<double> mass_;           // of vertices: a third of the area of their elements
  std::vector<std::array<double, 3>> flow_;
  std::vector<double> value_;
  std::vector<double> serial_;
  double pace_ = 0.0;  // length of a step in time, stable for the smallest triangle
};

}  // namespace kernels
