// The text of the two trajectory formats.
#include "md/files/trajectory.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace {

const md::box box = {{0, 0, -1}, {10, 10.5, 9}};
const std::vector<md::atom_record> atoms = {{{1, 2.5, 3}, {}, 1, 0, {0, -1, 0}}, {{0.1, 5, 6}, {}, 4, 1, {0, 0, 2}}};

std::string written(md::trajectory_format format, bool continued) {
  const std::filesystem::path file = testing::TempDir() + "md_trajectory_test.txt";
  if (!continued) std::filesystem::remove(file);
  md::trajectory_writer(file, format, continued).write(20, box, atoms);
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

TEST(trajectory, xyz_frames) {
  const std::string frame = "2\nstep 20 box 10 10.5 10\n1 1 2.5 3\n2 0.1 5 6\n";
  EXPECT_EQ(written(md::trajectory_format::xyz, false), frame);
  EXPECT_EQ(written(md::trajectory_format::xyz, true), frame + frame) << "a continued run appends";
  EXPECT_EQ(written(md::trajectory_format::xyz, false), frame) << "a new run begins anew";
}

TEST(trajectory, lammps_frames) {
  EXPECT_EQ(written(md::trajectory_format::lammps, false),
            "ITEM: TIMESTEP\n20\nITEM: NUMBER OF ATOMS\n2\nITEM: BOX BOUNDS pp pp pp\n0 10\n0 10.5\n-1 9\n"
            "ITEM: ATOMS id type x y z ix iy iz\n1 1 1 2.5 3 0 -1 0\n4 2 0.1 5 6 0 0 2\n");
}

TEST(trajectory, a_file_that_cannot_be_opened_is_named) {
  try {
    md::trajectory_writer("/nowhere/t.xyz", md::trajectory_format::xyz);
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "cannot open trajectory file '/nowhere/t.xyz': No such file or directory");
  }
}

}  // namespace
