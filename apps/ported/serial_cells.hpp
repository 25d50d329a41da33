// The steps of lean_md in loops, to compare with.
#pragma once

#include <vector>

#include "ported/particles.hpp"

namespace ported {

/// The totals of all cells, by number, after so many steps.
std::vector<cell_totals> run_serially(const cell_grid& grid, const filling& with, int steps);

}  // namespace ported
