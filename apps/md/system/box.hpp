// The orthogonal periodic simulation box.
#pragma once

#include <cmath>

#include "md/system/types.hpp"

namespace md {

struct box {
  vec3 low{};
  vec3 high{};

  double length(std::size_t d) const { return high[d] - low[d]; }
  double volume() const { return length(0) * length(1) * length(2); }

  /// Moves the position into [low, high) and keeps the unwrapped position by counting the box lengths in `image`.
  /// The position must be finite.
  void wrap(vec3& position, std::array<std::int32_t, 3>& image) const {
    for (std::size_t d = 0; d < 3; ++d) {
      double& x = position[d];
      if (x >= low[d] && x < high[d]) continue;
      const double turns = std::floor((x - low[d]) / length(d));
      x -= turns * length(d);
      image[d] += static_cast<std::int32_t>(turns);
      // Rounding can leave the coordinate on the wrong side of a face by one unit in the last place.
      if (x < low[d]) x = low[d];
      if (x >= high[d]) {
        x = low[d];
        image[d] += 1;
      }
    }
  }
};

}  // namespace md
