// A droplet in a large empty box: the input of a run whose work is in one place.
#pragma once

#include <cstdint>

#include "md/system/atoms.hpp"

namespace md {

struct droplet_settings {
  double radius = 8.0;  ///< in sigma
  double box = 40.0;    ///< edge of the cubic box
  double place = 0.5;   ///< of its middle on the diagonal of the box: 0 and 1 are the corners
  double speed = 0.0;   ///< of the whole droplet, along the diagonal of the box
  std::uint64_t seed = 1;
};

/// A sphere of Lennard-Jones liquid (fcc, density 0.8, temperature 0.7, mass 1), ids in the
/// order z, y, x of the lattice. The same settings give the same atoms everywhere. Throws std::invalid_argument if the
/// droplet does not fit into the box.
atom_system make_droplet(const droplet_settings& settings);

}  // namespace md
