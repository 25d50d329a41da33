// See coefficients.hpp.
#include "md/forces/coefficients.hpp"

#include <cmath>

namespace md {

coefficient_table::coefficient_table(const std::vector<type_parameters>& types, double cutoff) : types_(types.size()) {
  table_.reserve(types_ * types_);
  for (const type_parameters& i : types) {
    for (const type_parameters& j : types) {
      const double epsilon = std::sqrt(i.epsilon * j.epsilon);
      const double sigma = std::sqrt(i.sigma * j.sigma);
      const double sigma6 = std::pow(sigma, 6);
      const double energy12 = 4.0 * epsilon * sigma6 * sigma6;
      const double energy6 = 4.0 * epsilon * sigma6;
      table_.push_back({cutoff * cutoff, 12.0 * energy12, 6.0 * energy6, energy12, energy6});
    }
  }
}

}  // namespace md
