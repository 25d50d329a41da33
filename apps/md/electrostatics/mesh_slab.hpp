// Consecutive planes (z) of the mesh: charges of patches come in, are summed and transformed in x and y; the modes go
// away as rows and come back as those of the potential, which patches fetch. Planes are independent of each other, so
// results do not depend on how the mesh is cut. Owned by one thread at a time.
#pragma once

#include "md/electrostatics/charge_mesh.hpp"
#include "md/electrostatics/mesh_transforms.hpp"

namespace md {

/// Planes or rows first .. first + count - 1.
struct mesh_range {
  int first = 0;
  int count = 0;

  bool contains(int at) const { return at >= first && at < first + count; }
};

/// Part `part` of `parts` even ones of 0 .. points - 1.
mesh_range even_part(int points, int part, int parts);

/// The part of a block that lies in some planes of the mesh: its planes that do, in their order, each whole.
std::size_t points_in(const mesh_block& block, int mesh_planes, const mesh_range& planes);
void copy_out(const mesh_block& block, int mesh_planes, const mesh_range& planes, const double* values, double* part);
void copy_in(const mesh_block& block, int mesh_planes, const mesh_range& planes, const double* part, double* values);

class mesh_slab {
 public:
  /// The transforms must outlive the slab.
  mesh_slab(const mesh_transforms& transforms, const mesh_range& planes);

  const mesh_range& planes() const { return planes_; }

  // One step, in this order.
  void clear();
  /// Adds the charges of the part of a block that is in these planes. The order of the calls decides on roundings.
  void add(const mesh_block& block, const double* part);
  void forward();
  /// Modes of some rows (y): row by row, in each plane by plane, all x.
  void copy_rows(const mesh_range& rows, complex* to) const;
  void set_rows(const mesh_range& rows, const complex* from);
  void backward();
  /// The potential at the points of the part.
  void extract(const mesh_block& block, double* part) const;

 private:
  double* plane(int at) { return values_.data() + static_cast<std::size_t>(at) * transforms_->plane_stride(); }
  const double* plane(int at) const {
    return values_.data() + static_cast<std::size_t>(at) * transforms_->plane_stride();
  }
  complex* modes(int at);
  const complex* modes(int at) const;

  const mesh_transforms* transforms_;
  mesh_range planes_;
  mesh_memory modes_;
  mesh_memory values_;
};

}  // namespace md
