// The droplet: its density, temperature and speed, and that it is whole.
#include "md/system/droplet.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "md/system/system_check.hpp"

namespace {

TEST(droplet, is_a_liquid_sphere_in_the_middle_of_its_box) {
  const md::atom_system system = md::make_droplet({.radius = 9.0, .box = 40.0, .speed = 0.0});
  EXPECT_EQ(md::problem_of(system), "");
  const double volume = 4.0 / 3.0 * std::numbers::pi * 9.0 * 9.0 * 9.0;
  EXPECT_NEAR(static_cast<double>(system.atoms.size()) / volume, 0.8, 0.03);
  double squares = 0.0;
  md::vec3 momentum{};
  for (const md::atom_record& atom : system.atoms) {
    double distance = 0.0;
    for (std::size_t d = 0; d < 3; ++d) {
      squares += atom.velocity[d] * atom.velocity[d];
      momentum[d] += atom.velocity[d];
      distance += (atom.position[d] - 20.0) * (atom.position[d] - 20.0);
    }
    EXPECT_LE(std::sqrt(distance), 9.0 + 1e-12);
  }
  EXPECT_NEAR(squares / (3.0 * static_cast<double>(system.atoms.size()) - 3.0), 0.7, 1e-12);
  for (const double each : momentum) EXPECT_NEAR(each, 0.0, 1e-10);
  // fcc of density 0.8: the nearest neighbour is at (sqrt(2) / 0.8)^(1/3).
  double nearest = 1e9;
  for (std::size_t i = 1; i < system.atoms.size(); ++i) {
    const md::vec3& a = system.atoms[0].position;
    const md::vec3& b = system.atoms[i].position;
    nearest = std::min(nearest, std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]));
  }
  EXPECT_NEAR(nearest, std::cbrt(std::numbers::sqrt2 / 0.8), 1e-12);
}

TEST(droplet, moves_as_a_whole_with_its_speed) {
  const md::atom_system slow = md::make_droplet({.radius = 4.0, .box = 20.0, .speed = 0.0});
  const md::atom_system fast = md::make_droplet({.radius = 4.0, .box = 20.0, .speed = 3.0});
  for (std::size_t i = 0; i < slow.atoms.size(); ++i) {
    for (std::size_t d = 0; d < 3; ++d)
      EXPECT_NEAR(fast.atoms[i].velocity[d] - slow.atoms[i].velocity[d], std::sqrt(3.0), 1e-12);
  }
}

TEST(droplet, is_where_it_is_put) {
  const md::atom_system system = md::make_droplet({.radius = 4.0, .box = 20.0, .place = 0.25});
  md::vec3 sum{};
  for (const md::atom_record& atom : system.atoms)
    for (std::size_t d = 0; d < 3; ++d) sum[d] += atom.position[d];
  for (const double each : sum) EXPECT_NEAR(each / static_cast<double>(system.atoms.size()), 5.0, 1e-12);
}

TEST(droplet, needs_room_and_atoms) {
  EXPECT_THROW(md::make_droplet({.radius = 10.0, .box = 20.0}), std::invalid_argument);
  EXPECT_THROW(md::make_droplet({.radius = -1.0}), std::invalid_argument);
  EXPECT_THROW(md::make_droplet({.radius = 1.0, .box = 1e9}), std::invalid_argument);
  EXPECT_EQ(md::make_droplet({.radius = 0.1, .box = 20.0}).atoms.size(), 1U);
}

}  // namespace
