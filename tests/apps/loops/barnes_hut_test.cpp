// Barnes-Hut (K80): forces equal to those of a serial program within 1e-12 and the same bits by every schedule; close
// to direct summation, and equal to it when no cube counts as a point. The tree holds every body once.
#include "n_body/barnes_hut.hpp"

#include <cmath>

#include "every_method.hpp"

namespace kernels {
namespace {

TEST(barnes_hut_forces, are_the_same_by_every_schedule) {
  for (const int count : {1, 2, 9, 700}) {
    barnes_hut cluster({count, 2, 0.5, 0.01});
    test::expect_same_with_every_method(cluster);
  }
}

TEST(barnes_hut_forces, are_those_of_direct_summation_when_no_cube_is_a_point) {
  barnes_hut exact({400, 1, 0.0, 0.01});
  method how("dynamic");
  exact.run(how);
  EXPECT_LT(exact.error_to_direct_sum(400), 1e-13);
  barnes_hut rough({400, 1, 1.0, 0.01});
  rough.run(how);
  EXPECT_GT(rough.error_to_direct_sum(400), 1e-6);  // cubes did count as points
  EXPECT_LT(rough.error_to_direct_sum(400), 0.1);
}

TEST(barnes_hut_forces, a_wrong_force_is_found) {
  barnes_hut cluster({100, 2, 0.5, 0.01});
  cluster.run_serial();
  method how("static");
  cluster.run(how);
  test::expect_right(cluster);
  cluster.run(how);  // two steps too many
  EXPECT_FALSE(cluster.check().front().right);
}

TEST(octree, holds_every_body_once_inside_its_cube) {
  bodies cluster = plummer_cluster(1000, 7);
  for (int copy = 0; copy < 20; ++copy) {  // bodies at one place cannot be told apart by dividing
    cluster.position.push_back({0.25, 0.25, 0.25});
    cluster.velocity.push_back({});
    cluster.mass.push_back(0.001);
  }
  octree tree;
  tree.build(cluster);
  std::vector<int> seen(cluster.size(), 0);
  double mass = 0.0;
  for (const octree::node& cube : tree.nodes()) {
    std::uint32_t next = cube.first_body;
    for (std::uint32_t child = 0; child < cube.children; ++child) {
      const octree::node& inner = tree.nodes()[cube.first_child + child];
      EXPECT_EQ(inner.first_body, next);
      EXPECT_EQ(inner.width, cube.width / 2);
      next = inner.last_body;
    }
    if (cube.children > 0) {
      EXPECT_EQ(next, cube.last_body);
      continue;
    }
    for (std::uint32_t place = cube.first_body; place < cube.last_body; ++place) {
      ++seen[tree.order()[place]];
      mass += cluster.mass[tree.order()[place]];
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const double away = cluster.position[tree.order()[place]][axis] - cube.centre_of_mass[axis];
        EXPECT_LE(std::abs(away), cube.width * 1.000001);
      }
    }
  }
  EXPECT_THAT(seen, testing::Each(1));
  EXPECT_NEAR(mass, 1.02, 1e-12);
  EXPECT_NEAR(tree.nodes().front().mass, 1.02, 1e-12);
}

TEST(plummer_cluster, is_dense_inside_and_the_same_for_the_same_seed) {
  const bodies cluster = plummer_cluster(2000, 3);
  int inside = 0;
  for (const vector3& at : cluster.position) {
    inside += at[0] * at[0] + at[1] * at[1] + at[2] * at[2] < 1.3 * 1.3 ? 1 : 0;
  }
  EXPECT_NEAR(inside, 1000, 100);  // half of the mass
  EXPECT_EQ(plummer_cluster(2000, 3).position, cluster.position);
  EXPECT_NE(plummer_cluster(2000, 4).position, cluster.position);
}

TEST(barnes_hut_forces, sizes_that_make_no_sense_are_refused) {
  EXPECT_THROW(barnes_hut({0, 1, 0.5, 0.01}), std::invalid_argument);
  EXPECT_THROW(barnes_hut({10, -1, 0.5, 0.01}), std::invalid_argument);
  EXPECT_THROW(barnes_hut({10, 1, 1.5, 0.01}), std::invalid_argument);
}

}  // namespace
}  // namespace kernels
