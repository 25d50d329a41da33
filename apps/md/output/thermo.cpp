// See thermo.hpp.
#include "md/output/thermo.hpp"

#include <fmt/format.h>

namespace md {

thermo_row make_thermo_row(std::int64_t step, double mass_velocity_squared, const pair_sums& pairs, std::size_t atoms,
                           double volume) {
  const double count = static_cast<double>(atoms);
  const double freedom = atoms > 1 ? 3.0 * count - 3.0 : 0.0;
  const double temperature = freedom > 0.0 ? mass_velocity_squared / freedom : 0.0;
  const double kinetic_energy = 0.5 * freedom * temperature;
  thermo_row row;
  row.step = step;
  row.temperature = temperature;
  row.pair_energy = count > 0.0 ? pairs.energy / count : 0.0;
  row.total_energy = count > 0.0 ? kinetic_energy / count + row.pair_energy : 0.0;
  row.pressure = (freedom * temperature + pairs.virial) / (3.0 * volume);
  return row;
}

std::string thermo_header() { return "Step Temp E_pair E_mol TotEng Press "; }

std::string format_thermo(const thermo_row& row, int digits) {
  std::string line = fmt::format("{:8d} ", row.step);
  for (const double value : {row.temperature, row.pair_energy, row.molecular_energy, row.total_energy, row.pressure}) {
    line += fmt::format("{:{}.{}g} ", value, digits + 4, digits);
  }
  return line;
}

}  // namespace md
