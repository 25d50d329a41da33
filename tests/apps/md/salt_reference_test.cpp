// The molten salt against LAMMPS's values on the same data file (apps/md/data/salt_reference_*.txt, in.salt).
#include <gmock/gmock.h>

#include "charged_systems.hpp"
#include "md/electrostatics/mesh_transforms.hpp"
#include "md/files/lammps_data.hpp"
#include "md/serial_driver.hpp"
#include "reference_values.hpp"
#include "support/command_runner.hpp"

namespace {

using md::int3;

const std::filesystem::path folder = MD_DATA_DIR;

md::run_settings settings(const md::atom_system& salt, md::electrostatics method, double tolerance) {
  md::run_settings result;
  result.cutoff = 3.0;
  result.dt = 0.002;
  result.reneighbor_every = 10;
  result.charges.method = method;
  if (method == md::electrostatics::pme)
    result.charges = md::choose_pme(salt.box, md::totals_of(salt), result.cutoff, tolerance, {});
  return result;
}

double relative(double value, double expected) { return std::abs(value / expected - 1.0); }

/// Largest relative difference of the energies in the rows of a reference file.
double difference(const char* file, const md::run_settings& settings) {
  const md::atom_system salt = md::read_lammps_data(folder / "salt.data");
  md::serial_driver driver(salt, settings, md::choose_kernels("auto"));
  double largest = 0.0;
  for (const md::thermo_row& expected : md::test::read_reference(folder / file)) {
    while (driver.step() < expected.step) driver.advance(driver.step() + 1 == expected.step);
    const md::thermo_row row = driver.thermo();
    largest =
        std::max({largest, relative(row.pair_energy, expected.pair_energy),
                  relative(row.total_energy, expected.total_energy), relative(row.temperature, expected.temperature)});
    EXPECT_LT(relative(row.pressure, expected.pressure), 1e-3) << expected.step;
  }
  return largest;
}

TEST(salt, has_the_energies_of_lammps) {
  if (!md::have_mesh_transforms()) GTEST_SKIP() << "built without FFTW (scripts/deps.sh build)";
  const md::atom_system salt = md::read_lammps_data(folder / "salt.data");
  ASSERT_EQ(salt.atoms.size(), 480U);
  EXPECT_EQ(salt.types[0].charge, 2.0);
  EXPECT_LT(difference("salt_reference_thermo.txt", settings(salt, md::electrostatics::pme, 1e-6)), 1e-6);
  EXPECT_LT(difference("salt_reference_thermo.txt", settings(salt, md::electrostatics::pme, 1e-4)), 1e-4);
  EXPECT_LT(difference("salt_reference_cutoff.txt", settings(salt, md::electrostatics::cutoff, 0.0)), 1e-6);
}

TEST(salt, has_the_forces_of_lammps) {
  if (!md::have_mesh_transforms()) GTEST_SKIP() << "built without FFTW (scripts/deps.sh build)";
  const md::atom_system salt = md::read_lammps_data(folder / "salt.data");
  std::ifstream in(folder / "salt_reference_forces.txt");
  std::vector<md::vec3> expected;
  double squares = 0.0;
  for (std::string line; std::getline(in, line);) {
    if (line[0] == '#') continue;
    std::int64_t id = 0;
    md::vec3 force{};
    std::istringstream(line) >> id >> force[0] >> force[1] >> force[2];
    ASSERT_EQ(id, static_cast<std::int64_t>(expected.size()) + 1);
    expected.push_back(force);
    squares += force[0] * force[0] + force[1] * force[1] + force[2] * force[2];
  }
  ASSERT_EQ(expected.size(), 480U);
  const double size = std::sqrt(squares / 480.0);
  for (const double tolerance : {1e-4, 1e-6}) {
    const md::serial_driver driver(salt, settings(salt, md::electrostatics::pme, tolerance),
                                   md::choose_kernels("auto"));
    EXPECT_LT(md::test::rms_difference(driver.forces(), expected), 2.0 * tolerance + 1e-6) << "forces of size " << size;
  }
  EXPECT_GT(size, 1.0);
}

// The reference values are what the installed LAMMPS makes of in.salt.
TEST(salt, reference_is_what_lammps_gives_today) {
  if (tri::testing::run_with_one_stream("command -v lmp").status != 0)
    GTEST_SKIP() << "LAMMPS (lmp) is not installed (scripts/deps.sh demo)";
  const auto run = tri::testing::run_with_one_stream("cd '" + folder.string() +
                                                     "' && timeout 100 lmp -in in.salt -log none -var steps 0");
  if (run.status != 0) GTEST_SKIP() << "LAMMPS does not run here: " << run.output;
  const auto reference = md::test::read_reference(folder / "salt_reference_thermo.txt");
  const std::size_t table = run.output.find("Step Temp E_pair");
  ASSERT_NE(table, std::string::npos) << run.output;
  std::istringstream row(run.output.substr(run.output.find('\n', table)));
  double step = 0.0;
  double temperature = 0.0;
  double energy = 0.0;
  row >> step >> temperature >> energy;
  EXPECT_LT(relative(energy, reference.front().pair_energy), 1e-7);
}

}  // namespace
