// The place of a point on a Hilbert curve through the unit cube of 1 to 3 dimensions: points that follow each other on
// the curve are neighbours. Pure, any thread.
#pragma once

#include <cstdint>
#include <span>

namespace tri::balancing {

/// Bits of each coordinate that count.
inline constexpr int hilbert_bits = 20;

/// From 0 on. Coordinates outside of 0 to 1 count as the nearest inside.
std::uint64_t place_on_hilbert_curve(std::span<const double> point);

/// The same for a cell of a grid of 2^bits cells along each dimension.
std::uint64_t place_of_cell(std::span<const std::uint32_t> cell, int bits);

}  // namespace tri::balancing
