// The mesh of particle-mesh Ewald, and how the atoms of a patch meet it: charges go to the points of a block of the
// mesh around the patch, and the potential at these points gives the forces. Owned by one thread at a time.
#pragma once

#include <span>
#include <vector>

#include "md/settings.hpp"
#include "md/system/box.hpp"

namespace md {

/// In one direction.
inline constexpr int most_mesh_points = 1024;

/// Where the points of the mesh are.
struct charge_mesh {
  int3 points{};
  int order = 0;
  vec3 low{};    ///< corner of the box
  vec3 scale{};  ///< points per length

  charge_mesh() = default;
  charge_mesh(const box& box, const electrostatics_settings& settings);
};

/// Points of the mesh, low .. low + size - 1 in each direction. They are not wrapped: points beyond a face belong to
/// the other side of the mesh.
struct mesh_block {
  int3 low{};
  int3 size{};

  std::size_t plane_points() const { return static_cast<std::size_t>(size[0]) * static_cast<std::size_t>(size[1]); }
  std::size_t points() const { return plane_points() * static_cast<std::size_t>(size[2]); }
};

inline int wrapped(int at, int points) {
  const int rest = at % points;
  return rest < 0 ? rest + points : rest;
}

/// The smallest block with all points that the atoms touch; of size 0 for no atoms. Throws std::runtime_error if a
/// position is not finite or further than 1e6 mesh points away.
mesh_block touched_block(const charge_mesh& mesh, std::span<const vec4> positions);

/// Writes the charges of the atoms at the points of the block (x fastest, then y), in the order of the atoms.
/// `charges`: by type, which is w of the position.
void spread_charges(const charge_mesh& mesh, std::span<const vec4> positions, std::span<const double> charges,
                    const mesh_block& block, double* values);

/// Writes the forces on the atoms, from the potential at the points of the block.
void interpolate_forces(const charge_mesh& mesh, std::span<const vec4> positions, std::span<const double> charges,
                        const mesh_block& block, const double* potential, vec4* forces);

}  // namespace md
