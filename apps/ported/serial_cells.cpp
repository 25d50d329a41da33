// See serial_cells.hpp.
#include "ported/serial_cells.hpp"

#include <utility>

namespace ported {
namespace {

struct all_cells {
  cell_grid grid;
  std::vector<std::vector<particle>> own;

  std::vector<cell_index> indices() const {
    std::vector<cell_index> all;
    for (std::int32_t z = 0; z < grid.size[2]; ++z)
      for (std::int32_t y = 0; y < grid.size[1]; ++y)
        for (std::int32_t x = 0; x < grid.size[0]; ++x) all.push_back({x, y, z});
    return all;
  }
};

std::vector<vec3> positions_of(const std::vector<particle>& particles) {
  std::vector<vec3> positions;
  for (const particle& each : particles) positions.push_back(each.position);
  return positions;
}

// Of one cell, in the order in which the objects add them: as the first of its pairs, then as the second.
std::vector<vec3> forces_on(const all_cells& cells, const std::vector<std::vector<vec3>>& positions,
                            const cell_index& cell) {
  const cell_grid& grid = cells.grid;
  const std::vector<vec3>& own = positions[static_cast<std::size_t>(grid.number_of(cell))];
  std::vector<vec3> sum(own.size());
  const auto add = [&](const std::vector<vec3>& part) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
  };
  for (int kind = 0; kind < pair_kinds; ++kind) {
    const cell_index offset = offset_of_kind(kind);
    const auto& other = positions[static_cast<std::size_t>(grid.number_of(grid.beside(cell, offset)))];
    std::vector<vec3> on_own(own.size()), on_other(other.size());
    if (kind == 0)
      add_forces_within(own, on_own);
    else
      add_forces_between(own, grid.shift(cell, offset), other, on_own, on_other);
    add(on_own);
  }
  for (int kind = 1; kind < pair_kinds; ++kind) {
    const cell_index first = grid.beside(cell, opposite(offset_of_kind(kind)));
    const auto& other = positions[static_cast<std::size_t>(grid.number_of(first))];
    std::vector<vec3> on_own(own.size()), on_other(other.size());
    add_forces_between(other, grid.shift(first, offset_of_kind(kind)), own, on_other, on_own);
    add(on_own);
  }
  return sum;
}

void exchange_leavers(all_cells& cells) {
  std::vector<std::vector<std::vector<particle>>> leavers;
  for (const cell_index& cell : cells.indices())
    leavers.push_back(take_leavers(cells.grid, cell, cells.own[static_cast<std::size_t>(cells.grid.number_of(cell))]));
  for (const cell_index& cell : cells.indices()) {
    std::vector<particle>& own = cells.own[static_cast<std::size_t>(cells.grid.number_of(cell))];
    for (int neighbour = 0; neighbour < 27; ++neighbour) {
      const cell_index from = cells.grid.beside(cell, offset_of(neighbour));
      const auto& come =
          leavers[static_cast<std::size_t>(cells.grid.number_of(from))][static_cast<std::size_t>(26 - neighbour)];
      own.insert(own.end(), come.begin(), come.end());
    }
  }
}

}  // namespace

std::vector<cell_totals> run_serially(const cell_grid& grid, const filling& with, int steps) {
  all_cells cells{grid, {}};
  for (const cell_index& cell : cells.indices()) cells.own.push_back(fill_cell(grid, with, cell));
  for (int step = 1; step <= steps; ++step) {
    std::vector<std::vector<vec3>> positions;
    for (const auto& own : cells.own) positions.push_back(positions_of(own));
    for (const cell_index& cell : cells.indices())
      move_by(cells.own[static_cast<std::size_t>(grid.number_of(cell))], forces_on(cells, positions, cell));
    if (step % steps_between_leaving == 0) exchange_leavers(cells);
  }
  std::vector<cell_totals> totals;
  for (const auto& own : cells.own) totals.push_back(totals_of(own));
  return totals;
}

}  // namespace ported
