// A whole system of atoms as input and output see it: the box, the types, and one record per atom, sorted by id.
#pragma once

#include "md/forces/coefficients.hpp"
#include "md/system/box.hpp"

namespace md {

struct atom_system {
  md::box box;
  std::vector<double> masses;  ///< by type
  std::vector<type_parameters> types;
  std::vector<atom_record> atoms;
};

/// The system repeated nx, ny, nz times in the three directions, as LAMMPS's `replicate`: the copies keep types and
/// velocities, and copy k of atom i has id i + k * (largest id). Throws std::invalid_argument for a count below 1.
atom_system replicate(const atom_system& system, const int3& times);

}  // namespace md
