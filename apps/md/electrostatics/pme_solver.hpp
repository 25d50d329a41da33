// Smooth particle-mesh Ewald in one thread: the long-range forces of all patches. The parallel program does the same
// with slabs and rows that are objects (parallel/pme_slab.hpp, parallel/pme_rows.hpp), and gets the same bits.
#pragma once

#include <memory>

#include "md/electrostatics/mesh_rows.hpp"

namespace md {

class pme_solver {
 public:
  /// `charges`: by type. Throws std::runtime_error if the program was built without FFTW.
  pme_solver(const box& box, const electrostatics_settings& settings, std::vector<double> charges);

  /// `positions`: of the atoms of each patch. Returns energy and virial of the reciprocal part if wanted.
  pair_sums compute(const std::vector<std::span<const vec4>>& positions, bool sums_wanted);
  /// The forces on the atoms of a patch, from the last compute.
  std::span<const vec4> forces(std::size_t patch) const { return forces_[patch]; }

 private:
  charge_mesh mesh_;
  std::vector<double> charges_;
  mesh_transforms transforms_;
  mesh_slab slab_;
  mesh_rows rows_;
  std::vector<mesh_block> blocks_;
  std::vector<double> values_;
  std::vector<complex> modes_;
  std::vector<std::vector<vec4>> forces_;
};

}  // namespace md
