// LU factorization with partial pivoting of a matrix with its right-hand side as the last column, and the solution of
// the triangular system that it leaves: right-looking, in tiles, with look-ahead (as HPL does).
#pragma once

#include <vector>

#include "dense/right_looking.hpp"

namespace dense {

/// Collective over the PEs of the grid.
void eliminate(const matrix& a, const grid_place& place, look_ahead depth);

/// The solution of the system that eliminate() has left: on each PE what it has computed, zeros elsewhere, so that the
/// sum over all PEs is the solution. Collective over the PEs of the grid.
std::vector<double> substitute_back(const matrix& a, const grid_place& place);

}  // namespace dense
