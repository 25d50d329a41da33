// Inputs that are drawn from a seed. The bodies depend on the arguments alone; another mathematical library may round
// the last digit differently.
#pragma once

#include <cstdint>
#include <vector>

#include "gravity/bodies/body.hpp"

namespace gravity {

/// Bodies at rest, spread evenly over a cube with edge 1; their mass is 1 in all.
std::vector<body> uniform_cube(std::int64_t count, std::uint64_t seed);

/// A star cluster in equilibrium (Plummer's model): mass 1 and energy -1/4; half of the mass is within 0.77.
std::vector<body> plummer_sphere(std::int64_t count, std::uint64_t seed);

struct collision_course {
  double distance = 4.0;  ///< of the two centres in x
  double impact = 1.0;    ///< of the two centres in y
  double speed = 0.7;     ///< with which they approach, in x
  double ratio = 1.0;     ///< of the masses, and so of the numbers of bodies: left by right
};
/// Two Plummer spheres of mass 1 together, which approach each other; the centre of mass is at rest. The first bodies
/// are the left sphere. All bodies have the same mass.
std::vector<body> collision(std::int64_t count, std::uint64_t seed, const collision_course& course);

}  // namespace gravity
