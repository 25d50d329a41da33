// See coefficients.hpp.
#include "md/forces/coefficients.hpp"

#include <cmath>

namespace md {

coefficient_table::coefficient_table(const std::vector<type_parameters>& types, double cutoff,
                                     const electrostatics_settings& charges)
    : types_(types.size()), charged_(charges.method != electrostatics::none) {
  if (charged_) coulomb_ = make_screened_coulomb(charges.method == electrostatics::pme ? charges.alpha : 0.0, cutoff);
  table_.reserve(types_ * types_);
  for (const type_parameters& i : types) {
    for (const type_parameters& j : types) {
      const double epsilon = std::sqrt(i.epsilon * j.epsilon);
      const double sigma = std::sqrt(i.sigma * j.sigma);
      const double sigma6 = std::pow(sigma, 6);
      const double energy12 = 4.0 * epsilon * sigma6 * sigma6;
      const double energy6 = 4.0 * epsilon * sigma6;
      table_.push_back({cutoff * cutoff, 12.0 * energy12, 6.0 * energy6, energy12, energy6, i.charge * j.charge});
    }
  }
}

std::vector<double> charges_of(const std::vector<type_parameters>& types) {
  std::vector<double> charges;
  charges.reserve(types.size());
  for (const type_parameters& each : types) charges.push_back(each.charge);
  return charges;
}

}  // namespace md
