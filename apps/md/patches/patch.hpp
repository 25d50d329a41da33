// A patch: the atoms of one cell of the patch grid, their order, and their half steps in time.
//
// Owned by one thread at a time; no globals. Between two list builds the atoms, and their order, stay as they are, and
// positions may leave the patch and the box a little; at a list build they are wrapped, leave, arrive and are put in
// order again. The order depends on positions and ids only, never on the order of arrival.
#pragma once

#include <span>
#include <vector>

#include "md/forces/pair_kernel.hpp"
#include "md/patches/patch_grid.hpp"

namespace md {

/// A pair's view of one of its patches: `atoms` positions followed by padding_atoms far-away ones.
struct patch_view {
  const vec4* positions;
  std::size_t atoms;
};

/// An atom that belongs to another patch now.
struct departure {
  int patch;
  atom_record atom;
};

class patch {
 public:
  std::size_t size() const { return ids_.size(); }

  // List building, in this order: leave, arrive for every atom that comes, settle.
  /// Wraps all atoms into the box, removes those that `grid` gives to another patch and returns them.
  /// Throws std::runtime_error naming the atom if a coordinate is not finite or the atom went beyond the patches
  /// around.
  std::vector<departure> leave(const box& box, const patch_grid& grid, int own_index);
  void arrive(const atom_record& atom);
  /// Puts the atoms in order so that runs of eight are compact in space, and remembers the positions.
  void settle(const vec3& low_corner, const vec3& width);

  /// Positions followed by the padding: read by the pair kernel and sent unchanged in position messages.
  std::span<const vec4> packed_positions() const { return positions_; }
  patch_view view() const { return {positions_.data(), size()}; }

  // Time integration, velocity Verlet as in LAMMPS's fix nve.
  /// v += dt/2 f/m; x += dt v.
  void first_half_step(double dt, std::span<const double> masses);
  /// Replaces the forces by the sum of the contributions, in the given order.
  void sum_forces(const kernel_set& kernels, std::span<const force_contribution> contributions);
  /// v += dt/2 f/m.
  void second_half_step(double dt, std::span<const double> masses);

  /// Sum of m v^2 over the atoms in their order.
  double mass_velocity_squared(std::span<const double> masses) const;
  /// Largest squared distance of an atom from its place at the last list build.
  double displacement_squared() const;

  std::span<const vec4> positions() const { return {positions_.data(), size()}; }
  std::span<const vec4> held_positions() const { return held_; }
  std::span<const vec4> velocities() const { return velocities_; }
  std::span<const vec4> forces() const { return forces_; }
  std::span<const std::int64_t> ids() const { return ids_; }
  atom_record record(std::size_t i) const;
  std::vector<atom_record> records() const;

  /// For a restart: sets the present position of the atom with this place in the order, after settle has put the atoms
  /// where they were at the last list build.
  void move(std::size_t i, const vec3& position);

 private:
  std::size_t type(std::size_t i) const { return static_cast<std::size_t>(positions_[i].w); }
  void kick(double half_dt, std::span<const double> masses);
  void pad();

  std::vector<vec4> positions_ = std::vector<vec4>(padding_atoms, vec4{far_away, far_away, far_away, 0.0});
  std::vector<vec4> velocities_;
  std::vector<vec4> forces_;
  std::vector<vec4> held_;
  std::vector<std::int64_t> ids_;
  std::vector<std::array<std::int32_t, 3>> images_;
};

}  // namespace md
