// Patches: the order of atoms does not depend on how they came, atoms change patches with all they have, bad positions.
#include "md/patches/patch.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "md/settings.hpp"
#include "systems.hpp"

namespace {

using md::atom_record;
using md::patch;

bool same(const atom_record& a, const atom_record& b) {
  return a.position == b.position && a.velocity == b.velocity && a.id == b.id && a.type == b.type && a.image == b.image;
}

TEST(patch, order_is_independent_of_arrival) {
  md::atom_system system = md::test::lattice_system({5, 4, 6}, 1.1, 2);
  system.atoms[7].position = system.atoms[8].position;  // a tie that only the id can decide
  const md::vec3 width = {system.box.length(0), system.box.length(1), system.box.length(2)};
  patch forward;
  patch backward;
  for (const atom_record& atom : system.atoms) forward.arrive(atom);
  std::for_each(system.atoms.rbegin(), system.atoms.rend(), [&](const atom_record& atom) { backward.arrive(atom); });
  forward.settle(system.box.low, width);
  backward.settle(system.box.low, width);
  ASSERT_EQ(forward.size(), 120U);
  ASSERT_EQ(backward.size(), 120U);
  for (std::size_t i = 0; i < forward.size(); ++i) EXPECT_TRUE(same(forward.record(i), backward.record(i))) << i;
}

TEST(patch, packed_positions_end_with_padding) {
  patch p;
  p.arrive({{1, 2, 3}, {4, 5, 6}, 7, 1, {}});
  const auto packed = p.packed_positions();
  ASSERT_EQ(packed.size(), 1 + md::padding_atoms);
  EXPECT_EQ(packed[0].z, 3);
  EXPECT_EQ(packed[0].w, 1) << "w is the type";
  for (std::size_t i = 1; i < packed.size(); ++i) EXPECT_EQ(packed[i].x, md::far_away);
}

TEST(patch, atoms_leave_wrapped_with_all_their_data) {
  const md::box box = {{0, 0, 0}, {10, 10, 10}};
  const md::patch_grid grid(box, {3, 3, 3}, 2.8);
  patch p;
  const atom_record stays = {{1, 1, 1}, {1, 0, 0}, 5, 0, {0, 0, 1}};
  const atom_record goes = {{-0.5, 1, 4}, {2, 3, 4}, 6, 1, {0, 2, 0}};
  p.arrive(goes);
  p.arrive(stays);
  const std::vector<md::departure> gone = p.leave(box, grid, 0);
  ASSERT_EQ(gone.size(), 1U);
  EXPECT_EQ(gone[0].patch, grid.index({2, 0, 1}));
  EXPECT_TRUE(same(gone[0].atom, {{9.5, 1, 4}, {2, 3, 4}, 6, 1, {-1, 2, 0}}));
  ASSERT_EQ(p.size(), 1U);
  EXPECT_TRUE(same(p.record(0), stays));
  EXPECT_EQ(p.packed_positions().size(), 1 + md::padding_atoms);
}

TEST(patch, an_atom_without_a_place_stops_the_run_with_its_id) {
  const md::box box = {{0, 0, 0}, {10, 10, 10}};
  const md::patch_grid grid(box, {3, 3, 3}, 2.8);
  patch p;
  p.arrive({{1, std::numeric_limits<double>::quiet_NaN(), 1}, {}, 42, 0, {}});
  try {
    p.leave(box, grid, 0);
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("atom 42 is at (1, nan, 1): the simulation has blown up"));
  }
}

TEST(patch, half_steps_follow_velocity_verlet) {
  patch p;
  p.arrive({{1, 2, 3}, {1, 0, -1}, 1, 0, {}});
  p.settle({0, 0, 0}, {4, 4, 4});
  const std::vector<double> masses = {2.0};
  const md::vec4 force[] = {{4, 8, 0, 0}};
  const md::atom_span all = {0, 1};
  const std::array<md::force_contribution, 3> contributions = {{{force, &all, 1}, {}, {force, &all, 1}}};
  p.sum_forces(md::choose_kernels("generic"), contributions);
  EXPECT_EQ(p.forces()[0].y, 16);
  p.first_half_step(0.5, masses);
  EXPECT_DOUBLE_EQ(p.velocities()[0].x, 1 + 0.25 * 8 / 2);
  EXPECT_DOUBLE_EQ(p.positions()[0].x, 1 + 0.5 * 2);
  EXPECT_DOUBLE_EQ(p.positions()[0].z, 3 - 0.5);
  EXPECT_DOUBLE_EQ(p.displacement_squared(), 1 + 1 + 0.25);
  p.second_half_step(0.5, masses);
  EXPECT_DOUBLE_EQ(p.velocities()[0].x, 3);
  EXPECT_DOUBLE_EQ(p.mass_velocity_squared(masses), 2 * (9 + 16 + 1));
}

TEST(reneighbor_clock, counts_from_the_last_build) {
  md::run_settings settings;
  settings.reneighbor_every = 3;
  md::reneighbor_clock clock(settings);
  EXPECT_FALSE(clock.due());
  EXPECT_FALSE(clock.due());
  EXPECT_TRUE(clock.due());
  EXPECT_FALSE(clock.due()) << "not built at 3, so next considered at 6";
  EXPECT_FALSE(clock.due());
  EXPECT_TRUE(clock.due());
  clock.built();
  EXPECT_FALSE(clock.due());
  EXPECT_FALSE(clock.too_far(0.15 * 0.15));
  EXPECT_TRUE(clock.too_far(0.151 * 0.151));
}

}  // namespace
