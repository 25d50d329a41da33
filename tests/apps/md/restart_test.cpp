// Restart files: a continued run is the uninterrupted one bit for bit, and damaged files are refused.
#include "md/files/restart.hpp"

#include <gmock/gmock.h>

#include <cstdio>
#include <fstream>

#include "md/serial_driver.hpp"
#include "systems.hpp"

namespace {

namespace fs = std::filesystem;

fs::path temporary(const char* name) { return fs::path(testing::TempDir()) / name; }

md::run_settings settings() {
  md::run_settings s;
  s.dt = 0.003;
  s.reneighbor_every = 10;
  s.patches = {3, 2, 1};
  return s;
}

class continued_run : public testing::TestWithParam<std::tuple<const char*, int, bool>> {};

TEST_P(continued_run, equals_the_uninterrupted_one) {
  const auto& [kernel_name, stop, check] = GetParam();
  const md::kernel_set* kernels = nullptr;
  try {
    kernels = &md::choose_kernels(kernel_name);
  } catch (const std::invalid_argument& missing) {
    GTEST_SKIP() << missing.what();
  }
  const md::atom_system system = md::test::lattice_system({9, 8, 7}, 1.05, 2);
  md::run_settings run = settings();
  run.check_displacement = check;
  if (check) run.reneighbor_every = 1;
  const fs::path file = temporary("md_continued.restart");

  md::serial_driver whole(system, run, *kernels);
  md::serial_driver first(system, run, *kernels);
  for (int step = 0; step < stop; ++step) first.advance(false);
  md::write_restart(file, first.restart());
  const md::restart_state state = md::read_restart(file);
  EXPECT_EQ(state.kernels, kernel_name);
  EXPECT_EQ(state.settings.patches, (md::int3{3, 2, 1}));
  md::serial_driver second(state, state.settings, *kernels);
  EXPECT_EQ(second.step(), stop);

  for (int step = 0; step < 60; ++step) {
    whole.advance(true);
    if (step >= stop) second.advance(true);
  }
  EXPECT_EQ(md::format_thermo(whole.thermo()), md::format_thermo(second.thermo()));
  EXPECT_EQ(whole.thermo().pressure, second.thermo().pressure);
  const auto a = whole.atoms();
  const auto b = second.atoms();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].id, b[i].id);
    ASSERT_EQ(a[i].position, b[i].position) << "atom " << a[i].id;
    ASSERT_EQ(a[i].velocity, b[i].velocity) << "atom " << a[i].id;
    ASSERT_EQ(a[i].image, b[i].image) << "atom " << a[i].id;
  }
  fs::remove(file);
}

INSTANTIATE_TEST_SUITE_P(stops, continued_run,
                         testing::Combine(testing::ValuesIn(md::test::kernel_names), testing::Values(0, 10, 27, 39),
                                          testing::Bool()));

