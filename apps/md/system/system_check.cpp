// See system_check.hpp.
#include "md/system/system_check.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

namespace md {
namespace {

/// Box lengths that an atom may have travelled: with them the counters of box::wrap stay in their range.
constexpr double most_turns = 1 << 29;
/// Squares and sums of such charges are far from the limits of a double.
constexpr double most_charge = 1e6;

std::string problem_of_atom(const atom_record& atom, const box& inside, std::size_t types) {
  if (atom.id < 1) return fmt::format("atom id {}; it must be at least 1", atom.id);
  if (atom.type < 0 || static_cast<std::size_t>(atom.type) >= types)
    return fmt::format("atom {} has type {}; expected 1 to {}", atom.id, std::int64_t{atom.type} + 1, types);
  for (std::size_t d = 0; d < 3; ++d) {
    if (!std::isfinite(atom.position[d]) || !std::isfinite(atom.velocity[d]))
      return fmt::format("a coordinate or velocity of atom {} is not a finite number", atom.id);
    const double turns = (atom.position[d] - inside.low[d]) / inside.length(d);
    if (!(std::abs(turns) <= most_turns) || std::abs(static_cast<double>(atom.image[d])) > most_turns) {
      return fmt::format("atom {} is at {} with image flag {}, more than {} lengths of the box from it", atom.id,
                         atom.position[d], atom.image[d], most_turns);
    }
  }
  return {};
}

}  // namespace

std::string problem_of(const atom_system& system) {
  for (std::size_t d = 0; d < 3; ++d) {
    const double length = system.box.length(d);
    if (!(std::isfinite(length) && length > 0.0)) {
      return fmt::format("the box reaches from {} to {} in {}; its length must be a finite number larger than 0",
                         system.box.low[d], system.box.high[d], static_cast<char>('x' + d));
    }
  }
  for (std::size_t t = 0; t < system.masses.size(); ++t) {
    const type_parameters& of = system.types[t];
    if (!(std::isfinite(system.masses[t]) && system.masses[t] > 0.0 && std::isfinite(of.epsilon) && of.epsilon >= 0.0 &&
          std::isfinite(of.sigma) && of.sigma >= 0.0)) {
      return fmt::format(
          "atom type {} has mass {}, epsilon {} and sigma {}; the mass must be larger than 0, the others at least 0",
          t + 1, system.masses[t], of.epsilon, of.sigma);
    }
    if (!(std::abs(of.charge) <= most_charge)) {
      return fmt::format("atom type {} has charge {}; expected a number from {} to {}", t + 1, of.charge, -most_charge,
                         most_charge);
    }
  }
  for (const atom_record& atom : system.atoms)
    if (std::string problem = problem_of_atom(atom, system.box, system.masses.size()); !problem.empty()) return problem;
  return {};
}

}  // namespace md
