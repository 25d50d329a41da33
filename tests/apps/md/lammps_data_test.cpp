// LAMMPS data files: what is read, what is written, and the message for each kind of mistake.
#include "md/files/lammps_data.hpp"

#include <gmock/gmock.h>

#include <sstream>

#include "systems.hpp"

namespace {

const char* const good = R"(title, ignored   # whatever: 3 atoms

2 atoms          # a comment
2 atom types
-1 9.5 xlo xhi
0 10 ylo yhi
0 1e1 zlo zhi

Masses

1 1.0
2 +2.5

Pair Coeffs # lj/cut

1 1.0 1.0
2 0.5 0.9

Atoms # atomic

7 2 1 2 3 0 -1 2
3 1 4 5 6   # without image flags

Velocities

3 0.1 0.2 0.3
7 -1 0 1
)";

md::atom_system read(const std::string& text) {
  std::istringstream in(text);
  return md::read_lammps_data(in, "test.data");
}

/// The good file with one piece replaced.
std::string with(const std::string& old_text, const std::string& new_text) {
  std::string text = good;
  const std::size_t at = text.find(old_text);
  if (at == std::string::npos) throw std::logic_error("test file has no '" + old_text + "'");
  return text.replace(at, old_text.size(), new_text);
}

std::string error_of(const std::string& text) {
  try {
    read(text);
  } catch (const md::data_file_error& error) {
    return error.what();
  }
  return "no error";
}

TEST(lammps_data, reads_every_section) {
  const md::atom_system system = read(good);
  EXPECT_EQ(system.box.low, (md::vec3{-1, 0, 0}));
  EXPECT_EQ(system.box.high, (md::vec3{9.5, 10, 10}));
  EXPECT_EQ(system.masses, (std::vector<double>{1.0, 2.5}));
  EXPECT_EQ(system.types[1].epsilon, 0.5);
  EXPECT_EQ(system.types[1].sigma, 0.9);
  ASSERT_EQ(system.atoms.size(), 2U);
  EXPECT_EQ(system.atoms[0].id, 3) << "sorted by id";
  EXPECT_EQ(system.atoms[0].velocity, (md::vec3{0.1, 0.2, 0.3}));
  EXPECT_EQ(system.atoms[1].type, 1) << "0-based";
  EXPECT_EQ(system.atoms[1].position, (md::vec3{1, 2, 3}));
  EXPECT_EQ(system.atoms[1].image, (std::array<std::int32_t, 3>{0, -1, 2}));
}

TEST(lammps_data, written_files_read_back_exactly) {
  md::atom_system system = md::test::lattice_system({4, 3, 3}, 1.1, 2);
  system.atoms[3].image = {1, -2, 0};
  std::ostringstream out;
  md::write_lammps_data(out, system);
  const md::atom_system again = read(out.str());
  EXPECT_EQ(again.box.high, system.box.high);
  EXPECT_EQ(again.masses, system.masses);
  ASSERT_EQ(again.atoms.size(), system.atoms.size());
  for (std::size_t i = 0; i < system.atoms.size(); ++i) {
    EXPECT_EQ(again.atoms[i].position, system.atoms[i].position);
    EXPECT_EQ(again.atoms[i].velocity, system.atoms[i].velocity);
    EXPECT_EQ(again.atoms[i].type, system.atoms[i].type);
    EXPECT_EQ(again.atoms[i].image, system.atoms[i].image);
  }
}

std::string charged(const std::string& first, const std::string& second, const std::string& style = "") {
  std::string text = with("7 2 1 2 3 0 -1 2", first);
  text.replace(text.find("3 1 4 5 6"), 9, second);
  return text.replace(text.find("Atoms # atomic"), 14, "Atoms" + style);
}

TEST(lammps_data, reads_charges) {
  for (const std::string style : {"", " # charge", " # of all kinds"}) {
    const md::atom_system system = read(charged("7 2 -1.5 1 2 3 0 -1 2", "3 1 +2 4 5 6", style));
    EXPECT_EQ(system.types[0].charge, 2.0);
    EXPECT_EQ(system.types[1].charge, -1.5);
    EXPECT_EQ(system.types[1].epsilon, 0.5) << "Pair Coeffs came before";
    EXPECT_EQ(system.atoms[1].position, (md::vec3{1, 2, 3}));
    EXPECT_EQ(system.atoms[1].image, (std::array<std::int32_t, 3>{0, -1, 2}));
    std::ostringstream out;
    md::write_lammps_data(out, system);
    EXPECT_EQ(read(out.str()).types[1].charge, -1.5);
  }
}

TEST(lammps_data, mistakes_with_charges_are_named) {
  EXPECT_EQ(
      error_of(charged("7 2 1 1 2 3", "3 2 -1 4 5 6")),
      "test.data:22: atom 3 of type 2 has charge -1, but atom 7 of that type has 1; give atoms with another charge "
      "a type of their own");
  EXPECT_THAT(error_of(charged("7 2 1 1 2 3", "3 1 4 5 6")),
              testing::HasSubstr("line 2 of 2); expected 'ID TYPE CHARGE X Y Z'"));
  EXPECT_THAT(error_of(charged("7 2 1 2 3", "3 1 4 5 6", " # charge")),
              testing::HasSubstr("line 1 of 2); expected 'ID TYPE CHARGE X Y Z'"));
  EXPECT_THAT(error_of(charged("7 2 1 1 2 3", "3 1 1 4 5 6", " # atomic")),
              testing::HasSubstr("test.data:21: 6 numbers for an atom; expected 5 (ID TYPE X Y Z)"));
  EXPECT_EQ(error_of(charged("7 2 one 1 2 3", "3 1 1 4 5 6")), "test.data:21: 'one' is not a finite number (charge)");
  EXPECT_THAT(error_of(charged("7 2 1e9 1 2 3", "3 1 1 4 5 6")), testing::HasSubstr("atom type 2 has charge 1"));
}

