// See mesh_rows.hpp.
//
// With F the transformed charges, the reciprocal energy is E = 1/2 sum over modes m != 0 of G(m) |F(m)|^2, where
// G(m) = exp(-pi^2 m^2 / alpha^2) / (pi V m^2) |b_x|^2 |b_y|^2 |b_z|^2, m in waves per length and b of the splines
// (Essmann et al. 1995, equations 4.7 and 4.8). The potential is the transform of G F, without a norm. The virial of a
// mode is E(m) (1 - 2 pi^2 m^2 / alpha^2), the trace of their equation 2.7.
#include "md/electrostatics/mesh_rows.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "md/electrostatics/b_spline.hpp"

namespace md {
namespace {

constexpr double pi = std::numbers::pi;

// Waves in the box of mode m, of the sign with fewer.
double waves(int mode, int points) { return mode <= points / 2 ? mode : mode - points; }

}  // namespace

mesh_rows::mesh_rows(const mesh_transforms& transforms, const box& box, const electrostatics_settings& settings,
                     const mesh_range& rows)
    : transforms_(&transforms),
      rows_(rows),
      length_{box.length(0), box.length(1), box.length(2)},
      alpha_(settings.alpha),
      values_(static_cast<std::size_t>(rows.count) * transforms.row_stride()) {
  const int3& points = transforms.points();
  const std::vector<double> x_moduli = spline_moduli(points[0], settings.order);
  const std::vector<double> y_moduli = spline_moduli(points[1], settings.order);
  const std::vector<double> z_moduli = spline_moduli(points[2], settings.order);
  const double factor = 1.0 / (pi * box.volume());
  for (int y = rows.first; y < rows.first + rows.count; ++y) {
    for (int z = 0; z < points[2]; ++z) {
      const double moduli = y_moduli[static_cast<std::size_t>(y)] * z_moduli[static_cast<std::size_t>(z)];
      for (int x = 0; x <= points[0] / 2; ++x) {
        const double m2 = wave_number_squared(x, y, z);
        green_.push_back(m2 == 0.0 ? 0.0
                                   : factor * std::exp(-pi * pi * m2 / (alpha_ * alpha_)) / m2 * moduli *
                                         x_moduli[static_cast<std::size_t>(x)]);
      }
    }
  }
}

double mesh_rows::wave_number_squared(int x, int y, int z) const {
  const int3& points = transforms_->points();
  const double mx = waves(x, points[0]) / length_[0];
  const double my = waves(y, points[1]) / length_[1];
  const double mz = waves(z, points[2]) / length_[2];
  return mx * mx + my * my + mz * mz;
}

complex* mesh_rows::row(int at) {
  return reinterpret_cast<complex*>(values_.data() + static_cast<std::size_t>(at) * transforms_->row_stride());
}
const complex* mesh_rows::row(int at) const {
  return reinterpret_cast<const complex*>(values_.data() + static_cast<std::size_t>(at) * transforms_->row_stride());
}

void mesh_rows::set_planes(const mesh_range& planes, const complex* from) {
  const std::size_t count = static_cast<std::size_t>(planes.count) * transforms_->modes_x();
  for (int y = 0; y < rows_.count; ++y, from += count) {
    std::copy_n(from, count, row(y) + static_cast<std::size_t>(planes.first) * transforms_->modes_x());
  }
}

std::vector<pair_sums> mesh_rows::convolve(bool sums_wanted) {
  std::vector<pair_sums> sums;
  const std::size_t modes = transforms_->modes_x() * static_cast<std::size_t>(transforms_->points()[2]);
  for (int y = 0; y < rows_.count; ++y) {
    complex* const values = row(y);
    transforms_->row_forward(values);
    if (sums_wanted) sums.push_back(sums_of(y));
    const double* const green = green_.data() + static_cast<std::size_t>(y) * modes;
    for (std::size_t i = 0; i < modes; ++i) values[i] = {values[i].real() * green[i], values[i].imag() * green[i]};
    transforms_->row_backward(values);
  }
  return sums;
}

pair_sums mesh_rows::sums_of(int at) const {
  const int3& points = transforms_->points();
  const std::size_t modes_x = transforms_->modes_x();
  const complex* value = row(at);
  const double* green = green_.data() + static_cast<std::size_t>(at) * modes_x * static_cast<std::size_t>(points[2]);
  pair_sums sums;
  for (int z = 0; z < points[2]; ++z) {
    for (int x = 0; x <= points[0] / 2; ++x, ++value, ++green) {
      // Modes with x and points - x are conjugates; 0 and the middle are their own.
      const double count = x == 0 || 2 * x == points[0] ? 1.0 : 2.0;
      const double energy = 0.5 * count * *green * (value->real() * value->real() + value->imag() * value->imag());
      const double m2 = wave_number_squared(x, rows_.first + at, z);
      sums += {energy, energy * (1.0 - 2.0 * pi * pi * m2 / (alpha_ * alpha_))};
    }
  }
  return sums;
}

void mesh_rows::copy_planes(const mesh_range& planes, complex* to) const {
  const std::size_t count = static_cast<std::size_t>(planes.count) * transforms_->modes_x();
  for (int y = 0; y < rows_.count; ++y) {
    to = std::copy_n(row(y) + static_cast<std::size_t>(planes.first) * transforms_->modes_x(), count, to);
  }
}

pair_sums total_of_rows(const std::vector<pair_sums>& rows) {
  pair_sums total;
  for (const pair_sums& each : rows) total += each;
  return total;
}

}  // namespace md
