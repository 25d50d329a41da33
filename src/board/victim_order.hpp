// The order in which an idle PE tries its victims: nearest first, and staggered, so that PEs that fall idle together
// try different victims. Neighbouring PEs are tried in turn, after V. Kale, PhD dissertation, Illinois 2015, chapter 5.
// A pure function of distances; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tri::board {

// `distances` is a row-major pe_count x pe_count matrix; only comparisons count, the diagonal is ignored.
// Returns every PE but `pe`, classes of equal distance in rising order. Where the distances are a hierarchy of equal
// groups, the k-th victims of all PEs are pairwise different for every k.
// Throws std::invalid_argument when the matrix has the wrong size or pe is out of range.
std::vector<std::uint32_t> victim_order(std::uint32_t pe, std::uint32_t pe_count,
                                        std::span<const std::uint32_t> distances);

// The same with all PEs equally far: pe+1, pe+2, ... round the ring.
std::vector<std::uint32_t> ring_order(std::uint32_t pe, std::uint32_t pe_count);

}  // namespace tri::board
