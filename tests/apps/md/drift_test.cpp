// Ten thousand steps of the melt: the total energy must not drift more than it does in LAMMPS on the same input.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "md/files/lammps_data.hpp"
#include "md/serial_driver.hpp"
#include "reference_values.hpp"

namespace {

TEST(energy_drift, over_ten_thousand_steps_is_that_of_lammps) {
  const std::filesystem::path data = MD_DATA_DIR;
  const auto reference = md::test::read_reference(data / "melt_reference_energy.txt");
  ASSERT_EQ(reference.back().step, 10000);
  md::serial_driver driver(md::read_lammps_data(data / "melt.data"), {}, md::choose_kernels("auto"));
  double largest_difference = 0.0;
  for (const md::thermo_row& expected : reference) {
    while (driver.step() < expected.step) driver.advance(driver.step() + 1 == expected.step);
    largest_difference = std::max(largest_difference, std::abs(driver.thermo().total_energy - expected.total_energy));
  }
  const double drift = std::abs(driver.thermo().total_energy - reference.front().total_energy);
  const double drift_of_lammps = std::abs(reference.back().total_energy - reference.front().total_energy);
  RecordProperty("drift", std::to_string(drift));
  // The trajectories part by chaos after some hundred steps, so the two drifts are two samples of one distribution.
  EXPECT_LT(drift, 1.1 * drift_of_lammps);
  EXPECT_LT(largest_difference, 0.1 * drift_of_lammps) << "drift " << drift << ", in LAMMPS " << drift_of_lammps;
}

}  // namespace
