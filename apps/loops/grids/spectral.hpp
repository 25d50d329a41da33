// A two-dimensional Fourier transform, smoothing in the space of frequencies, and back: loops over rows, a
// transposition by tiles in which every thread needs something of every other (as the all-to-all of such programs on
// many nodes does), loops over rows again. (The kind of PF3D and NAS FT; V. Kale, PhD dissertation, Illinois 2015,
// chapter 4.)
#pragma once

#include <complex>
#include <vector>

#include "kernel.hpp"

namespace kernels {

struct spectral_size {
  int side = 256;  ///< a power of two
  int steps = 4;
};

class spectral final : public kernel {
 public:
  /// Throws std::invalid_argument when the side is not a power of two, or steps are negative.
  explicit spectral(const spectral_size& size);

  std::string problem() const override;
  int steps() const override { return size_.steps; }
  void reset() override;
  void run(method& how) override;
  std::vector<double> result() const override;
  void run_serial() override;
  std::vector<finding> check() override;

 private:
  using complex = std::complex<double>;
  void transform_rows(method& how, std::size_t loop, bool back);
  void transpose(method& how, std::size_t loop);
  complex first_value(std::size_t row, std::size_t column) const;
  double kept(std::size_t row, std::size_t column) const;  // of a frequency, in a step
  std::size_t side() const { return static_cast<std::size_t>(size_.side); }

  spectral_size size_;
  std::vector<complex> roots_;  // exp(-2 pi i k / side)
  std::vector<complex> field_;
  std::vector<complex> other_;  // target of the transposition
  std::vector<complex> serial_;
};

}  // namespace kernels
