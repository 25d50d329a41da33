// Lennard-Jones parameters and charges of every pair of atom types, in the form that the pair kernel reads.
//
//   E(r) = 4 epsilon ((sigma/r)^12 - (sigma/r)^6) for r < cutoff, not shifted, no tail correction.
//
// Unlike types mix geometrically: epsilon_ij = sqrt(epsilon_i epsilon_j), sigma_ij = sqrt(sigma_i sigma_j).
#pragma once

#include <vector>

#include "md/forces/screened_coulomb.hpp"
#include "md/settings.hpp"
#include "md/system/types.hpp"

namespace md {

/// The parameters of one atom type from a data file or an option.
struct type_parameters {
  double epsilon = 1.0;
  double sigma = 1.0;
  double charge = 0.0;  ///< every atom of the type has it; in lj units, where two charges of 1 repel with 1/r^2
};

/// By type.
std::vector<double> charges_of(const std::vector<type_parameters>& types);

/// One pair of types. With s = 1/r^2: E = s^3 (energy12 s^3 - energy6), f/r = s^3 (force12 s^3 - force6) s.
struct pair_coefficient {
  double cutoff_squared;
  double force12;
  double force6;
  double energy12;
  double energy6;
  double charges;  ///< the product of both charges
};

class coefficient_table {
 public:
  coefficient_table() = default;
  /// Throws std::invalid_argument for a splitting of the charges that is too sharp (make_screened_coulomb).
  coefficient_table(const std::vector<type_parameters>& types, double cutoff,
                    const electrostatics_settings& charges = {});

  std::size_t types() const { return types_; }
  const pair_coefficient* data() const { return table_.data(); }
  /// Null without charges.
  const screened_coulomb* coulomb() const { return charged_ ? &coulomb_ : nullptr; }
  std::size_t row(std::size_t type_i, std::size_t type_j) const { return type_i * types_ + type_j; }

 private:
  std::size_t types_ = 0;
  std::vector<pair_coefficient> table_;
  bool charged_ = false;
  screened_coulomb coulomb_;
};

}  // namespace md
