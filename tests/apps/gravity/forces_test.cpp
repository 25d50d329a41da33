// Forces by the tree beside direct summation, and the variants of the force loops.
#include <gtest/gtest.h>

#include <cmath>

#include "apps/gravity/whole_tree.hpp"
#include "gravity/bodies/generate.hpp"

namespace {

using namespace gravity;

constexpr double softening = 0.01;

struct pull {
  vec3 acceleration{};
  double potential = 0.0;
};

std::vector<pull> direct(const std::vector<body>& bodies, double e) {
  std::vector<pull> found(bodies.size());
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    for (std::size_t k = 0; k < bodies.size(); ++k) {
      if (i == k) continue;
      vec3 d{};
      double u = e * e;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        d[axis] = bodies[k].position[axis] - bodies[i].position[axis];
        u += d[axis] * d[axis];
      }
      if (u == 0.0) continue;
      const double inverse = 1.0 / std::sqrt(u);
      found[i].potential -= bodies[k].mass * inverse;
      for (std::size_t axis = 0; axis < 3; ++axis)
        found[i].acceleration[axis] += bodies[k].mass * inverse * inverse * inverse * d[axis];
    }
  }
  return found;
}

struct errors {
  double median = 0.0;
  double most = 0.0;  ///< 99 % of the bodies have less
  double largest = 0.0;
};

errors errors_beside(const std::vector<pull>& exact, const std::vector<vec3>& found) {
  std::vector<double> relative;
  for (std::size_t i = 0; i < found.size(); ++i) {
    double difference = 0.0;
    double size = 0.0;
    for (std::size_t d = 0; d < 3; ++d) {
      difference += std::pow(found[i][d] - exact[i].acceleration[d], 2);
      size += std::pow(exact[i].acceleration[d], 2);
    }
    relative.push_back(std::sqrt(difference / size));
  }
  std::ranges::sort(relative);
  return {relative[relative.size() / 2], relative[relative.size() * 99 / 100], relative.back()};
}

struct input {
  const char* name;
  std::vector<body> (*make)();
};
class forces : public testing::TestWithParam<input> {};

TEST_P(forces, are_those_of_direct_summation_without_an_opening_angle) {
  const std::vector<body> bodies = GetParam().make();
  const std::vector<pull> exact = direct(bodies, softening);
  whole_tree tree(bodies, {.theta = 0.0, .bucket = 12, .fetch_levels = 2}, 100);
  const auto found = tree.accelerations(choose_kernels("auto"), softening);
  EXPECT_LT(errors_beside(exact, found).largest, 1e-12);
  for (std::size_t i = 0; i < bodies.size(); ++i)
    EXPECT_NEAR(tree.potentials()[i], exact[i].potential, 1e-12 * std::abs(exact[i].potential));
  EXPECT_EQ(tree.counts().multipoles, 0U);
  EXPECT_EQ(tree.counts().bodies, bodies.size() * (bodies.size() - 1));
}

// The leading error of a cell is its octupole. Halving the angle divides errors by eight for one cell; there are more
// cells then, whose errors partly cancel.
TEST_P(forces, have_errors_that_fall_with_the_third_power_of_the_opening_angle) {
  const std::vector<body> bodies = GetParam().make();
  const std::vector<pull> exact = direct(bodies, softening);
  double before = 0.0;
  for (const double theta : {1.0, 0.7, 0.5, 0.35}) {
    whole_tree tree(bodies, {.theta = theta, .bucket = 8, .fetch_levels = 2}, 100);
    const errors found = errors_beside(exact, tree.accelerations(choose_kernels("auto"), softening));
    EXPECT_LT(found.median, 2e-2 * std::pow(theta, 3)) << theta;
    EXPECT_LT(found.most, 0.3 * std::pow(theta, 3)) << theta;
    if (before != 0.0) {
      EXPECT_LT(found.median, 0.5 * before) << theta;
    }
    EXPECT_GT(found.median, 1e-9) << theta << ": no cell counted as one, so this tests nothing";
    before = found.median;
  }
}

