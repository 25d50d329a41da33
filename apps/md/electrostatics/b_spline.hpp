// Cardinal B-splines, by which charges are spread over the points of a mesh (Essmann et al., J. Chem. Phys. 103, 8577,
// 1995, whose M_n these are). Pure functions, any thread.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace md {

/// Orders that may be used: even ones, whose interpolation exists for every mode of every mesh.
inline constexpr int least_spline_order = 4;
inline constexpr int most_spline_order = 8;
inline bool is_spline_order(int order) {
  return order >= least_spline_order && order <= most_spline_order && order % 2 == 0;
}

/// The weights of one coordinate at the `order` points around it, in ascending order of the points, and the derivatives
/// of the weights with respect to the coordinate in units of the mesh.
struct spline_weights {
  std::array<double, most_spline_order> value;
  std::array<double, most_spline_order> slope;
};

/// `fraction`: how far the coordinate is beyond the point below it, in [0, 1). The first weight is that of the point
/// order - 1 below that one.
spline_weights spline_at(double fraction, int order);

/// |b(m)|^2 for the modes m = 0 .. points - 1: what the product of charge and potential of a mode is multiplied with,
/// because splines of this order stand for waves.
std::vector<double> spline_moduli(int points, int order);

}  // namespace md
