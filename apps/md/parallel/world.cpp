// See world.hpp.
#include "md/parallel/world.hpp"

namespace md {

tri::read_only<world> the_world;

void world::derive() {
  grid_ = patch_grid(facts_.box, facts_.settings.patches, facts_.settings.reach());
  coefficients_ = coefficient_table(types_, facts_.settings.cutoff, facts_.settings.charges);
  charges_ = charges_of(types_);
  if (facts_.settings.charges.method == electrostatics::pme) {
    long_range_ =
        std::make_shared<const md::long_range>(facts_.box, facts_.settings.charges, grid_, facts_.mesh_objects);
  }
  kernels_ = &choose_kernels(facts_.kernels.data());
}

}  // namespace md
