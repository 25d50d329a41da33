// See world.hpp.
#include "md/parallel/world.hpp"

namespace md {

tri::read_only<world> the_world;

void world::derive() {
  grid_ = patch_grid(facts_.box, facts_.settings.patches, facts_.settings.reach());
  coefficients_ = coefficient_table(types_, facts_.settings.cutoff);
  kernels_ = &choose_kernels(facts_.kernels.data());
}

}  // namespace md
