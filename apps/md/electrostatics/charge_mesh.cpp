// See charge_mesh.hpp.
#include "md/electrostatics/charge_mesh.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "md/electrostatics/b_spline.hpp"

namespace md {
namespace {

/// An atom on the mesh: the first of its points and the weights, in each direction.
struct place {
  int3 first;
  std::array<spline_weights, 3> weights;
};

double coordinate(const charge_mesh& mesh, const vec4& position, std::size_t d) {
  const double at = d == 0 ? position.x : d == 1 ? position.y : position.z;
  return (at - mesh.low[d]) * mesh.scale[d];
}

place place_of(const charge_mesh& mesh, const vec4& position) {
  place result;
  for (std::size_t d = 0; d < 3; ++d) {
    const double u = coordinate(mesh, position, d);
    const double below = std::floor(u);
    result.first[d] = static_cast<int>(below) - mesh.order + 1;
    result.weights[d] = spline_at(u - below, mesh.order);
  }
  return result;
}

// Of the first point of the atom in row (y, z).
std::size_t offset_in(const mesh_block& block, const int3& first, int y, int z) {
  const auto row = static_cast<std::size_t>(first[1] + y - block.low[1]);
  const auto plane = static_cast<std::size_t>(first[2] + z - block.low[2]);
  return plane * block.plane_points() + row * static_cast<std::size_t>(block.size[0]) +
         static_cast<std::size_t>(first[0] - block.low[0]);
}

double charge_of(std::span<const double> charges, const vec4& position) {
  return charges[static_cast<std::size_t>(position.w)];
}

}  // namespace

charge_mesh::charge_mesh(const box& box, const electrostatics_settings& settings)
    : points(settings.mesh), order(settings.order), low(box.low) {
  for (std::size_t d = 0; d < 3; ++d) scale[d] = points[d] / box.length(d);
}

mesh_block touched_block(const charge_mesh& mesh, std::span<const vec4> positions) {
  constexpr double furthest = 1e6;
  mesh_block block;
  if (positions.empty()) return block;
  for (std::size_t d = 0; d < 3; ++d) {
    double least = coordinate(mesh, positions[0], d);
    double most = least;
    for (const vec4& position : positions) {
      const double u = coordinate(mesh, position, d);
      if (!(std::abs(u) < furthest)) {
        throw std::runtime_error(fmt::format(
            "an atom is at ({}, {}, {}): the simulation has blown up; use a smaller time step (--dt) or check the "
            "input for atoms that overlap",
            position.x, position.y, position.z));
      }
      least = std::min(least, u);
      most = std::max(most, u);
    }
    block.low[d] = static_cast<int>(std::floor(least)) - mesh.order + 1;
    block.size[d] = static_cast<int>(std::floor(most)) + 1 - block.low[d];
  }
  return block;
}

void spread_charges(const charge_mesh& mesh, std::span<const vec4> positions, std::span<const double> charges,
                    const mesh_block& block, double* values) {
  std::fill(values, values + block.points(), 0.0);
  for (const vec4& position : positions) {
    const double charge = charge_of(charges, position);
    if (charge == 0.0) continue;
    const place at = place_of(mesh, position);
    const auto& [x, y, z] = at.weights;
    for (int k = 0; k < mesh.order; ++k) {
      const double charge_z = charge * z.value[static_cast<std::size_t>(k)];
      for (int j = 0; j < mesh.order; ++j) {
        const double charge_yz = charge_z * y.value[static_cast<std::size_t>(j)];
        double* const row = values + offset_in(block, at.first, j, k);
        for (int i = 0; i < mesh.order; ++i) row[i] += charge_yz * x.value[static_cast<std::size_t>(i)];
      }
    }
  }
}

void interpolate_forces(const charge_mesh& mesh, std::span<const vec4> positions, std::span<const double> charges,
                        const mesh_block& block, const double* potential, vec4* forces) {
  for (const vec4& position : positions) {
    const double charge = charge_of(charges, position);
    vec4& force = *forces++;
    force = {};
    if (charge == 0.0) continue;
    const place at = place_of(mesh, position);
    const auto& [x, y, z] = at.weights;
    double field_x = 0.0;
    double field_y = 0.0;
    double field_z = 0.0;
    for (int k = 0; k < mesh.order; ++k) {
      const auto plane = static_cast<std::size_t>(k);
      for (int j = 0; j < mesh.order; ++j) {
        const auto line = static_cast<std::size_t>(j);
        const double* const row = potential + offset_in(block, at.first, j, k);
        double value = 0.0;
        double slope = 0.0;
        for (int i = 0; i < mesh.order; ++i) {
          value += x.value[static_cast<std::size_t>(i)] * row[i];
          slope += x.slope[static_cast<std::size_t>(i)] * row[i];
        }
        field_x -= slope * y.value[line] * z.value[plane];
        field_y -= value * y.slope[line] * z.value[plane];
        field_z -= value * y.value[line] * z.slope[plane];
      }
    }
    force = {charge * field_x * mesh.scale[0], charge * field_y * mesh.scale[1], charge * field_z * mesh.scale[2], 0.0};
  }
}

}  // namespace md
