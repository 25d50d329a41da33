// The thermodynamic table, in the columns and number formats of LAMMPS's `thermo_style one` in lj units.
#pragma once

#include <string>

#include "md/system/types.hpp"

namespace md {

struct thermo_row {
  std::int64_t step = 0;
  double temperature = 0.0;
  double pair_energy = 0.0;       ///< per atom
  double molecular_energy = 0.0;  ///< always 0: there are no bonds
  double total_energy = 0.0;      ///< per atom
  double pressure = 0.0;
};

/// From the sums over all atoms and pairs. Degrees of freedom are 3N - 3, as in LAMMPS.
thermo_row make_thermo_row(std::int64_t step, double mass_velocity_squared, const pair_sums& pairs, std::size_t atoms,
                           double volume);

std::string thermo_header();
/// `digits`: significant digits of the values; 17 distinguish any two doubles.
std::string format_thermo(const thermo_row& row, int digits = 8);

}  // namespace md
