// Lennard-Jones parameters of every pair of atom types, in the form that the pair kernel reads.
//
//   E(r) = 4 epsilon ((sigma/r)^12 - (sigma/r)^6) for r < cutoff, not shifted, no tail correction.
//
// Unlike types mix geometrically: epsilon_ij = sqrt(epsilon_i epsilon_j), sigma_ij = sqrt(sigma_i sigma_j).
#pragma once

#include <vector>

#include "md/system/types.hpp"

namespace md {

/// The parameters of one atom type from a data file or an option.
struct type_parameters {
  double epsilon = 1.0;
  double sigma = 1.0;
};

/// One pair of types. With s = 1/r^2: E = s^3 (energy12 s^3 - energy6), f/r = s^3 (force12 s^3 - force6) s.
struct pair_coefficient {
  double cutoff_squared;
  double force12;
  double force6;
  double energy12;
  double energy6;
};

class coefficient_table {
 public:
  coefficient_table() = default;
  coefficient_table(const std::vector<type_parameters>& types, double cutoff);

  std::size_t types() const { return types_; }
  const pair_coefficient* data() const { return table_.data(); }
  std::size_t row(std::size_t type_i, std::size_t type_j) const { return type_i * types_ + type_j; }

 private:
  std::size_t types_ = 0;
  std::vector<pair_coefficient> table_;
};

}  // namespace md
