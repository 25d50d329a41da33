// How the charge mesh of a parallel run is cut into objects, and which of them a patch meets. Immutable; one per
// process, shared by its threads.
#pragma once

#include "md/electrostatics/charge_mesh.hpp"
#include "md/electrostatics/mesh_slab.hpp"
#include "md/electrostatics/mesh_transforms.hpp"
#include "md/patches/patch_grid.hpp"

namespace md {

class long_range {
 public:
  /// `objects`: slabs and rows to make, at most as many as there are planes or rows. The grid is copied.
  long_range(const box& box, const electrostatics_settings& settings, const patch_grid& grid, int objects);

  const charge_mesh& mesh() const { return mesh_; }
  const mesh_transforms& transforms() const { return transforms_; }
  int slab_objects() const { return slabs_; }
  int row_objects() const { return rows_; }
  mesh_range planes(int slab) const { return even_part(mesh_.points[2], slab, slabs_); }
  mesh_range rows(int object) const { return even_part(mesh_.points[1], object, rows_); }
  /// Modes that go from a slab to an object of rows.
  std::size_t exchanged(const mesh_range& planes, const mesh_range& rows) const {
    return static_cast<std::size_t>(planes.count) * static_cast<std::size_t>(rows.count) * transforms_.modes_x();
  }

  /// The slabs that atoms of a patch can meet, in order: from a list build to the next they go no further than the
  /// patches around.
  std::vector<int> slabs_near(int patch) const;
  /// The same from the other side.
  std::vector<int> patches_near(int slab) const;
  /// Throws std::runtime_error if the atoms of the patch, which touch the block, have gone further.
  void check_near(int patch, const mesh_block& block) const;

 private:
  mesh_range planes_near(int patch) const;  ///< not wrapped

  charge_mesh mesh_;
  mesh_transforms transforms_;
  patch_grid grid_;
  int slabs_;
  int rows_;
};

}  // namespace md
