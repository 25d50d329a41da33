// Reader and writer of LAMMPS data files with `atom_style atomic` or `charge` in lj units.
//
// Understood: comments (#), `N atoms`, `N atom types`, `lo hi xlo xhi` and its like for y and z, and the sections
// Masses, Pair Coeffs (epsilon, sigma), Atoms (id type x y z, or id type charge x y z; optional image flags),
// Velocities. `Atoms # charge` names the style; without a comment the first atom shows it. A section Masses is
// required, as in LAMMPS. All atoms of a type have the same charge. Anything else (bonds, tilted boxes, other atom
// styles) is an error, never skipped.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <stdexcept>
#include <string>

#include "md/system/atoms.hpp"

namespace md {

/// An error in a data file: "FILE:LINE: what was found, what was expected".
class data_file_error : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Atoms are returned sorted by id, positions as in the file. Throws data_file_error.
atom_system read_lammps_data(const std::filesystem::path& file);
/// `name` names the file in messages.
atom_system read_lammps_data(std::istream& in, const std::string& name);

/// Numbers are written so that reading gives back the same doubles.
void write_lammps_data(std::ostream& out, const atom_system& system);

}  // namespace md
