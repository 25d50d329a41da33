// The settings of a run that decide its numbers. They are stored in restart files.
#pragma once

#include <cstdint>

#include "md/system/types.hpp"

namespace md {

/// How the charges of the atoms act on each other.
enum class electrostatics : std::int32_t {
  none,    ///< there are no charges
  cutoff,  ///< the plain Coulomb force up to the cutoff, as LAMMPS's `coul/cut`
  pme      ///< all pairs and all periodic images, by smooth particle-mesh Ewald
};

struct electrostatics_settings {
  electrostatics method = electrostatics::none;
  // For pme only; chosen before the run, so that a restart has them.
  std::int32_t order = 0;  ///< of the B-splines: 4, 6 or 8
  int3 mesh{};             ///< points in each direction
  double alpha = 0.0;      ///< width of the splitting, in 1/sigma
};

struct run_settings {
  double dt = 0.005;
  double cutoff = 2.5;
  double skin = 0.3;
  /// A list build is considered this many steps after the last one and then at every multiple.
  std::int32_t reneighbor_every = 20;
  /// Build only if some atom has moved further than half the skin since the last build.
  bool check_displacement = false;
  /// Patches in each direction; zeros choose as many as are at least patch_size wide.
  int3 patches{};
  /// Least width of a patch; 0: twice cutoff + skin, where the lists are long enough to fill vectors.
  double patch_size = 0.0;
  electrostatics_settings charges;

  double reach() const { return cutoff + skin; }
};

/// Decides when neighbour lists are rebuilt, once per step and globally (as LAMMPS's `neigh_modify every N delay 0`).
class reneighbor_clock {
 public:
  reneighbor_clock(const run_settings& settings, std::int32_t steps_since_build = 0)
      : every_(settings.reneighbor_every),
        check_(settings.check_displacement),
        limit_squared_(0.25 * settings.skin * settings.skin),
        steps_since_build_(steps_since_build) {}

  /// Starts a step. True if this step builds lists, unless displacements must be checked first.
  bool due() { return ++steps_since_build_ % every_ == 0; }
  bool checks_displacement() const { return check_; }
  bool too_far(double largest_displacement_squared) const { return largest_displacement_squared > limit_squared_; }
  void built() { steps_since_build_ = 0; }
  std::int32_t steps_since_build() const { return steps_since_build_; }

 private:
  std::int32_t every_;
  bool check_;
  double limit_squared_;
  std::int32_t steps_since_build_;
};

}  // namespace md
