// Elimination column by column, without tiles: what the textbook says, on a global array. To compare with.
#pragma once

#include "dense/matrix.hpp"

namespace dense {

/// All accesses go through the elements of the array; each PE computes its own ones. Collective over all PEs.
void eliminate_by_elements(const matrix& a);
/// Privatized: the pivot's row and column are fetched once, the own tiles are plain memory. Collective over all PEs.
void eliminate_by_columns(const matrix& a);

}  // namespace dense
