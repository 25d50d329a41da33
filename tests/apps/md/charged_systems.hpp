// Charged systems for the tests, and Ewald's sum written down as in a textbook: no mesh, no neighbour lists, no
// symmetry.
#pragma once

#include <algorithm>
#include <complex>
#include <numbers>

#include "md/electrostatics/ewald_parameters.hpp"
#include "systems.hpp"

namespace md::test {

/// Types 1 and 2 in turns, with these charges; atoms of an even number of cells are neutral for opposite charges.
/// Without Lennard-Jones forces if `bare`.
inline atom_system charged_system(const int3& cells, double spacing, double first, double second, bool bare = true) {
  atom_system system = lattice_system(cells, spacing, 2);
  for (std::size_t i = 0; i < system.atoms.size(); ++i) system.atoms[i].type = static_cast<std::int32_t>(i % 2);
  system.types[0].charge = first;
  system.types[1].charge = second;
  if (bare) system.types[0].epsilon = system.types[1].epsilon = 0.0;
  return system;
}

struct ewald_result {
  std::vector<vec3> forces;
  double energy = 0.0;
};

/// Exact to about 1e-12 of the forces. A system that is not neutral is in a uniform background.
class ewald_sum {
 public:
  explicit ewald_sum(const atom_system& system) : system_(system) {
    const double shortest = std::min({system.box.length(0), system.box.length(1), system.box.length(2)});
    alpha_ = 5.6 / shortest;  // one image around is enough for erfc
    result_.forces.resize(system.atoms.size());
    add_real_part();
    add_modes();
    const charge_totals totals = totals_of(system);
    result_.energy -= alpha_ / std::sqrt(std::numbers::pi) * totals.sum_of_squares;
    result_.energy -= std::numbers::pi * totals.sum * totals.sum / (2.0 * system.box.volume() * alpha_ * alpha_);
  }
  const ewald_result& result() const { return result_; }

 private:
  double charge(const atom_record& atom) const { return system_.types[static_cast<std::size_t>(atom.type)].charge; }

  void add_real_part() {
    for (std::size_t i = 0; i < system_.atoms.size(); ++i) {
      for (std::size_t j = 0; j < system_.atoms.size(); ++j) {
        for (int image = 0; image < 27; ++image) {
          const int3 turns = {image % 3 - 1, image / 3 % 3 - 1, image / 9 - 1};
          if (i != j || turns != int3{}) add_pair(i, j, turns);
        }
      }
    }
  }

  void add_pair(std::size_t i, std::size_t j, const int3& turns) {
    const atom_record& a = system_.atoms[i];
    const atom_record& b = system_.atoms[j];
    vec3 d{};
    for (std::size_t k = 0; k < 3; ++k) {
      d[k] = a.position[k] - b.position[k];
      d[k] -= system_.box.length(k) * (std::round(d[k] / system_.box.length(k)) + turns[k]);
    }
    const double r = std::sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    const double charges = charge(a) * charge(b);
    const double screened = std::erfc(alpha_ * r) / r;
    const double gauss = 2.0 * alpha_ / std::sqrt(std::numbers::pi) * std::exp(-alpha_ * alpha_ * r * r);
    result_.energy += 0.5 * charges * screened;
    for (std::size_t k = 0; k < 3; ++k) result_.forces[i][k] += charges * (screened + gauss) / (r * r) * d[k];
  }

  void add_modes() {
    int3 most{};
    for (std::size_t k = 0; k < 3; ++k)
      most[k] = static_cast<int>(std::ceil(5.7 * alpha_ * system_.box.length(k) / std::numbers::pi));
    for (int x = -most[0]; x <= most[0]; ++x) {
      for (int y = -most[1]; y <= most[1]; ++y) {
        for (int z = -most[2]; z <= most[2]; ++z) {
          if (x != 0 || y != 0 || z != 0) add_mode({x, y, z});
        }
      }
    }
  }

  void add_mode(const int3& mode) {
    vec3 k{};
    double k2 = 0.0;
    for (std::size_t d = 0; d < 3; ++d) {
      k[d] = 2.0 * std::numbers::pi * mode[d] / system_.box.length(d);
      k2 += k[d] * k[d];
    }
    const double factor = 4.0 * std::numbers::pi / system_.box.volume() / k2 * std::exp(-k2 / (4.0 * alpha_ * alpha_));
    std::vector<std::complex<double>> waves;
    std::complex<double> sum = 0.0;
    for (const atom_record& atom : system_.atoms) {
      const vec3& at = atom.position;
      waves.push_back(std::polar(charge(atom), k[0] * at[0] + k[1] * at[1] + k[2] * at[2]));
      sum += waves.back();
    }
    result_.energy += 0.5 * factor * std::norm(sum);
    for (std::size_t i = 0; i < waves.size(); ++i) {
      const double part = factor * std::imag(waves[i] * std::conj(sum));
      for (std::size_t d = 0; d < 3; ++d) result_.forces[i][d] += part * k[d];
    }
  }

  const atom_system& system_;
  double alpha_ = 0.0;
  ewald_result result_;
};

/// Root mean square over the atoms, as in the tolerance of PME.
inline double rms_difference(const std::vector<vec3>& a, const std::vector<vec3>& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t d = 0; d < 3; ++d) sum += (a[i][d] - b[i][d]) * (a[i][d] - b[i][d]);
  }
  return std::sqrt(sum / static_cast<double>(a.size()));
}

}  // namespace md::test