std::string error_of(const fs::path& file) {
  try {
    md::read_restart(file);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

class bad_restart : public testing::Test {
 protected:
  void SetUp() override {
    md::serial_driver driver(md::test::lattice_system({6, 6, 3}, 1.1), {}, md::choose_kernels("generic"));
    md::write_restart(file_, driver.restart());
  }
  void TearDown() override { fs::remove(file_); }
  void change_byte(std::streamoff at) {
    std::fstream stream(file_, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(at);
    const char old_byte = static_cast<char>(stream.get());
    stream.seekp(at);
    stream.put(static_cast<char>(old_byte ^ 1));
  }
  fs::path file_ = temporary("md_bad.restart");
};

TEST_F(bad_restart, intact_file_is_read) { EXPECT_EQ(error_of(file_), "no error"); }

TEST_F(bad_restart, truncated) {
  fs::resize_file(file_, fs::file_size(file_) - 5);
  EXPECT_THAT(error_of(file_), testing::HasSubstr("which does not fit its 108 atoms: truncated or damaged"));
  fs::resize_file(file_, 20);
  EXPECT_THAT(error_of(file_), testing::HasSubstr("is not a restart file of md"));
}

TEST_F(bad_restart, any_changed_byte_is_noticed) {
  const auto size = static_cast<std::streamoff>(fs::file_size(file_));
  for (std::streamoff at = 0; at < size; at += at < 192 ? 1 : 97) {
    change_byte(at);
    EXPECT_NE(error_of(file_), "no error") << "byte " << at;
    change_byte(at);
  }
  change_byte(size - 50);
  EXPECT_THAT(error_of(file_), testing::HasSubstr("is damaged (its checksum does not match)"));
}

TEST_F(bad_restart, other_version) {
  change_byte(8);
  EXPECT_THAT(error_of(file_), testing::HasSubstr("has version 3, this program reads version 2"));
}

// The checksum is right: somebody wrote such a file.
TEST_F(bad_restart, states_that_cannot_be_run_are_named) {
  const md::restart_state good = md::read_restart(file_);
  const auto error_with = [&](auto&& change) {
    md::restart_state state = good;
    change(state);
    md::write_restart(file_, state);
    return error_of(file_);
  };
  using testing::HasSubstr;
  EXPECT_THAT(error_with([](md::restart_state& s) { s.settings.reneighbor_every = 0; }),
              HasSubstr("lists that are built every 0 steps; these must be at least 0, 0 and 1"));
  EXPECT_THAT(error_with([](md::restart_state& s) { s.settings.cutoff = -1.0; }), HasSubstr("cutoff -1"));
  EXPECT_THAT(error_with([](md::restart_state& s) {
                s.settings.patches = {1, -1, 1};
              }),
              HasSubstr("has 1 -1 1 patches"));
  EXPECT_THAT(error_with([](md::restart_state& s) { s.system.atoms[3].type = 7; }),
              HasSubstr("atom 4 has type 8; expected 1 to 1"));
  EXPECT_THAT(error_with([](md::restart_state& s) { s.system.atoms[3].type = -1; }), HasSubstr("atom 4 has type 0"));
  EXPECT_THAT(error_with([](md::restart_state& s) { s.system.atoms[0].position[1] = 1e300; }),
              HasSubstr("atom 1 is at 1e+300 with image flag 0, more than 536870912 lengths of the box from it"));
  EXPECT_THAT(error_with([](md::restart_state& s) { s.system.box.high[2] = s.system.box.low[2]; }),
              HasSubstr("its length must be a finite number larger than 0"));
  EXPECT_THAT(error_with([](md::restart_state& s) { s.system.atoms.clear(), s.held_positions.clear(); }),
              HasSubstr("has no atoms"));
  EXPECT_THAT(error_with([](md::restart_state& s) { s.system.types[0].charge = 1e300; }), HasSubstr("charge 1e+300"));
  EXPECT_THAT(error_with([](md::restart_state& s) {
                s.settings.charges = {md::electrostatics::pme, 6, {16, 0, 16}, 1.0};
              }),
              HasSubstr("has particle-mesh Ewald of order 6 with mesh 16 0 16 and alpha 1; expected order 4, 6 or 8"));
  EXPECT_THAT(error_with([](md::restart_state& s) { s.settings.charges.method = static_cast<md::electrostatics>(3); }),
              HasSubstr("has electrostatics 3; expected 0 to 2"));
  EXPECT_THAT(error_with([](md::restart_state& s) { s.held_positions[0][0] = std::nan(""); }),
              HasSubstr("has the position nan of atom 1 at the last list build"));
}

TEST(restart, missing_directory_is_reported) {
  EXPECT_THAT(error_of("/nowhere/x"), testing::HasSubstr("'/nowhere/x': cannot open: No such file"));
  try {
    md::write_restart("/nowhere/x", {});
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("'/nowhere/x': cannot write: No such file"));
  }
}

}  // namespace
