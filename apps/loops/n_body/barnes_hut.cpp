// See barnes_hut.hpp.
#include "n_body/barnes_hut.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace kernels {
namespace {

// Other code on purpose: walks the tree by recursion.
void attract_by(const octree& tree, const octree::node& cube, const bodies& of, std::uint32_t self, double theta,
                vector3& sum) {
  const auto from = [&](const vector3& place, double mass) {
    const vector3& here = of.position[self];
    const double x = place[0] - here[0];
    const double y = place[1] - here[1];
    const double z = place[2] - here[2];
    const double distance = std::sqrt(x * x + y * y + z * z + softening_squared);
    const double factor = mass / (distance * distance * distance);
    sum[0] += factor * x;
    sum[1] += factor * y;
    sum[2] += factor * z;
  };
  const vector3& middle = cube.centre_of_mass;
  double squared = softening_squared;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double delta = middle[axis] - of.position[self][axis];
    squared += delta * delta;
  }
  if (cube.width * cube.width < theta * theta * squared) {  // the very same test: the choice must not differ
    from(middle, cube.mass);
    return;
  }
  for (std::uint32_t child = 0; child < cube.children; ++child) {
    attract_by(tree, tree.nodes()[cube.first_child + child], of, self, theta, sum);
  }
  if (cube.children > 0) return;
  for (std::uint32_t place = cube.first_body; place < cube.last_body; ++place) {
    const std::uint32_t body = tree.order()[place];
    if (body != self) from(of.position[body], of.mass[body]);
  }
}

double square(const vector3& of) { return of[0] * of[0] + of[1] * of[1] + of[2] * of[2]; }

// Largest difference by largest length.
double difference(const std::vector<vector3>& found, const std::vector<vector3>& expected) {
  double largest_difference = 0.0;
  double largest = 0.0;
  for (std::size_t body = 0; body < found.size(); ++body) {
    vector3 apart{};
    for (std::size_t axis = 0; axis < 3; ++axis) apart[axis] = found[body][axis] - expected[body][axis];
    largest_difference = std::max(largest_difference, square(apart));
    largest = std::max(largest, square(expected[body]));
  }
  return largest > 0.0 ? std::sqrt(largest_difference / largest) : std::sqrt(largest_difference);
}

void append(std::vector<double>& all, const std::vector<vector3>& more) {
  for (const vector3& each : more) all.insert(all.end(), each.begin(), each.end());
}

}  // namespace

barnes_hut::barnes_hut(const barnes_hut_size& size) : size_(size) {
  if (size.bodies < 1 || size.steps < 0 || !(size.theta >= 0.0 && size.theta <= 1.0)) {
    throw std::invalid_argument(fmt::format(
        "barnes_hut: {} bodies, {} steps, theta {}; it must be at least 1 body, steps not negative, theta 0 to 1",
        size.bodies, size.steps, size.theta));
  }
  initial_ = plummer_cluster(static_cast<std::uint32_t>(size.bodies), 1);
  reset();
}

std::string barnes_hut::problem() const {
  return fmt::format("Barnes-Hut in 3-D, Plummer cluster of {} bodies, theta {}, {} steps", size_.bodies, size_.theta,
                     size_.steps);
}

void barnes_hut::reset() {
  state_.bodies = initial_;
  state_.acceleration.assign(initial_.size(), {});
  state_.positions_before = initial_.position;
}

void barnes_hut::move(state& at, std::size_t body) const {
  at.positions_before[body] = at.bodies.position[body];
  for (std::size_t axis = 0; axis < 3; ++axis) {
    at.bodies.velocity[body][axis] += size_.time_step * at.acceleration[body][axis];
    at.bodies.position[body][axis] += size_.time_step * at.bodies.velocity[body][axis];
  }
}

void barnes_hut::run(method& how) {
  const auto count = static_cast<std::uint32_t>(size_.bodies);
  for (int step = 0; step < size_.steps; ++step) {
    tree_.build(state_.bodies);
    tri::parallel_for(
        count,
        [&](std::uint32_t body) { state_.acceleration[body] = acceleration(tree_, state_.bodies, body, size_.theta); },
        how.loop(0));
    // Moving needs all forces; it is too short to be worth a loop.
    for (std::size_t body = 0; body < count; ++body) move(state_, body);
  }
}

std::vector<double> barnes_hut::result() const {
  std::vector<double> all;
  append(all, state_.acceleration);
  append(all, state_.bodies.position);
  return all;
}

void barnes_hut::run_serial() {
  serial_.bodies = initial_;
  serial_.acceleration.assign(initial_.size(), {});
  serial_.positions_before = initial_.position;
  octree tree;
  for (int step = 0; step < size_.steps; ++step) {
    tree.build(serial_.bodies);
    for (std::uint32_t body = 0; body < serial_.bodies.size(); ++body) {
      serial_.acceleration[body] = {};
      attract_by(tree, tree.nodes().front(), serial_.bodies, body, size_.theta, serial_.acceleration[body]);
    }
    for (std::size_t body = 0; body < serial_.bodies.size(); ++body) move(serial_, body);
  }
}

double barnes_hut::error_to_direct_sum(std::size_t sample) const {
  const std::size_t count = state_.bodies.size();
  const std::size_t stride = std::max<std::size_t>(1, count / std::max<std::size_t>(sample, 1));
  double wrong = 0.0;
  double all = 0.0;
  for (std::size_t body = 0; body < count; body += stride) {
    vector3 sum{};
    for (std::size_t other = 0; other < count; ++other) {
      vector3 delta;
      double squared = softening_squared;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        delta[axis] = state_.positions_before[other][axis] - state_.positions_before[body][axis];
        squared += delta[axis] * delta[axis];
      }
      if (other != body) attract(sum, delta, state_.bodies.mass[other], 1.0 / std::sqrt(squared));
    }
    all += square(sum);
    for (std::size_t axis = 0; axis < 3; ++axis) sum[axis] -= state_.acceleration[body][axis];
    wrong += square(sum);
  }
  return all > 0.0 ? std::sqrt(wrong / all) : 0.0;
}

std::vector<finding> barnes_hut::check() {
  const double to_serial = difference(state_.acceleration, serial_.acceleration);
  const double to_direct = error_to_direct_sum(500);
  return {
      {to_serial <= 1e-12, fmt::format("forces differ from the serial program by {:.1e}, at most 1e-12", to_serial)},
      {size_.steps == 0 || to_direct <= 0.02,
       fmt::format("forces differ from direct summation by {:.1e} (root mean square), at most 2e-2", to_direct)}};
}

}  // namespace kernels
