// Which splitting and which mesh give the forces the precision that was asked for, and what does not depend on
// positions. Pure functions, any thread.
//
// Precision is the root mean square error of the forces on the atoms, in units of the force between two charges of 1
// at distance 1, as in LAMMPS's `kspace_style`. Half of its square is for the real part that the cutoff leaves out
// (Kolafa and Perram, Mol. Simul. 9, 351, 1992), half for the mesh (Ballenegger, Cerda and Holm, J. Chem. Theory
// Comput. 8, 936, 2012: for charges at random places the error of every mode is known exactly). Both are estimates for
// charges at random places; choose_pme aims at 0.4 of the tolerance, because ions are not.
#pragma once

#include <string>

#include "md/settings.hpp"
#include "md/system/atoms.hpp"

namespace md {

struct charge_totals {
  std::size_t atoms = 0;
  double sum = 0.0;
  double sum_of_squares = 0.0;

  bool charged() const { return sum_of_squares > 0.0; }
  /// Beyond rounding.
  bool neutral() const { return sum * sum <= 1e-16 * sum_of_squares; }
};

/// Does not depend on the order of the atoms.
charge_totals totals_of(const atom_system& system);

/// Estimated errors of the forces.
double real_space_error(const box& box, const charge_totals& charges, double cutoff, double alpha);
double mesh_error(const box& box, const charge_totals& charges, const electrostatics_settings& settings);

/// Settings for PME. What is not 0 in `given` (alpha, mesh, order) stays. Throws std::invalid_argument for an order
/// that is not possible, or if no mesh of at most 1024 points in each direction is fine enough.
electrostatics_settings choose_pme(const box& box, const charge_totals& charges, double cutoff, double tolerance,
                                   const electrostatics_settings& given);

/// What is added to the sums over pairs and modes: the interaction of each charge with its own cloud and, if the system
/// is not neutral, with the uniform background that makes it so. Zero for other methods than PME.
pair_sums constant_sums(const box& box, const charge_totals& charges, const electrostatics_settings& settings);

/// One line for the user, with its end; empty without charges.
std::string describe(const box& box, const charge_totals& charges, double cutoff,
                     const electrostatics_settings& settings);

}  // namespace md
