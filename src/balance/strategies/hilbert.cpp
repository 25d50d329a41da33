// After the transformation that J. Skilling published ("Programming the Hilbert curve", 2004): the coordinates become
// the digits of the place by exchanges and inversions of low bits, from the highest bit down, then a Gray code.
#include "balance/strategies/hilbert.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "trireme/detail/balance/snapshot.hpp"

namespace tri::balancing {

std::uint64_t place_of_cell(std::span<const std::uint32_t> cell, int bits) {
  std::array<std::uint32_t, most_dimensions> x{};
  const std::size_t dimensions = cell.size();
  std::copy(cell.begin(), cell.end(), x.begin());
  const std::uint32_t highest = 1U << static_cast<unsigned>(bits - 1);
  for (std::uint32_t bit = highest; bit > 1; bit >>= 1U) {
    const std::uint32_t below = bit - 1;
    for (std::size_t d = 0; d < dimensions; ++d) {
      if ((x[d] & bit) != 0) {
        x[0] ^= below;
      } else {
        const std::uint32_t both = (x[0] ^ x[d]) & below;
        x[0] ^= both;
        x[d] ^= both;
      }
    }
  }
  for (std::size_t d = 1; d < dimensions; ++d) x[d] ^= x[d - 1];
  std::uint32_t flips = 0;
  for (std::uint32_t bit = highest; bit > 1; bit >>= 1U)
    if ((x[dimensions - 1] & bit) != 0) flips ^= bit - 1;
  std::uint64_t place = 0;
  for (std::uint32_t bit = highest; bit > 0; bit >>= 1U)
    for (std::size_t d = 0; d < dimensions; ++d) place = place << 1U | (((x[d] ^ flips) & bit) != 0 ? 1U : 0U);
  return place;
}

std::uint64_t place_on_hilbert_curve(std::span<const double> point) {
  std::array<std::uint32_t, most_dimensions> cell{};
  constexpr double cells = 1 << hilbert_bits;
  for (std::size_t d = 0; d < point.size(); ++d)
    cell[d] = static_cast<std::uint32_t>(std::clamp(std::floor(point[d] * cells), 0.0, cells - 1.0));
  return place_of_cell(std::span(cell).first(point.size()), hilbert_bits);
}

}  // namespace tri::balancing
