// What is drawn from a seed.
#include "gravity/bodies/generate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace {

using namespace gravity;

struct totals {
  double mass = 0.0;
  double kinetic = 0.0;
  double potential = 0.0;
  vec3 centre{};
  vec3 momentum{};
};

totals totals_of(const std::vector<body>& bodies) {
  totals sum;
  for (const body& each : bodies) {
    sum.mass += each.mass;
    for (std::size_t d = 0; d < 3; ++d) {
      sum.kinetic += 0.5 * each.mass * each.velocity[d] * each.velocity[d];
      sum.centre[d] += each.mass * each.position[d];
      sum.momentum[d] += each.mass * each.velocity[d];
    }
    for (const body& other : bodies) {
      if (other.id >= each.id) continue;
      double squared = 0.0;
      for (std::size_t d = 0; d < 3; ++d) squared += std::pow(each.position[d] - other.position[d], 2);
      sum.potential -= each.mass * other.mass / std::sqrt(squared);
    }
  }
  return sum;
}

TEST(plummer_sphere, is_in_equilibrium_in_the_usual_units) {
  const totals sum = totals_of(plummer_sphere(4000, 1));
  EXPECT_NEAR(sum.mass, 1.0, 1e-12);
  EXPECT_NEAR(sum.potential, -0.5, 0.02);
  EXPECT_NEAR(sum.kinetic, 0.25, 0.01);
  for (std::size_t d = 0; d < 3; ++d) {
    EXPECT_NEAR(sum.centre[d], 0.0, 1e-12);
    EXPECT_NEAR(sum.momentum[d], 0.0, 1e-12);
  }
}

TEST(uniform_cube, is_at_rest_and_fills_the_cube) {
  const std::vector<body> bodies = uniform_cube(8000, 1);
  int in_octant = 0;
  for (const body& each : bodies) {
    for (const double x : each.position) EXPECT_TRUE(x >= -0.5 && x < 0.5);
    EXPECT_EQ(each.velocity, vec3{});
    if (each.position[0] < 0 && each.position[1] < 0 && each.position[2] < 0) ++in_octant;
  }
  EXPECT_NEAR(in_octant, 1000, 150);
}

TEST(collision, has_two_spheres_that_approach_each_other) {
  const std::vector<body> bodies = collision(1001, 1, {.distance = 6.0, .impact = 1.0, .speed = 2.0});
  ASSERT_EQ(bodies.size(), 1001U);
  const totals left = totals_of({bodies.begin(), bodies.begin() + 501});
  const totals all = totals_of(bodies);
  EXPECT_NEAR(all.mass, 1.0, 1e-12);
  EXPECT_NEAR(left.mass, 501.0 / 1001.0, 1e-12);
  EXPECT_NEAR(left.centre[0] / left.mass, -6.0 * 500.0 / 1001.0, 1e-12);
  EXPECT_NEAR(left.centre[1] / left.mass, -500.0 / 1001.0, 1e-12);
  EXPECT_NEAR(left.momentum[0] / left.mass, 2.0 * 500.0 / 1001.0, 1e-12);
  for (std::size_t d = 0; d < 3; ++d) {
    EXPECT_NEAR(all.centre[d], 0.0, 1e-12);
    EXPECT_NEAR(all.momentum[d], 0.0, 1e-12);
  }
}

TEST(collision, may_be_of_unequal_spheres) {
  const std::vector<body> bodies = collision(1000, 1, {.distance = 4.0, .impact = 0.0, .speed = 1.0, .ratio = 3.0});
  const totals left = totals_of({bodies.begin(), bodies.begin() + 750});
  EXPECT_NEAR(left.mass, 0.75, 1e-12);
  EXPECT_NEAR(left.centre[0] / left.mass, -1.0, 1e-12);
  EXPECT_NEAR(totals_of(bodies).momentum[0], 0.0, 1e-12);
  EXPECT_EQ(collision(1, 1, {}).size(), 1U);
}

TEST(inputs, depend_on_the_seed_alone) {
  const auto same = [](const std::vector<body>& a, const std::vector<body>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(body)) == 0;
  };
  EXPECT_TRUE(same(plummer_sphere(50, 4), plummer_sphere(50, 4)));
  EXPECT_FALSE(same(plummer_sphere(50, 4), plummer_sphere(50, 5)));
  EXPECT_FALSE(same(uniform_cube(50, 4), uniform_cube(50, 5)));
  EXPECT_FALSE(same(collision(50, 4, {}), collision(50, 5, {})));
  for (const auto& bodies : {plummer_sphere(7, 1), uniform_cube(7, 1), collision(7, 1, {})})
    for (std::size_t i = 0; i < bodies.size(); ++i) EXPECT_EQ(bodies[i].id, static_cast<std::int64_t>(i));
}

}  // namespace
