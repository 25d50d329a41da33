// Small systems for the tests, and the slow but obvious calculation of their forces.
#pragma once

#include <cmath>
#include <random>

#include "md/system/atoms.hpp"

namespace md::test {

/// Atoms on a perturbed lattice with about `spacing` between them; deterministic. Types alternate at random.
inline atom_system lattice_system(const int3& cells, double spacing, std::size_t types = 1, unsigned seed = 1) {
  std::mt19937 random(seed);
  const auto uniform = [&](double range) {
    return range * (2.0 * (static_cast<double>(random()) / 4294967296.0) - 1.0);
  };
  atom_system system;
  for (std::size_t t = 0; t < types; ++t) {
    const auto number = static_cast<double>(t);
    system.masses.push_back(1.0 + 0.5 * number);
    system.types.push_back({1.0 + 0.3 * number, 1.0 - 0.1 * number});
  }
  for (std::size_t d = 0; d < 3; ++d) {
    system.box.low[d] = -1.5;
    system.box.high[d] = -1.5 + spacing * cells[d];
  }
  std::int64_t id = 0;
  for (int z = 0; z < cells[2]; ++z) {
    for (int y = 0; y < cells[1]; ++y) {
      for (int x = 0; x < cells[0]; ++x) {
        atom_record atom;
        const int3 at = {x, y, z};
        for (std::size_t d = 0; d < 3; ++d) {
          atom.position[d] = system.box.low[d] + spacing * at[d] + uniform(0.12);
          atom.velocity[d] = uniform(1.5);
        }
        atom.id = ++id;
        atom.type = static_cast<std::int32_t>(random() % types);
        system.atoms.push_back(atom);
      }
    }
  }
  return system;
}

struct brute_force_result {
  std::vector<vec3> forces;
  pair_sums sums;
};

/// Every atom with every image of every atom within the cutoff, straight from the formula.
inline brute_force_result brute_force(const atom_system& system, double cutoff) {
  brute_force_result result;
  for (const atom_record& i : system.atoms) {
    vec3 force{};
    for (const atom_record& j : system.atoms) {
      const type_parameters& ti = system.types[static_cast<std::size_t>(i.type)];
      const type_parameters& tj = system.types[static_cast<std::size_t>(j.type)];
      const double epsilon = std::sqrt(ti.epsilon * tj.epsilon);
      const double sigma = std::sqrt(ti.sigma * tj.sigma);
      for (int image = 0; image < 125; ++image) {
        const int3 turns = {image % 5 - 2, image / 5 % 5 - 2, image / 25 - 2};
        if (i.id == j.id && turns == int3{}) continue;
        vec3 d{};
        for (std::size_t k = 0; k < 3; ++k) d[k] = i.position[k] - j.position[k] - turns[k] * system.box.length(k);
        const double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
        if (r2 >= cutoff * cutoff) continue;
        const double s6 = std::pow(sigma * sigma / r2, 3);
        const double coulomb = ti.charge * tj.charge / std::sqrt(r2);
        const double r_times_force = 24.0 * epsilon * (2.0 * s6 * s6 - s6) + coulomb;
        for (std::size_t k = 0; k < 3; ++k) force[k] += d[k] * r_times_force / r2;
        result.sums.energy += 0.5 * (4.0 * epsilon * (s6 * s6 - s6) + coulomb);
        result.sums.virial += 0.5 * r_times_force;
      }
    }
    result.forces.push_back(force);
  }
  return result;
}

inline const std::array<const char*, 3> kernel_names = {"generic", "avx2", "avx512"};

}  // namespace md::test
