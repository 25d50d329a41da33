// Consecutive rows (modes in y) of the mesh: transforms in z, multiplies every mode with the Green's function of smooth
// particle-mesh Ewald, sums energy and virial, and transforms back. Rows are independent of each other. Owned by one
// thread at a time.
#pragma once

#include <vector>

#include "md/electrostatics/mesh_slab.hpp"

namespace md {

class mesh_rows {
 public:
  /// The transforms must outlive the rows.
  mesh_rows(const mesh_transforms& transforms, const box& box, const electrostatics_settings& settings,
            const mesh_range& rows);

  const mesh_range& rows() const { return rows_; }

  // One step, in this order. The data of planes is in the order of mesh_slab::copy_rows.
  void set_planes(const mesh_range& planes, const complex* from);
  /// Charges become the potential. With sums, returns energy and virial of each row; otherwise nothing.
  std::vector<pair_sums> convolve(bool sums_wanted);
  void copy_planes(const mesh_range& planes, complex* to) const;

 private:
  complex* row(int at);
  const complex* row(int at) const;
  pair_sums sums_of(int at) const;
  double wave_number_squared(int x, int y, int z) const;

  const mesh_transforms* transforms_;
  mesh_range rows_;
  vec3 length_;
  double alpha_;
  mesh_memory values_;
  std::vector<double> green_;  ///< by row, z, x
};

/// The sum over the rows of the whole mesh, in their order.
pair_sums total_of_rows(const std::vector<pair_sums>& rows);

}  // namespace md
