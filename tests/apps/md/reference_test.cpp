// The melt against LAMMPS's values on the same data file (apps/md/data/melt_reference_thermo.txt).
#include <gmock/gmock.h>

#include <map>

#include "md/files/lammps_data.hpp"
#include "md/serial_driver.hpp"
#include "reference_values.hpp"
#include "systems.hpp"

namespace {

using md::int3;

md::atom_system melt() { return md::read_lammps_data(std::filesystem::path(MD_DATA_DIR) / "melt.data"); }

double relative(double value, double expected) { return std::abs(value / expected - 1.0); }

class melt_reference : public testing::TestWithParam<std::tuple<const char*, int3>> {};

TEST_P(melt_reference, agrees_with_lammps) {
  const auto& [kernels, patches] = GetParam();
  md::run_settings settings;
  settings.patches = patches;
  std::optional<md::serial_driver> driver;
  try {
    driver.emplace(melt(), settings, md::choose_kernels(kernels));
  } catch (const std::invalid_argument& missing) {
    GTEST_SKIP() << missing.what();
  }
  const auto reference = md::test::read_reference(std::filesystem::path(MD_DATA_DIR) / "melt_reference_thermo.txt");
  ASSERT_EQ(driver->atom_count(), 4000U);
  for (const md::thermo_row& expected : reference) {
    if (expected.step > 100) break;
    while (driver->step() < expected.step) driver->advance(driver->step() + 1 == expected.step);
    const md::thermo_row row = driver->thermo();
    const double allowed = expected.step == 0 ? 1e-11 : 1e-6;
    EXPECT_LT(relative(row.temperature, expected.temperature), allowed) << "step " << expected.step;
    EXPECT_LT(relative(row.pair_energy, expected.pair_energy), allowed) << "step " << expected.step;
    EXPECT_LT(relative(row.total_energy, expected.total_energy), allowed) << "step " << expected.step;
    EXPECT_LT(relative(row.pressure, expected.pressure), allowed) << "step " << expected.step;
  }
  EXPECT_EQ(driver->step(), 100);
}

INSTANTIATE_TEST_SUITE_P(grids, melt_reference,
                         testing::Combine(testing::ValuesIn(md::test::kernel_names),
                                          testing::Values(int3{1, 1, 1}, int3{2, 2, 2}, int3{5, 5, 5}, int3{1, 3, 5})));

TEST(thermo, prints_as_lammps_does) {
  const md::serial_driver driver(melt(), {}, md::choose_kernels("auto"));
  EXPECT_EQ(md::thermo_header(), "Step Temp E_pair E_mol TotEng Press ");
  EXPECT_EQ(md::format_thermo(driver.thermo()),
            "       0            3   -6.7733681            0   -2.2744931   -3.7033504 ");
}

TEST(replicate, keeps_intensive_values) {
  const md::atom_system twice = md::replicate(melt(), {2, 1, 1});
  ASSERT_EQ(twice.atoms.size(), 8000U);
  const md::thermo_row one = md::serial_driver(melt(), {}, md::choose_kernels("auto")).thermo();
  const md::thermo_row two = md::serial_driver(twice, {}, md::choose_kernels("auto")).thermo();
  EXPECT_NEAR(two.pair_energy, one.pair_energy, 1e-12);
  EXPECT_NEAR(two.temperature, one.temperature, 1e-3) << "3N - 3 differs";
  EXPECT_EQ(twice.atoms[4000].id, 4001);
  EXPECT_EQ(twice.atoms[4000].velocity, twice.atoms[0].velocity);
  EXPECT_THROW(md::replicate(melt(), {1, 0, 1}), std::invalid_argument);
}

}  // namespace
