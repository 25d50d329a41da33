// See octree.hpp.
#include "n_body/octree.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "loops/random_numbers.hpp"

namespace kernels {
namespace {

constexpr std::uint32_t leaf_bodies = 8;
constexpr int deepest = 60;  // bodies at the same place are not divided for ever

std::size_t octant_of(const vector3& position, const vector3& centre) {
  return (position[0] >= centre[0] ? 4U : 0U) + (position[1] >= centre[1] ? 2U : 0U) +
         (position[2] >= centre[2] ? 1U : 0U);
}

double distance_squared(const vector3& from, const vector3& to, vector3& delta) {
  double sum = softening_squared;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    delta[axis] = to[axis] - from[axis];
    sum += delta[axis] * delta[axis];
  }
  return sum;
}

vector3 random_direction(tri::loops::random_numbers& random, double length) {
  const double along = 2.0 * random.fraction() - 1.0;
  const double angle = 2.0 * std::numbers::pi * random.fraction();
  const double across = std::sqrt(1.0 - along * along);
  return {length * across * std::cos(angle), length * across * std::sin(angle), length * along};
}

// Neighbours in space become neighbours in the loop, as programs that simulate for long keep them.
void sort_along_tree(bodies& all) {
  octree tree;
  tree.build(all);
  bodies sorted;
  for (const std::uint32_t body : tree.order()) {
    sorted.position.push_back(all.position[body]);
    sorted.velocity.push_back(all.velocity[body]);
    sorted.mass.push_back(all.mass[body]);
  }
  all = std::move(sorted);
}

}  // namespace

bodies plummer_cluster(std::uint32_t count, std::uint64_t seed) {
  tri::loops::random_numbers random(seed);
  bodies all;
  for (std::uint32_t body = 0; body < count; ++body) {
    const double inside = 0.001 + 0.998 * random.fraction();  // share of the mass further inside
    const double radius = 1.0 / std::sqrt(std::pow(inside, -2.0 / 3.0) - 1.0);
    all.position.push_back(random_direction(random, radius));
    const double escape = std::sqrt(2.0) * std::pow(1.0 + radius * radius, -0.25);
    all.velocity.push_back(random_direction(random, 0.4 * escape * random.fraction()));
    all.mass.push_back(1.0 / count);
  }
  sort_along_tree(all);
  return all;
}

void octree::build(const bodies& of) {
  order_.resize(of.size());
  sorted_.resize(of.size());
  for (std::uint32_t body = 0; body < of.size(); ++body) order_[body] = body;
  nodes_.clear();
  if (of.size() == 0) return;
  vector3 low = of.position.front();
  vector3 high = low;
  for (const vector3& position : of.position) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      low[axis] = std::min(low[axis], position[axis]);
      high[axis] = std::max(high[axis], position[axis]);
    }
  }
  node root;
  vector3 centre{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    centre[axis] = 0.5 * (low[axis] + high[axis]);
    root.width = std::max(root.width, high[axis] - low[axis]);
  }
  root.last_body = static_cast<std::uint32_t>(of.size());
  nodes_.push_back(root);
  divide(0, centre, of, 0);
}

void octree::divide(std::uint32_t number, const vector3& centre, const bodies& of, int depth) {
  const node whole = nodes_[number];  // a copy: nodes_ grows
  node done = whole;
  for (std::uint32_t place = whole.first_body; place < whole.last_body; ++place) {
    const std::uint32_t body = order_[place];
    done.mass += of.mass[body];
    for (std::size_t axis = 0; axis < 3; ++axis) {
      done.centre_of_mass[axis] += of.mass[body] * of.position[body][axis];
    }
  }
  for (double& coordinate : done.centre_of_mass) coordinate /= done.mass;
  if (whole.last_body - whole.first_body > leaf_bodies && depth < deepest) {
    std::array<std::uint32_t, 9> begin{};  // of each octant, in order_
    for (std::uint32_t place = whole.first_body; place < whole.last_body; ++place) {
      ++begin[octant_of(of.position[order_[place]], centre) + 1];
    }
    begin[0] = whole.first_body;
    for (std::size_t octant = 0; octant < 8; ++octant) begin[octant + 1] += begin[octant];
    std::array<std::uint32_t, 9> next = begin;
    for (std::uint32_t place = whole.first_body; place < whole.last_body; ++place) {
      sorted_[next[octant_of(of.position[order_[place]], centre)]++] = order_[place];
    }
    std::copy(sorted_.begin() + whole.first_body, sorted_.begin() + whole.last_body, order_.begin() + whole.first_body);
    done.first_child = static_cast<std::uint32_t>(nodes_.size());
    std::array<vector3, 8> centres{};
    for (std::size_t octant = 0; octant < 8; ++octant) {
      if (begin[octant] == begin[octant + 1]) continue;
      node child;
      child.width = 0.5 * whole.width;
      child.first_body = begin[octant];
      child.last_body = begin[octant + 1];
      centres[done.children++] = {centre[0] + (octant & 4 ? 0.25 : -0.25) * whole.width,
                                  centre[1] + (octant & 2 ? 0.25 : -0.25) * whole.width,
                                  centre[2] + (octant & 1 ? 0.25 : -0.25) * whole.width};
      nodes_.push_back(child);
    }
    for (std::uint32_t child = 0; child < done.children; ++child) {
      divide(done.first_child + child, centres[child], of, depth + 1);
    }
  }
  nodes_[number] = done;
}

vector3 acceleration(const octree& tree, const bodies& of, std::uint32_t self, double theta) {
  const vector3 here = of.position[self];
  const double theta_squared = theta * theta;
  vector3 sum{};
  std::array<std::uint32_t, 8 * (deepest + 2)> open;  // cubes still to visit
  std::size_t count = 0;
  open[count++] = 0;
  while (count > 0) {
    const octree::node& cube = tree.nodes()[open[--count]];
    vector3 delta;
    const double squared = distance_squared(here, cube.centre_of_mass, delta);
    if (cube.width * cube.width < theta_squared * squared) {
      attract(sum, delta, cube.mass, 1.0 / std::sqrt(squared));
    } else if (cube.children > 0) {
      for (std::uint32_t child = 0; child < cube.children; ++child) open[count++] = cube.first_child + child;
    } else {
      for (std::uint32_t place = cube.first_body; place < cube.last_body; ++place) {
        const std::uint32_t body = tree.order()[place];
        if (body == self) continue;
        const double apart = distance_squared(here, of.position[body], delta);
        attract(sum, delta, of.mass[body], 1.0 / std::sqrt(apart));
      }
    }
  }
  return sum;
}

}  // namespace kernels