TEST(lammps_data, melt_has_its_4000_atoms) {
  const md::atom_system melt = md::read_lammps_data(std::filesystem::path(MD_DATA_DIR) / "melt.data");
  EXPECT_EQ(melt.atoms.size(), 4000U);
  EXPECT_NEAR(4000 / melt.box.volume(), 0.8442, 1e-12);
}

TEST(lammps_data, mistakes_are_named_with_their_line) {
  EXPECT_EQ(error_of(with("4 5 6", "4 5,5 6")), "test.data:22: '5,5' is not a finite number (coordinate)");
  EXPECT_EQ(error_of(with("4 5 6", "4 nan 6")), "test.data:22: 'nan' is not a finite number (coordinate)");
  EXPECT_EQ(error_of(with("3 1 4 5 6", "3 3 4 5 6")), "test.data:22: atom type 3; expected 1 to 2");
  EXPECT_EQ(error_of(with("3 1 4 5 6", "7 1 4 5 6")), "test.data:22: atom id 7 appears a second time");
  EXPECT_EQ(error_of(with("3 1 4 5 6", "0 1 4 5 6")), "test.data:22: atom id 0; it must be at least 1");
  EXPECT_EQ(
      error_of(with("3 1 4 5 6", "3 1 4 5")),
      "test.data:22: '3 1 4 5' in section Atoms (line 2 of 2); expected 'ID TYPE X Y Z' or 'ID TYPE X Y Z IX IY IZ'");
  EXPECT_THAT(error_of(with("3 1 4 5 6", "3 1 4 5 6 0")), testing::StartsWith("test.data:22: 6 numbers for an atom"));
  EXPECT_EQ(error_of(with("3 1 4 5 6", "")),
            "test.data:24: 'Velocities' in section Atoms (line 2 of 2); expected 'ID TYPE X Y Z' or 'ID TYPE X Y Z IX "
            "IY IZ'");
  EXPECT_THAT(error_of(with("2 atoms", "1 atoms")),
              testing::StartsWith("test.data:22: '3 1 4 5 6' where a section should"));
  EXPECT_EQ(error_of(with("2 atoms ", "-2 atoms ")), "test.data:3: -2 atoms; at least 1 is needed");
  EXPECT_EQ(error_of(with("2 atoms ", "2.5 atoms ")), "test.data:3: '2.5' is not an integer (number of atoms)");
  EXPECT_EQ(error_of(with("-1 9.5 xlo", "10 9.5 xlo")),
            "test.data:5: box bounds 10 9.5: the upper one must be larger than the lower one");
  EXPECT_EQ(error_of(with("xlo xhi", "xlo yhi")), "test.data:5: 'yhi' after 'xlo'; expected 'xhi'");
  EXPECT_EQ(error_of(with("0 10 ylo yhi\n", "")), "test.data:26: no line 'LOW HIGH ylo yhi' in the header");
  EXPECT_THAT(error_of(with("0 1e1 zlo zhi", "0 1e1 zlo zhi\n0 0 0 xy xz yz")),
              testing::HasSubstr("test.data:8: the box is tilted"));
  EXPECT_THAT(error_of(with("0 1e1 zlo zhi", "12 bonds")), testing::HasSubstr("test.data:7: header line '12 bonds'"));
  EXPECT_EQ(error_of(with("2 +2.5", "2 -2.5")), "test.data:12: mass -2.5; it must be larger than 0");
  EXPECT_EQ(error_of(with("2 +2.5", "1 +2.5")), "test.data:27: no mass for atom type 2 (section Masses)");
  EXPECT_EQ(error_of(with("7 -1 0 1", "8 -1 0 1")), "test.data:27: velocity of atom 8, which is not in section Atoms");
  EXPECT_EQ(error_of(with("7 -1 0 1", "3 -1 0 1")), "test.data:27: a second velocity for atom 3");
  EXPECT_EQ(error_of(with("7 -1 0 1\n", "")), "test.data:26: the file ends after 1 of 2 lines of section Velocities");
  EXPECT_THAT(error_of(with("Velocities", "Bonds")),
              testing::StartsWith("test.data:24: 'Bonds' where a section should begin"));
  EXPECT_EQ(error_of(with("4 5 6", "4 1e300 6")),
            "test.data: atom 3 is at 1e+300 with image flag 0, more than 536870912 lengths of the box from it");
  EXPECT_THAT(error_of(with("-1 9.5 xlo", "-1e308 1e308 xlo")),
              testing::HasSubstr("its length must be a finite number"));
  EXPECT_EQ(error_of("title\n2 atoms\n"), "test.data:2: no line 'N atom types' in the header");
  EXPECT_THAT(error_of(""), testing::HasSubstr("the file is empty"));
}

TEST(lammps_data, missing_file_is_named) {
  try {
    md::read_lammps_data(std::filesystem::path("/nowhere/x.data"));
    FAIL() << "no error";
  } catch (const md::data_file_error& error) {
    EXPECT_STREQ(error.what(), "cannot open data file '/nowhere/x.data': No such file or directory");
  }
}

}  // namespace
