// The plain data of the molecular dynamics mini-application. Everything here may be copied as bytes.
//
// Units are Lennard-Jones ("lj") units: mass, length, energy and Boltzmann's constant of the reference atom are 1.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace md {

using vec3 = std::array<double, 3>;
using int3 = std::array<int, 3>;

/// Four doubles in one 32-byte vector: the layout of positions, velocities and forces everywhere, so that integration
/// works on whole vectors and the pair kernel reads the position message directly. A position carries the atom's type
/// (0-based) in w, so w of velocities and forces must stay 0.
struct alignas(32) vec4 {
  double x = 0.0;
  double y = 0.0;
  double z = 0.0;
  double w = 0.0;
};
static_assert(sizeof(vec4) == 32);

/// One atom as it travels between patches, and as input and output see it.
struct atom_record {
  vec3 position{};
  vec3 velocity{};
  std::int64_t id = 0;
  std::int32_t type = 0;                ///< 0-based
  std::array<std::int32_t, 3> image{};  ///< how many box lengths to add for the unwrapped position
};

/// The atoms begin..end-1 of a patch.
struct atom_span {
  std::uint32_t begin;
  std::uint32_t end;
};

/// One pair's contribution to the forces of a patch. Only the atoms in the spans have a value in `forces`: most pairs
/// touch a thin layer of the patch, and the rest is neither cleared nor read, let alone moved between cores.
struct force_contribution {
  const vec4* forces = nullptr;
  const atom_span* spans = nullptr;
  std::size_t span_count = 0;
};

/// Energy and virial (sum of r.f) of some pairs.
struct pair_sums {
  double energy = 0.0;
  double virial = 0.0;

  pair_sums& operator+=(const pair_sums& other) {
    energy += other.energy;
    virial += other.virial;
    return *this;
  }
};

}  // namespace md
