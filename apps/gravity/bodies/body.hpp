// The plain data of the gravitation program. Everything here may be copied as bytes. Units: the gravitational constant
// is 1.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

namespace gravity {

using vec3 = std::array<double, 3>;

struct body {
  vec3 position{};
  vec3 velocity{};
  double mass = 0.0;
  std::int64_t id = 0;  ///< its number in the input, from 0
};
static_assert(sizeof(body) == 64);

/// What attracts: 32 bytes, so that one fits into a vector register.
struct alignas(32) source {
  double x = 0.0;
  double y = 0.0;
  double z = 0.0;
  double mass = 0.0;
};

/// The smallest box around some points. Empty at first: low is above high.
struct box {
  vec3 low = {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(),
              std::numeric_limits<double>::infinity()};
  vec3 high = {-std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
               -std::numeric_limits<double>::infinity()};

  void include(const vec3& point) {
    for (std::size_t d = 0; d < 3; ++d) {
      low[d] = std::min(low[d], point[d]);
      high[d] = std::max(high[d], point[d]);
    }
  }
  void include(const box& other) {  // which may be empty
    for (std::size_t d = 0; d < 3; ++d) {
      low[d] = std::min(low[d], other.low[d]);
      high[d] = std::max(high[d], other.high[d]);
    }
  }
  /// The square of the distance from a point to the nearest point of the box. Monotone, also in rounding: of a box
  /// inside this one it is never smaller, so a cell that must be opened for the inner box is opened for the outer one.
  double distance_squared(const vec3& point) const {
    double sum = 0.0;
    for (std::size_t d = 0; d < 3; ++d) {
      const double apart = std::max({low[d] - point[d], point[d] - high[d], 0.0});
      sum += apart * apart;
    }
    return sum;
  }
};

}  // namespace gravity
