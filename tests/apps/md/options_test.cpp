// The command line: values arrive, and each mistake gets a message with the bad value and what would be right.
#include "md/options.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "md/electrostatics/mesh_transforms.hpp"
#include "md/files/lammps_data.hpp"
#include "systems.hpp"

namespace {

struct outcome {
  md::options values;
  md::run_input input;
  std::string error;
};

outcome parse(const std::string& line) {
  CLI::App app("md");
  outcome result;
  md::add_options(app, result.values);
  try {
    app.parse(line);
    result.input = md::load_input(app, result.values);
  } catch (const CLI::ParseError& error) {
    result.error = md::describe_parse_error(app, error);
  } catch (const std::exception& error) {
    result.error = error.what();
  }
  return result;
}

class command_line : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream out(file_);
    md::write_lammps_data(out, md::test::lattice_system({3, 3, 3}, 1.1));
  }
  void TearDown() override { std::filesystem::remove(file_); }
  std::string file_ = testing::TempDir() + "md_options.data";
};

TEST_F(command_line, values_arrive) {
  const outcome r =
      parse("--data " + file_ +
            " --steps 7 --dt 0.001 --cutoff 2 --skin 0.2 --reneighbor-every 5 --check "
            "--patches 2 1 3 --dump t.xyz --dump-every 3 --dump-format lammps --replicate 2 2 2 --kernels generic");
  ASSERT_EQ(r.error, "");
  EXPECT_EQ(r.values.steps, 7);
  EXPECT_EQ(r.input.settings.dt, 0.001);
  EXPECT_EQ(r.input.settings.cutoff, 2.0);
  EXPECT_EQ(r.input.settings.reneighbor_every, 5);
  EXPECT_TRUE(r.input.settings.check_displacement);
  EXPECT_EQ(r.input.settings.patches, (md::int3{2, 1, 3}));
  EXPECT_EQ(r.values.dump_format, md::trajectory_format::lammps);
  EXPECT_EQ(r.input.system.atoms.size(), 27U * 8U);
  EXPECT_EQ(r.input.kernels, "generic");
}

TEST_F(command_line, mistakes_are_explained) {
  const std::string data = "--data " + file_ + " ";
  EXPECT_EQ(parse(data + "--step 7").error, "unknown option '--step'; did you mean --steps?");
  EXPECT_EQ(parse(data + "--reneighbour-every 7").error,
            "unknown option '--reneighbour-every'; did you mean --reneighbor-every?");
  EXPECT_EQ(parse(data + "--frobnicate").error, "unknown option '--frobnicate'");
  EXPECT_THAT(parse(data + "--dt -1").error,
              testing::HasSubstr("--dt: '-1' is not possible; expected a number larger than 0"));
  EXPECT_THAT(parse(data + "--steps many").error,
              testing::HasSubstr("--steps: 'many' is not possible; expected an integer of at least 0"));
  EXPECT_THAT(parse(data + "--dump-format pdb").error, testing::HasSubstr("pdb"));
  EXPECT_THAT(parse(data + "--kernels sse").error, testing::HasSubstr("sse"));
  EXPECT_THAT(parse(data + "--patches 1 1 1 --patch-size 3").error, testing::HasSubstr("excludes"));
  EXPECT_EQ(parse(data + "--patch-size 2").error, "--patch-size 2: must be at least cutoff + skin = 2.8");
  EXPECT_EQ(parse("").error, "no input; give --data FILE, --restart-in FILE or --system droplet");
  EXPECT_EQ(parse(data + "--restart-in x").error,
            "--data, --system and --restart-in: more than one was given; give one of them");
  EXPECT_EQ(parse("--restart-in x --replicate 2 1 1").error,
            "--replicate works with --data or --system only; a restart file cannot be replicated");
  EXPECT_EQ(parse(data + "--restart-every 5").error, "--restart-every needs --restart-out FILE to say where to write");
  EXPECT_EQ(parse("--data /nowhere/x").error, "cannot open data file '/nowhere/x': No such file or directory");
}

TEST_F(command_line, charges_are_computed_with_unless_cut_off) {
  md::atom_system system = md::test::lattice_system({4, 4, 4}, 1.1, 2);
  EXPECT_EQ(parse("--data " + file_).input.settings.charges.method, md::electrostatics::none);
  system.types[0].charge = 1.0;
  std::ofstream(file_) << [&] {
    std::ostringstream out;
    md::write_lammps_data(out, system);
    return out.str();
  }();
  const std::string data = "--data " + file_ + " --cutoff 2.5 ";
  EXPECT_EQ(parse(data + "--electrostatics cutoff").input.settings.charges.method, md::electrostatics::cutoff);
  EXPECT_THAT(parse(data + "--electrostatics ewald").error, testing::HasSubstr("ewald"));
  const outcome pme = parse(data + "--pme-tolerance 1e-4 --pme-order 4");
  if (!md::have_mesh_transforms()) {
    EXPECT_THAT(pme.error, testing::HasSubstr("built without FFTW, which particle-mesh Ewald needs: install Debian's"));
    return;
  }
  ASSERT_EQ(pme.error, "");
  EXPECT_EQ(pme.input.settings.charges.method, md::electrostatics::pme);
  EXPECT_EQ(pme.input.settings.charges.order, 4);
  EXPECT_GT(pme.input.settings.charges.mesh[1], 8);
  EXPECT_GT(pme.input.settings.charges.alpha, 0.5);
  const outcome given = parse(data + "--pme-alpha 1.25 --pme-grid 10 12 15");
  ASSERT_EQ(given.error, "");
  EXPECT_EQ(given.input.settings.charges.alpha, 1.25);
  EXPECT_EQ(given.input.settings.charges.mesh, (md::int3{10, 12, 15}));
  EXPECT_THAT(parse(data + "--pme-grid 10 0 15").error, testing::HasSubstr("--pme-grid"));
  EXPECT_THAT(parse(data + "--pme-tolerance 1e-30").error, testing::HasSubstr("--pme-tolerance 1e-30"));
}

TEST_F(command_line, restart_brings_its_settings_and_options_override_them) {
  md::restart_state state;
  state.system = md::test::lattice_system({3, 3, 3}, 1.1);
  for (const md::atom_record& atom : state.system.atoms) state.held_positions.push_back(atom.position);
  state.settings.dt = 0.002;
  state.settings.skin = 0.1;
  state.settings.patches = {1, 1, 1};
  state.kernels = "generic";
  const std::string file = testing::TempDir() + "md_options.restart";
  md::write_restart(file, state);
  const outcome plain = parse("--restart-in " + file);
  ASSERT_EQ(plain.error, "");
  EXPECT_EQ(plain.input.settings.dt, 0.002);
  EXPECT_EQ(plain.input.settings.skin, 0.1);
  EXPECT_EQ(plain.input.settings.patches, (md::int3{1, 1, 1}));
  EXPECT_EQ(plain.input.kernels, "generic");
  const outcome other = parse("--dt 0.004 --restart-in " + file);
  EXPECT_EQ(other.input.settings.dt, 0.004);
  EXPECT_EQ(other.input.settings.skin, 0.1);
  std::filesystem::remove(file);
}

}  // namespace
