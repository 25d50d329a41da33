// The measures of Neighborhood: entropy and energy of an image's texture, from histograms of the sums and differences
// of pixels at a distance in a direction (Unser 1986), which stand for the co-occurrence matrix (GLCM).
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace dis {

/// From a pixel to its partner; the rows of partners are never above.
struct displacement {
  std::int64_t i, j;
};
/// 0, 45, 90 and 135 degrees, at two distances.
inline std::vector<displacement> displacements(std::int64_t near, std::int64_t far) {
  std::vector<displacement> all;
  for (const std::int64_t d : {near, far}) all.insert(all.end(), {{0, d}, {d, -d}, {d, 0}, {d, d}});
  return all;
}

/// For each displacement a histogram of sums and one of differences, one behind the other: plain counts, so those of
/// PEs add up.
class histograms {
 public:
  histograms(std::size_t displacements, int brightest)
      : bins_(2 * static_cast<std::size_t>(brightest) + 1), counts_(displacements * 2 * bins_) {}
  void add(std::size_t displacement, int a, int b) {
    const std::size_t first = displacement * 2 * bins_;
    ++counts_[first + static_cast<std::size_t>(a + b)];
    ++counts_[first + bins_ + static_cast<std::size_t>(a - b) + bins_ / 2];
  }
  std::vector<std::int64_t>& counts() { return counts_; }
  friend bool operator==(const histograms&, const histograms&) = default;

  struct measures {
    double entropy, energy;
  };
  measures of(std::size_t displacement) const {
    const std::size_t first = displacement * 2 * bins_;
    std::int64_t pairs = 0;
    for (std::size_t k = first; k < first + bins_; ++k) pairs += counts_[k];
    double entropy = 0, energy = 1;
    for (const std::size_t begin : {first, first + bins_}) {
      double squares = 0;
      for (std::size_t k = begin; k < begin + bins_; ++k) {
        if (counts_[k] == 0) continue;
        const double share = static_cast<double>(counts_[k]) / static_cast<double>(pairs);
        entropy -= share * std::log(share);
        squares += share * share;
      }
      energy *= squares;
    }
    return {entropy, energy};
  }

 private:
  std::size_t bins_;
  std::vector<std::int64_t> counts_;
};

}  // namespace dis
