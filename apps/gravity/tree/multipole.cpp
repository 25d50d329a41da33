// See multipole.hpp and tree_node.hpp.
#include "gravity/tree/multipole.hpp"

#include <cmath>
#include <limits>

#include "gravity/tree/tree_node.hpp"

namespace gravity {
namespace {

void add_moments(std::array<double, 6>& moments, double mass, const vec3& d) {
  moments[0] += mass * d[0] * d[0];
  moments[1] += mass * d[0] * d[1];
  moments[2] += mass * d[0] * d[2];
  moments[3] += mass * d[1] * d[1];
  moments[4] += mass * d[1] * d[2];
  moments[5] += mass * d[2] * d[2];
}

// `at(part)` and `mass(part)` are place and mass of each part.
template <class Parts, class At, class Mass>
void find_centre(multipole& field, const Parts& parts, const box& bounds, const At& at, const Mass& mass) {
  vec3 sum{};
  for (const auto& part : parts) {
    field.mass += mass(part);
    for (std::size_t d = 0; d < 3; ++d) sum[d] += mass(part) * at(part)[d];
  }
  for (std::size_t d = 0; d < 3; ++d) {
    // Rounding must not put it outside of the box, for example of bodies that are all at one place.
    field.centre[d] = field.mass > 0.0 ? std::clamp(sum[d] / field.mass, bounds.low[d], bounds.high[d])
                                       : 0.5 * bounds.low[d] + 0.5 * bounds.high[d];
  }
}

vec3 difference(const vec3& a, const vec3& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }

}  // namespace

summary summary_of(std::span<const source> bodies) {
  summary made;
  const auto at = [](const source& each) { return vec3{each.x, each.y, each.z}; };
  for (const source& each : bodies) made.bounds.include(at(each));
  made.bodies = bodies.size();
  find_centre(made.field, bodies, made.bounds, at, [](const source& each) { return each.mass; });
  for (const source& each : bodies) add_moments(made.field.moments, each.mass, difference(at(each), made.field.centre));
  return made;
}

summary summary_of(std::span<const summary> children) {
  summary made;
  for (const summary& each : children) {
    made.bounds.include(each.bounds);
    made.bodies += each.bodies;
  }
  find_centre(
      made.field, children, made.bounds, [](const summary& each) { return each.field.centre; },
      [](const summary& each) { return each.field.mass; });
  for (const summary& each : children) {
    for (std::size_t k = 0; k < 6; ++k) made.field.moments[k] += each.field.moments[k];
    add_moments(made.field.moments, each.field.mass, difference(each.field.centre, made.field.centre));
  }
  return made;
}

double opening_radius(const summary& of, double theta) {
  if (theta == 0.0) return std::numeric_limits<double>::infinity();
  double sum = 0.0;
  for (std::size_t d = 0; d < 3; ++d) {
    const double furthest = std::max(of.field.centre[d] - of.bounds.low[d], of.bounds.high[d] - of.field.centre[d]);
    sum += furthest * furthest;
  }
  return 2.0 / std::sqrt(3.0) * std::sqrt(sum) / theta;
}

}  // namespace gravity
