// See droplet.hpp.
#include "md/system/droplet.hpp"

#include <fmt/format.h>

#include <cmath>
#include <random>
#include <stdexcept>

namespace md {
namespace {

constexpr double density = 0.8;
constexpr double temperature = 0.7;

// The standard leaves normal_distribution to the library, so that others would have other atoms: the sum of twelve
// uniform numbers is normal enough for velocities that a hundred steps thermalise.
double near_normal(std::mt19937_64& random) {
  double sum = -6.0;
  for (int i = 0; i < 12; ++i) sum += static_cast<double>(random() >> 11) * 0x1p-53;
  return sum;
}

// So that the total momentum is that of the speed, and the temperature the one that was asked for.
void set_velocities(atom_system& system, const droplet_settings& settings) {
  std::mt19937_64 random(settings.seed);
  vec3 mean{};
  for (atom_record& atom : system.atoms) {
    for (std::size_t d = 0; d < 3; ++d) mean[d] += atom.velocity[d] = near_normal(random);
  }
  const auto count = static_cast<double>(system.atoms.size());
  double squares = 0.0;
  for (atom_record& atom : system.atoms) {
    for (std::size_t d = 0; d < 3; ++d) {
      atom.velocity[d] -= mean[d] / count;
      squares += atom.velocity[d] * atom.velocity[d];
    }
  }
  const double freedom = 3.0 * count - 3.0;
  const double factor = squares > 0.0 ? std::sqrt(temperature * freedom / squares) : 0.0;
  for (atom_record& atom : system.atoms) {
    for (double& v : atom.velocity) v = factor * v + settings.speed / std::sqrt(3.0);
  }
}

}  // namespace

atom_system make_droplet(const droplet_settings& settings) {
  if (!(settings.radius > 0.0 && 2.0 * settings.radius < settings.box && settings.box < 1e4)) {
    throw std::invalid_argument(fmt::format(
        "a droplet of radius {} in a box of {}: its diameter must be smaller than the box, which is at most "
        "10000 (--droplet-radius, --droplet-box)",
        settings.radius, settings.box));
  }
  atom_system system;
  system.box = {{0.0, 0.0, 0.0}, {settings.box, settings.box, settings.box}};
  system.masses = {1.0};
  system.types = {{}};
  const double spacing = std::cbrt(4.0 / density) / 2.0;  // between the planes of fcc
  const double middle = settings.place * settings.box;
  const int most = static_cast<int>(settings.radius / spacing) + 1;
  for (int z = -most; z <= most; ++z) {
    for (int y = -most; y <= most; ++y) {
      for (int x = -most; x <= most; ++x) {
        if ((x + y + z) % 2 != 0) continue;
        if (spacing * std::sqrt(static_cast<double>(x * x + y * y + z * z)) > settings.radius) continue;
        atom_record atom;
        atom.position = {middle + spacing * x, middle + spacing * y, middle + spacing * z};
        atom.id = static_cast<std::int64_t>(system.atoms.size()) + 1;
        system.atoms.push_back(atom);
      }
    }
  }
  set_velocities(system, settings);
  return system;
}

}  // namespace md
