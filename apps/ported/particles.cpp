// See particles.hpp. Constants and the form of the force are those of leanmd, so that results can be compared with it.
#include "ported/particles.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

namespace ported {
namespace {

constexpr double mass = 1.67e-24;
constexpr double repulsion = 1.60694452e-134;
constexpr double attraction = 1.031093844e-77;
constexpr double length_unit = 1e-10, time_step = 1e-15;
constexpr double largest_velocity = 30.0;
constexpr double nearest_squared = 0.001;  // nearer ones do not interact

// Of the force on a particle at this distance from another one; both directions are summed by the callers.
vec3 force_at(const vec3& distance, double squared) {
  const double r2 = squared * (length_unit * length_unit);
  const double r = std::sqrt(r2), r6 = r2 * r2 * r2, r12 = r6 * r6;
  const double force = repulsion / r12 - attraction / r6;
  return distance * (force / r * length_unit);
}
bool interact(double squared) { return squared >= nearest_squared && squared < cutoff * cutoff; }

double limited(double velocity) { return std::clamp(velocity, -largest_velocity, largest_velocity); }

// -1, 0 or 1: below, in or above the cell.
int side_of(double coordinate, std::int32_t cell) {
  if (coordinate < cell * cell_width) return -1;
  return coordinate > (cell + 1) * cell_width ? 1 : 0;
}
double in_box(double coordinate, std::int32_t cells) {
  const double length = cells * cell_width;
  if (coordinate < 0.0) return coordinate + length;
  return coordinate > length ? coordinate - length : coordinate;
}

}  // namespace

std::vector<particle> fill_cell(const cell_grid& grid, const filling& with, const cell_index& cell) {
  const int number = grid.number_of(cell);
  std::uint16_t state[3] = {0x330E, static_cast<std::uint16_t>(number), static_cast<std::uint16_t>(number >> 16)};
  const auto random = [&] { return erand48(state); };
  std::vector<particle> made(static_cast<std::size_t>(with.of_cell(grid, number)));
  for (particle& each : made) {
    each.position.x = (cell[0] + random()) * cell_width;
    each.position.y = (cell[1] + random()) * cell_width;
    each.position.z = (cell[2] + random()) * cell_width;
    each.velocity.x = (random() - 0.5) * 0.2 * largest_velocity;
    each.velocity.y = (random() - 0.5) * 0.2 * largest_velocity;
    each.velocity.z = (random() - 0.5) * 0.2 * largest_velocity;
  }
  return made;
}

void add_forces_between(std::span<const vec3> a, const vec3& shift, std::span<const vec3> b, std::span<vec3> a_forces,
                        std::span<vec3> b_forces) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const vec3 own = a[i] + shift;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const vec3 distance = own - b[j];
      const double squared = dot(distance, distance);
      if (!interact(squared)) continue;
      const vec3 force = force_at(distance, squared);
      a_forces[i] += force;
      b_forces[j] -= force;
    }
  }
}

void add_forces_within(std::span<const vec3> a, std::span<vec3> forces) {
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = i + 1; j < a.size(); ++j) {
      const vec3 distance = a[i] - a[j];
      const double squared = dot(distance, distance);
      if (!interact(squared)) continue;
      const vec3 force = force_at(distance, squared);
      forces[i] += force;
      forces[j] -= force;
    }
}

void move_by(std::span<particle> particles, std::span<const vec3> forces) {
  for (std::size_t i = 0; i < particles.size(); ++i) {
    particle& each = particles[i];
    each.velocity += forces[i] * (1.0 / mass) * time_step;
    each.velocity = {limited(each.velocity.x), limited(each.velocity.y), limited(each.velocity.z)};
    each.position += each.velocity * time_step;
  }
}

std::vector<std::vector<particle>> take_leavers(const cell_grid& grid, const cell_index& cell,
                                                std::vector<particle>& own) {
  std::vector<std::vector<particle>> leavers(27);
  std::size_t staying = 0;
  for (const particle& each : own) {
    const cell_index to = {side_of(each.position.x, cell[0]), side_of(each.position.y, cell[1]),
                           side_of(each.position.z, cell[2])};
    const int neighbour = 9 * to[0] + 3 * to[1] + to[2] + 13;
    if (neighbour == 13) {
      own[staying++] = each;
      continue;
    }
    std::vector<particle>& leaving = leavers[static_cast<std::size_t>(neighbour)];
    leaving.push_back(each);
    vec3& position = leaving.back().position;
    position = {in_box(position.x, grid.size[0]), in_box(position.y, grid.size[1]), in_box(position.z, grid.size[2])};
  }
  own.resize(staying);
  return leavers;
}

cell_totals totals_of(std::span<const particle> particles) {
  cell_totals sums;
  for (const particle& each : particles) {
    ++sums.particles;
    sums.squared_velocities += dot(each.velocity, each.velocity);
    sums.coordinates += each.position.x + each.position.y + each.position.z;
  }
  return sums;
}

}  // namespace ported
