// See generate.hpp. Radii of Plummer's model from the inverse of the enclosed mass, speeds by rejection (Aarseth, Henon
// and Wielen, Astronomy and Astrophysics 37, 1974).
#include "gravity/bodies/generate.hpp"

#include <cmath>
#include <numbers>

namespace gravity {
namespace {

// splitmix64, begun at a place that depends on seed and body alone.
class random_stream {
 public:
  random_stream(std::uint64_t seed, std::int64_t number) : state_(seed) {
    state_ = bits() + static_cast<std::uint64_t>(number) * 0xd1342543de82ef95U;
    state_ = bits();
  }
  /// From 0 to below 1.
  double number() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  vec3 in_any_direction(double length) {
    const double z = 2.0 * number() - 1.0;
    const double angle = 2.0 * std::numbers::pi * number();
    const double across = std::sqrt(1.0 - z * z);
    return {length * across * std::cos(angle), length * across * std::sin(angle), length * z};
  }

 private:
  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

// So that the centre of mass is at rest in the origin. All masses are equal.
void subtract_mean(std::vector<body>& bodies, vec3 body::*values) {
  vec3 sum{};
  for (const body& each : bodies)
    for (std::size_t d = 0; d < 3; ++d) sum[d] += (each.*values)[d];
  for (body& each : bodies)
    for (std::size_t d = 0; d < 3; ++d) (each.*values)[d] -= sum[d] / static_cast<double>(bodies.size());
}

void number_bodies(std::vector<body>& bodies) {
  for (std::size_t i = 0; i < bodies.size(); ++i) bodies[i].id = static_cast<std::int64_t>(i);
}

std::vector<body> plummer_sphere_of_mass(double mass, std::int64_t count, std::uint64_t seed) {
  // From the model's units, in which its scale radius is 1.
  const double length = 3.0 * std::numbers::pi / 16.0;
  const double speed = std::sqrt(mass / length);
  const double largest_part = 0.999;  // the last thousandth of the mass lies between 38 scale radii and infinity
  std::vector<body> bodies(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    random_stream random(seed, i);
    double part = 0.0;
    while (part == 0.0) part = largest_part * random.number();
    const double radius = 1.0 / std::sqrt(std::pow(part, -2.0 / 3.0) - 1.0);
    double of_escape = 0.0;
    double chance = 1.0;
    while (chance > of_escape * of_escape * std::pow(1.0 - of_escape * of_escape, 3.5)) {
      of_escape = random.number();
      chance = 0.1 * random.number();  // the greatest density is 0.092
    }
    body& made = bodies[static_cast<std::size_t>(i)];
    made.position = random.in_any_direction(length * radius);
    made.velocity =
        random.in_any_direction(speed * of_escape * std::numbers::sqrt2 * std::pow(1.0 + radius * radius, -0.25));
    made.mass = mass / static_cast<double>(count);
  }
  if (count > 0) {
    subtract_mean(bodies, &body::position);
    subtract_mean(bodies, &body::velocity);
  }
  return bodies;
}

}  // namespace

std::vector<body> uniform_cube(std::int64_t count, std::uint64_t seed) {
  std::vector<body> bodies(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    random_stream random(seed, i);
    body& made = bodies[static_cast<std::size_t>(i)];
    for (double& each : made.position) each = random.number() - 0.5;
    made.mass = 1.0 / static_cast<double>(count);
  }
  number_bodies(bodies);
  return bodies;
}

std::vector<body> plummer_sphere(std::int64_t count, std::uint64_t seed) {
  std::vector<body> bodies = plummer_sphere_of_mass(1.0, count, seed);
  number_bodies(bodies);
  return bodies;
}

std::vector<body> collision(std::int64_t count, std::uint64_t seed, const collision_course& course) {
  const std::int64_t left = std::llround(static_cast<double>(count) * course.ratio / (1.0 + course.ratio));
  const double left_mass = static_cast<double>(left) / static_cast<double>(count);
  std::vector<body> bodies = plummer_sphere_of_mass(left_mass, left, seed);
  const std::vector<body> right = plummer_sphere_of_mass(1.0 - left_mass, count - left, seed + 0x9e3779b97f4a7c15U);
  bodies.insert(bodies.end(), right.begin(), right.end());
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const double part = static_cast<std::int64_t>(i) < left ? left_mass - 1.0 : left_mass;
    bodies[i].position[0] += part * course.distance;
    bodies[i].position[1] += part * course.impact;
    bodies[i].velocity[0] -= part * course.speed;
  }
  number_bodies(bodies);
  return bodies;
}

}  // namespace gravity
