// See b_spline.hpp.
#include "md/electrostatics/b_spline.hpp"

#include <cmath>
#include <complex>
#include <numbers>

namespace md {

spline_weights spline_at(double fraction, int order) {
  // v[j] = M_n(fraction + j) from n = 2 upwards, by M_n(x) = (x M_{n-1}(x) + (n - x) M_{n-1}(x - 1)) / (n - 1).
  // Point j below has it, hence the reversal at the end. M_n'(x) = M_{n-1}(x) - M_{n-1}(x - 1).
  std::array<double, most_spline_order + 1> v{};
  v[0] = fraction;
  v[1] = 1.0 - fraction;
  spline_weights result;
  for (int n = 3; n <= order; ++n) {
    if (n == order) {
      for (int j = 0; j < order; ++j) {
        const auto at = static_cast<std::size_t>(j);
        result.slope[static_cast<std::size_t>(order - 1 - j)] = v[at] - (j == 0 ? 0.0 : v[at - 1]);
      }
    }
    const double factor = 1.0 / (n - 1);
    for (int j = n - 1; j >= 0; --j) {
      const auto at = static_cast<std::size_t>(j);
      v[at] = factor * ((fraction + j) * v[at] + (j == 0 ? 0.0 : (n - fraction - j) * v[at - 1]));
    }
  }
  for (int j = 0; j < order; ++j)
    result.value[static_cast<std::size_t>(order - 1 - j)] = v[static_cast<std::size_t>(j)];
  return result;
}

std::vector<double> spline_moduli(int points, int order) {
  const spline_weights at_points = spline_at(0.0, order);  // M_n at the integers
  std::vector<double> moduli;
  for (int m = 0; m < points; ++m) {
    std::complex<double> sum = 0.0;
    for (int k = 0; k < order; ++k) {
      sum += at_points.value[static_cast<std::size_t>(k)] * std::polar(1.0, 2.0 * std::numbers::pi * m * k / points);
    }
    moduli.push_back(1.0 / std::norm(sum));
  }
  return moduli;
}

}  // namespace md
