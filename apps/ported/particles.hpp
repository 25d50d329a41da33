// The particles of a cell, and the forces between two cells. Everything is plain C++, so the objects of lean_md.cpp
// and the loops of serial_cells.cpp do the same arithmetic in the same order.
#pragma once

#include <span>
#include <vector>

#include "ported/cell_grid.hpp"
#include "ported/vec3.hpp"

namespace ported {

struct particle {
  vec3 position;  // in 1e-10 m
  vec3 velocity;
};

/// Number of particles in a cell at the start: `first` in cell 0, and linearly up or down to almost `last`.
struct filling {
  std::int32_t first = 300, last = 300;
  int of_cell(const cell_grid& grid, int number) const { return first + number * (last - first) / grid.cells(); }
};

/// A cell at the start: random positions and velocities, which depend on its number alone.
std::vector<particle> fill_cell(const cell_grid& grid, const filling& with, const cell_index& cell);

/// Adds Lennard-Jones forces between the particles of two cells; `shift` is added to the positions of the first.
/// No particle of one is in the other. `a_forces` and `b_forces` are as long as `a` and `b`.
void add_forces_between(std::span<const vec3> a, const vec3& shift, std::span<const vec3> b, std::span<vec3> a_forces,
                        std::span<vec3> b_forces);
/// Likewise between the particles of one cell.
void add_forces_within(std::span<const vec3> a, std::span<vec3> forces);

/// A step in time by these forces. Velocities are limited.
void move_by(std::span<particle> particles, std::span<const vec3> forces);

/// Takes out of `own` the particles that have left the cell, for each neighbour; positions are put back into the box.
/// One that went further than a neighbour goes to the nearest one.
std::vector<std::vector<particle>> take_leavers(const cell_grid& grid, const cell_index& cell,
                                                std::vector<particle>& own);
/// Steps between two calls of take_leavers.
constexpr int steps_between_leaving = 20;

/// For comparing.
struct cell_totals {
  std::int64_t particles = 0;
  double squared_velocities = 0.0;
  double coordinates = 0.0;  ///< sum over particles of x + y + z
  bool operator==(const cell_totals&) const = default;
};
cell_totals totals_of(std::span<const particle> particles);

}  // namespace ported