TEST_P(forces, have_the_same_bits_in_all_variants_and_divisions) {
  const std::vector<body> bodies = GetParam().make();
  whole_tree whole(bodies, {.theta = 0.6, .bucket = 10, .fetch_levels = 3}, bodies.size());
  whole_tree divided(bodies, {.theta = 0.6, .bucket = 10, .fetch_levels = 1}, 30);
  const auto expected = whole.accelerations(choose_kernels("generic"), softening);
  EXPECT_TRUE(divided.accelerations(choose_kernels("generic"), softening) == expected);
  EXPECT_TRUE(divided.accelerations(choose_kernels("auto"), softening) == expected);
}

INSTANTIATE_TEST_SUITE_P(of_inputs, forces,
                         testing::Values(input{"uniform", [] { return uniform_cube(1200, 1); }},
                                         input{"plummer", [] { return plummer_sphere(1200, 1); }},
                                         input{"collision", [] { return collision(1200, 1, {}); }}),
                         [](const auto& each) { return std::string(each.param.name); });

// A multipole alone: its error beside its bodies falls with the fourth power of the distance relative to the force,
// softened or not; without the second moments it would be the second power.
TEST(multipoles, have_the_field_of_their_bodies_up_to_the_octupole) {
  const std::vector<body> bodies = plummer_sphere(50, 9);
  std::vector<source> sources;
  for (const body& each : bodies)
    sources.push_back({0.02 * each.position[0], 0.02 * each.position[1], 0.02 * each.position[2], each.mass});
  const multipole field = summary_of(sources).field;
  const std::array<const multipole*, 1> fields = {&field};
  for (const double e : {0.0, 0.5}) {
    double before = 0.0;
    for (const double distance : {1.0, 2.0, 4.0}) {
      lane_block approximate;
      lane_block exact;
      approximate.x[0] = exact.x[0] = 0.6 * distance;
      approximate.y[0] = exact.y[0] = 0.8 * distance;
      approximate.x[1] = exact.x[1] = -distance;
      choose_kernels("generic").multipoles(approximate, 2, fields, e * e);
      choose_kernels("generic").bodies(exact, 2, sources, e * e);
      const double error =
          std::hypot(approximate.ax[0] - exact.ax[0], approximate.ay[0] - exact.ay[0], approximate.az[0] - exact.az[0]);
      const double relative = error / std::hypot(exact.ax[0], exact.ay[0], exact.az[0]);
      EXPECT_NEAR(approximate.potential[1], exact.potential[1], 1e-2 * std::abs(exact.potential[1]));
      if (before != 0.0) {
        EXPECT_LT(relative, before / 4.5) << distance << " with softening " << e;
      }
      before = relative;
    }
    EXPECT_LT(before, 1e-4);
  }
}

// Without softening, too: a body does not pull itself, and two at one place do not pull each other.
TEST(forces_of_few, are_finite) {
  for (const double e : {0.0, softening}) {
    std::vector<body> bodies(3);
    for (std::size_t i = 0; i < 3; ++i) bodies[i].id = static_cast<std::int64_t>(i);
    bodies[0].mass = bodies[1].mass = 1.0;
    bodies[2].position = {2.0, 0.0, 0.0};  // without mass
    whole_tree tree(bodies, {}, 256);
    const auto found = tree.accelerations(choose_kernels("auto"), e);
    EXPECT_EQ(found[0], (vec3{}));
    EXPECT_EQ(found[1], (vec3{}));
    EXPECT_NEAR(found[2][0], -4.0 / std::pow(4.0 + e * e, 1.5), 1e-15);
    whole_tree one({bodies[0]}, {}, 256);
    EXPECT_EQ(one.accelerations(choose_kernels("auto"), e)[0], (vec3{}));
  }
}

TEST(kernels, of_unknown_names_are_refused) { EXPECT_THROW(choose_kernels("fast"), std::invalid_argument); }

}  // namespace
