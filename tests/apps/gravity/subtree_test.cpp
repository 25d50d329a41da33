// The tree that pieces build: every body in one leaf, multipoles, and the same nodes however it is divided.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "apps/gravity/whole_tree.hpp"
#include "gravity/bodies/generate.hpp"

namespace {

using namespace gravity;

/// All nodes from the root down, each child behind its elder siblings' descendants.
struct flat_node {
  multipole field;
  double open_squared;
  std::uint32_t bodies;  ///< of a leaf; 0 of others
  bool operator==(const flat_node& other) const {
    return std::memcmp(&field, &other.field, sizeof field) == 0 && open_squared == other.open_squared &&
           bodies == other.bodies;
  }
};

void flatten(const whole_tree& tree, const node_place& at, std::vector<flat_node>& into) {
  const content_place content = content_of(at);
  into.push_back({at.node->field, at.node->open_squared, content.bodies ? at.node->count : 0});
  if (content.bodies) return;
  for (std::uint32_t child = 0; child < at.node->count; ++child)
    flatten(tree, {tree.children(at) + child, content.subtree, content.chunk}, into);
}

std::vector<flat_node> flattened(const whole_tree& tree) {
  std::vector<flat_node> nodes;
  flatten(tree, {tree.top()}, nodes);
  return nodes;
}

TEST(tree, has_every_body_in_one_leaf) {
  const tree_settings settings{.theta = 0.6, .bucket = 8, .fetch_levels = 2};
  const whole_tree tree(plummer_sphere(2000, 7), settings, 100);
  std::uint64_t bodies = 0;
  double mass = 0.0;
  for (const flat_node& each : flattened(tree)) {
    EXPECT_LE(each.bodies, 8U);
    bodies += each.bodies;
    if (each.bodies != 0) mass += each.field.mass;
  }
  EXPECT_EQ(bodies, 2000U);
  EXPECT_NEAR(mass, 1.0, 1e-12);
}

TEST(tree, has_the_multipole_of_all_bodies_at_its_root) {
  const std::vector<body> bodies = plummer_sphere(1000, 7);
  const whole_tree tree(bodies, {}, 64);
  std::vector<source> sources;
  for (const body& each : bodies) sources.push_back({each.position[0], each.position[1], each.position[2], each.mass});
  const multipole direct = summary_of(sources).field;
  const multipole& root = tree.top()->field;
  EXPECT_NEAR(root.mass, direct.mass, 1e-13);
  for (std::size_t d = 0; d < 3; ++d) EXPECT_NEAR(root.centre[d], direct.centre[d], 1e-12);
  for (std::size_t k = 0; k < 6; ++k) EXPECT_NEAR(root.moments[k], direct.moments[k], 1e-10);
}

// So the forces do not depend on how many subtrees and chunks there are, either.
TEST(tree, has_the_same_bits_however_it_is_divided) {
  const std::vector<body> bodies = collision(1500, 2, {});
  const auto expected = flattened(whole_tree(bodies, {.theta = 0.5, .bucket = 10, .fetch_levels = 21}, 1500));
  for (const std::uint64_t most : {10, 37, 400}) {
    for (const int levels : {1, 2, 3}) {
      const whole_tree tree(bodies, {.theta = 0.5, .bucket = 10, .fetch_levels = levels}, most);
      EXPECT_TRUE(flattened(tree) == expected) << most << " bodies of a subtree, " << levels << " levels of a chunk";
    }
  }
}

TEST(tree, of_bodies_at_one_place_is_a_single_leaf_at_the_last_level) {
  std::vector<body> bodies(40);
  for (std::size_t i = 0; i < bodies.size(); ++i) bodies[i] = {{1.0, 2.0, 3.0}, {}, 0.5, static_cast<std::int64_t>(i)};
  const whole_tree tree(bodies, {.theta = 0.6, .bucket = 8, .fetch_levels = 2}, 16);
  ASSERT_EQ(tree.subtrees().size(), 1U);
  EXPECT_TRUE(tree.subtrees()[0].is_leaf);
  EXPECT_EQ(tree.subtrees()[0].root.bodies, 40U);
  EXPECT_EQ(tree.top()->field.centre, (vec3{1.0, 2.0, 3.0}));
}

TEST(opening, is_wider_for_a_larger_box_than_for_one_inside_it) {
  const std::vector<body> points = uniform_cube(300, 1);
  box outer;
  box inner;
  for (std::size_t i = 0; i < 20; ++i) outer.include(points[i].position);
  for (std::size_t i = 0; i < 5; ++i) inner.include(points[i].position);
  for (std::size_t i = 20; i < points.size(); ++i)
    EXPECT_LE(outer.distance_squared(points[i].position), inner.distance_squared(points[i].position));
}

TEST(opening, keeps_a_cell_closed_to_no_body_in_it) {
  const whole_tree tree(plummer_sphere(800, 3), {.theta = 1.1, .bucket = 4, .fetch_levels = 2}, 32);
  for (const subtree& each : tree.subtrees()) {
    const tree_node root = make_node(each.root, 1.1, node_kind::leaf, 0, 1);
    for (const bucket& own : each.buckets) EXPECT_TRUE(must_open(root, own.bounds));
  }
}

}  // namespace
