// Forces, energies and virial against the brute-force sum over images, for every kernel variant and many patch grids;
// Newton's third law, conservation, and identity of repeated runs.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "md/serial_driver.hpp"
#include "systems.hpp"

namespace {

using md::int3;
using md::serial_driver;

struct grid_case {
  const char* kernels;
  int3 cells;
  double spacing;
  std::size_t types;
  int3 patches;
};

void PrintTo(const grid_case& c, std::ostream* out) {
  *out << c.kernels << ' ' << c.cells[0] << 'x' << c.cells[1] << 'x' << c.cells[2] << " cells, " << c.types
       << " types, " << c.patches[0] << 'x' << c.patches[1] << 'x' << c.patches[2] << " patches";
}

std::vector<grid_case> cases() {
  std::vector<grid_case> result;
  for (const char* kernels : md::test::kernel_names) {
    result.push_back({kernels, {3, 3, 3}, 1.0, 1, {1, 1, 1}});   // a box hardly larger than the reach: many images
    result.push_back({kernels, {3, 4, 6}, 1.05, 2, {1, 1, 2}});  // mixed
    result.push_back({kernels, {6, 6, 6}, 1.05, 1, {1, 1, 1}});
    result.push_back({kernels, {6, 6, 6}, 1.05, 1, {2, 2, 2}});  // the same neighbour on both sides
    result.push_back({kernels, {6, 6, 6}, 1.05, 3, {2, 1, 2}});
    result.push_back({kernels, {10, 9, 6}, 1.05, 3, {3, 3, 2}});
  }
  return result;
}

class pair_forces : public testing::TestWithParam<grid_case> {
 protected:
  void SetUp() override {
    try {
      md::choose_kernels(GetParam().kernels);
    } catch (const std::invalid_argument& missing) {
      GTEST_SKIP() << missing.what();
    }
  }
};

TEST_P(pair_forces, equal_the_brute_force_sum) {
  const grid_case& c = GetParam();
  const md::atom_system system = md::test::lattice_system(c.cells, c.spacing, c.types);
  md::run_settings settings;
  settings.patches = c.patches;
  settings.skin = 0.25;
  const serial_driver driver(system, settings, md::choose_kernels(c.kernels));
  const md::test::brute_force_result expected = md::test::brute_force(system, settings.cutoff);

  const std::vector<md::vec3> forces = driver.forces();
  ASSERT_EQ(forces.size(), expected.forces.size());
  double largest = 0.0;
  for (const md::vec3& f : expected.forces)
    largest = std::max({largest, std::abs(f[0]), std::abs(f[1]), std::abs(f[2])});
  for (std::size_t i = 0; i < forces.size(); ++i) {
    for (std::size_t d = 0; d < 3; ++d)
      EXPECT_NEAR(forces[i][d], expected.forces[i][d], 1e-12 * largest) << i << ' ' << d;
  }
  const double count = static_cast<double>(forces.size());
  const md::thermo_row row = driver.thermo();
  EXPECT_NEAR(row.pair_energy, expected.sums.energy / count, 1e-12 * std::abs(expected.sums.energy));
  const double kinetic = (3.0 * count - 3.0) * row.temperature;
  EXPECT_NEAR(3.0 * row.pressure * system.box.volume() - kinetic, expected.sums.virial,
              1e-11 * (std::abs(expected.sums.virial) + kinetic));
}

TEST_P(pair_forces, cancel_and_conserve_momentum_and_energy) {
  const grid_case& c = GetParam();
  md::atom_system system = md::test::lattice_system(c.cells, c.spacing, c.types);
  md::run_settings settings;
  settings.patches = c.patches;
  settings.skin = 0.25;
  settings.dt = 0.001;
  settings.reneighbor_every = 5;
  serial_driver driver(system, settings, md::choose_kernels(c.kernels));
  const auto momentum = [&] {
    md::vec3 sum{};
    for (const md::atom_record& atom : driver.atoms()) {
      for (std::size_t d = 0; d < 3; ++d)
        sum[d] += system.masses[static_cast<std::size_t>(atom.type)] * atom.velocity[d];
    }
    return sum;
  };
  const md::vec3 before = momentum();
  for (int step = 0; step < 100; ++step) driver.advance(false);
  const md::vec3 after = momentum();
  md::vec3 total_force{};
  for (const md::vec3& f : driver.forces()) {
    for (std::size_t d = 0; d < 3; ++d) total_force[d] += f[d];
  }
  for (std::size_t d = 0; d < 3; ++d) {
    EXPECT_NEAR(after[d], before[d], 1e-10);
    EXPECT_NEAR(total_force[d], 0.0, 1e-9);
  }
  EXPECT_EQ(driver.list_builds(), 21);
}

TEST_P(pair_forces, repeat_bit_for_bit) {
  const grid_case& c = GetParam();
  md::atom_system system = md::test::lattice_system(c.cells, c.spacing, c.types);
  md::run_settings settings;
  settings.patches = c.patches;
  settings.skin = 0.25;
  settings.dt = 0.002;
  serial_driver first(system, settings, md::choose_kernels(c.kernels));
  std::reverse(system.atoms.begin(), system.atoms.end());  // the order in the file is of no importance
  serial_driver second(system, settings, md::choose_kernels(c.kernels));
  for (int step = 0; step < 50; ++step) {
    first.advance(false);
    second.advance(true);  // nor is it whether energies are computed
  }
  const auto a = first.atoms();
  const auto b = second.atoms();
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].position, b[i].position) << i;
    ASSERT_EQ(a[i].velocity, b[i].velocity) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(all, pair_forces, testing::ValuesIn(cases()));

TEST(displacement_check, gives_the_same_physics_with_fewer_builds) {
  const md::atom_system system = md::test::lattice_system({9, 9, 9}, 1.05);
  md::run_settings settings;
  settings.dt = 0.001;
  settings.skin = 0.4;
  settings.reneighbor_every = 1;
  serial_driver always(system, settings, md::choose_kernels("generic"));
  settings.check_displacement = true;
  serial_driver checked(system, settings, md::choose_kernels("generic"));
  for (int step = 0; step < 200; ++step) {
    always.advance(true);
    checked.advance(true);
  }
  EXPECT_EQ(always.list_builds(), 201);
  EXPECT_GT(checked.list_builds(), 1);
  EXPECT_LT(checked.list_builds(), 50);
  EXPECT_NEAR(always.thermo().pair_energy, checked.thermo().pair_energy, 1e-9);
}

TEST(kernels, unknown_names_are_refused_with_the_possible_ones) {
  try {
    md::choose_kernels("sse9");
    FAIL() << "no error";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("'sse9'"));
    EXPECT_THAT(error.what(), testing::HasSubstr("generic, auto"));
  }
}

}  // namespace
