// The Fourier transforms of the mesh, by FFTW: of one plane (x and y at one z) and of one row (z, for all x at one mode
// of y). They are the units that a distributed transform moves, so that the result does not depend on who has which.
//
// A program that was built without FFTW has the same functions; the constructor throws.
#pragma once

#include <complex>
#include <cstddef>
#include <memory>

#include "md/system/types.hpp"

namespace md {

/// Whether this program has FFTW.
bool have_mesh_transforms();

/// Memory for FFTW: aligned to a cache line, zero at first.
class mesh_memory {
 public:
  mesh_memory() = default;
  explicit mesh_memory(std::size_t doubles);
  double* data() { return data_.get(); }
  const double* data() const { return data_.get(); }

 private:
  struct release {
    void operator()(double* data) const;
  };
  std::unique_ptr<double[], release> data_;
};

using complex = std::complex<double>;

/// Plans for one mesh. Immutable after the constructor; may be used by several threads at once. The same mesh gives the
/// same bits, whichever object transforms.
class mesh_transforms {
 public:
  /// Throws std::runtime_error if the program was built without FFTW.
  explicit mesh_transforms(const int3& points);
  ~mesh_transforms();
  mesh_transforms(const mesh_transforms&) = delete;
  mesh_transforms& operator=(const mesh_transforms&) = delete;

  const int3& points() const { return points_; }
  /// Modes in x: the others are their conjugates, because charges are real.
  std::size_t modes_x() const { return static_cast<std::size_t>(points_[0] / 2 + 1); }
  // Doubles from one plane or row to the next in the memory of an object; whole cache lines.
  std::size_t plane_stride() const;
  std::size_t plane_modes_stride() const;
  std::size_t row_stride() const;

  // All are unnormalised; data must be at a multiple of the strides in a mesh_memory.
  /// Charges (y, x) to modes (y, x).
  void plane_forward(double* values, complex* modes) const;
  /// Modes, which are destroyed, to the potential.
  void plane_backward(complex* modes, double* values) const;
  /// (z, x) at one mode of y, in place.
  void row_forward(complex* row) const;
  void row_backward(complex* row) const;

 private:
  struct plans;
  int3 points_;
  std::unique_ptr<plans> plans_;
};

}  // namespace md
