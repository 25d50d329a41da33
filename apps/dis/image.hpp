// The image of Neighborhood: random lines on a dark ground. A pixel is a function of its place, so each PE paints its
// own rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "dis/random_words.hpp"

namespace dis {

using pixel = std::uint16_t;

/// The parameters of the suite.
struct image_settings {
  std::int64_t size = 256;  // rows and columns (dimension)
  std::int64_t bits = 8;    // of a pixel (bit depth)
  std::int64_t lines = 64;
  std::int64_t thinnest = 1, thickest = 5;
  std::int64_t seed = 1;
  int brightest() const { return (1 << bits) - 1; }
};

class image {
 public:
  explicit image(const image_settings& how) {
    for (std::int64_t number = 0; number < how.lines; ++number) {
      const auto random = [&](std::int64_t k, std::int64_t bound) {
        return static_cast<double>(random_word(how.seed, 6 * number + k, bound));
      };
      line& made = lines_.emplace_back();
      made.i = random(0, how.size);
      made.j = random(1, how.size);
      made.to_i = random(2, how.size) - made.i;
      made.to_j = random(3, how.size) - made.j;
      made.reach = (static_cast<double>(how.thinnest) + random(4, how.thickest - how.thinnest + 1)) / 2;
      made.brightness = static_cast<pixel>(1 + random(5, how.brightest()));
    }
  }
  /// The last line that covers it.
  pixel at(std::int64_t i, std::int64_t j) const {
    for (auto each = lines_.rbegin(); each != lines_.rend(); ++each)
      if (each->covers(static_cast<double>(i), static_cast<double>(j))) return each->brightness;
    return 0;
  }

 private:
  struct line {
    double i, j, to_i, to_j, reach;
    pixel brightness;
    bool covers(double at_i, double at_j) const {
      const double length = to_i * to_i + to_j * to_j;
      const double along = length == 0 ? 0 : ((at_i - i) * to_i + (at_j - j) * to_j) / length;
      const double part = std::clamp(along, 0.0, 1.0);
      return std::hypot(at_i - i - part * to_i, at_j - j - part * to_j) <= reach;
    }
  };
  std::vector<line> lines_;
};

}  // namespace dis
