// The loops of the pull kernels, for a translation unit that is compiled for one instruction set. Four lanes at a time
// are one vector of the compiler; their operations are those of single doubles, so every variant gives the same bits.
#pragma once

#include <cmath>
#include <cstring>

#include "gravity/tree/pull_kernel.hpp"

namespace gravity::kernel {
namespace {  // each translation unit has its own, compiled for its instructions

constexpr std::size_t width = 4;
using lanes = double __attribute__((vector_size(width * sizeof(double))));

inline void load(lanes& to, const double* from) { std::memcpy(&to, from, sizeof to); }
inline void add(double* to, const lanes& more) {
  lanes sum;
  load(sum, to);
  sum += more;
  std::memcpy(to, &sum, sizeof sum);
}
/// 1 / sqrt(u), and 0 where u is 0.
inline void inverse_root(lanes& to, const lanes& u) {
  for (std::size_t l = 0; l < width; ++l) to[l] = std::sqrt(u[l]);
  to = u > 0.0 ? 1.0 / to : lanes{};
}

struct group_sums {
  lanes ax{}, ay{}, az{}, potential{};
  void store(lane_block& block, std::size_t at) const {
    add(block.ax.data() + at, ax);
    add(block.ay.data() + at, ay);
    add(block.az.data() + at, az);
    add(block.potential.data() + at, potential);
  }
};
struct group_places {
  lanes x, y, z;
  group_places(const lane_block& block, std::size_t at) {
    load(x, block.x.data() + at);
    load(y, block.y.data() + at);
    load(z, block.z.data() + at);
  }
};

// Of the field -M / s - (3 d.Q.d / s^5 - tr Q / s^3) / 2 with s^2 = d^2 + e^2, the acceleration is minus its gradient.
void pull_of_multipoles(lane_block& block, std::size_t used, std::span<const multipole* const> fields,
                        double softening_squared) {
  for (std::size_t at = 0; at < used; at += width) {
    const group_places own(block, at);
    group_sums sum;
    for (const multipole* const field : fields) {
      const auto& [xx, xy, xz, yy, yz, zz] = field->moments;
      const lanes dx = own.x - field->centre[0];
      const lanes dy = own.y - field->centre[1];
      const lanes dz = own.z - field->centre[2];
      const lanes u = dx * dx + dy * dy + dz * dz + softening_squared;
      lanes inverse;
      inverse_root(inverse, u);
      const lanes inverse_2 = inverse * inverse;
      const lanes inverse_3 = inverse * inverse_2;
      const lanes inverse_5 = inverse_3 * inverse_2;
      const double trace = xx + yy + zz;
      const lanes qx = xx * dx + xy * dy + xz * dz;
      const lanes qy = xy * dx + yy * dy + yz * dz;
      const lanes qz = xz * dx + yz * dy + zz * dz;
      const lanes dqd = dx * qx + dy * qy + dz * qz;
      sum.potential -= field->mass * inverse + 1.5 * dqd * inverse_5 - 0.5 * trace * inverse_3;
      const lanes radial = (1.5 * trace - 7.5 * dqd * inverse_2) * inverse_5 - field->mass * inverse_3;
      sum.ax += radial * dx + 3.0 * inverse_5 * qx;
      sum.ay += radial * dy + 3.0 * inverse_5 * qy;
      sum.az += radial * dz + 3.0 * inverse_5 * qz;
    }
    sum.store(block, at);
  }
}

inline void pull_of_one(group_sums& sum, const group_places& own, const source& from, const lanes& mass,
                        double softening_squared) {
  const lanes dx = from.x - own.x;
  const lanes dy = from.y - own.y;
  const lanes dz = from.z - own.z;
  const lanes u = dx * dx + dy * dy + dz * dz + softening_squared;
  lanes inverse;
  inverse_root(inverse, u);
  const lanes pull = mass * inverse;
  const lanes factor = pull * inverse * inverse;
  sum.potential -= pull;
  sum.ax += factor * dx;
  sum.ay += factor * dy;
  sum.az += factor * dz;
}

void pull_of_bodies(lane_block& block, std::size_t used, std::span<const source> sources, double softening_squared) {
  for (std::size_t at = 0; at < used; at += width) {
    const group_places own(block, at);
    group_sums sum;
    for (const source& from : sources) {
      const lanes mass = {from.mass, from.mass, from.mass, from.mass};
      pull_of_one(sum, own, from, mass, softening_squared);
    }
    sum.store(block, at);
  }
}

void pull_of_own_bodies(lane_block& block, std::size_t used, std::span<const source> sources, std::ptrdiff_t first_own,
                        double softening_squared) {
  for (std::size_t at = 0; at < used; at += width) {
    const group_places own(block, at);
    group_sums sum;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      lanes mass;
      for (std::size_t l = 0; l < width; ++l)
        mass[l] =
            static_cast<std::ptrdiff_t>(i) == first_own + static_cast<std::ptrdiff_t>(at + l) ? 0.0 : sources[i].mass;
      pull_of_one(sum, own, sources[i], mass, softening_squared);
    }
    sum.store(block, at);
  }
}

}  // namespace
}  // namespace gravity::kernel
