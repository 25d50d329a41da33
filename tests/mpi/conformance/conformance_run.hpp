// Starts the programs of this folder under every MPI that is installed: as they are, and under the drop-in in each of
// its modes. The fixture of all tests of mpi_conformance_test.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "support/command_runner.hpp"

namespace mpi_programs {

struct mpi {
  std::string name;
  std::string launcher;
  std::string programs;      // the folder with what its compilers built of this folder
  std::string applications;  // and of apps/mpi
  std::string nbody;         // the program of apps/nbody
};
/// Those that CMake found.
extern const std::vector<mpi> installed;

/// How the programs are started. A mode of the drop-in is one line: its name, variables of the environment, and the
/// options of `trireme exec`. Nothing else has to be changed; "plain" stays first, the others are compared with it.
struct mode {
  std::string name;
  std::string environment;
  std::string exec;          // options of `trireme exec`; empty: the program alone
  bool selects_pml = false;  // Open MPI looks for networks itself, see quick_openmpi
  bool has_hosts = false;    // windows and files of these are the library's, with its faults
};
extern const std::vector<mode> modes;

void PrintTo(const mpi& value, std::ostream* out);
void PrintTo(const mode& value, std::ostream* out);

/// Names of cases that fail because of a fault of the library, as `--skip` takes them.
std::string left_out(const mpi& with, const mode& how);

/// What stands before the program.
std::string exec_of(const mode& how);

tri::testing::command_result run(const mpi& with, const mode& how, int ranks, const std::string& program,
                                 const std::string& arguments, const std::string& environment = {});

/// Under the drop-in, with the statistics that it writes. Those that are not there have no ranks.
struct counted_run {
  tri::testing::command_result ended;
  nlohmann::json statistics;
  std::size_t ranks() const { return statistics.value("ranks", nlohmann::json::array()).size(); }
};
counted_run run_counted(const mpi& with, mode how, int ranks, const std::string& program, const std::string& arguments);

/// What the conformance program says under the first MPI without the drop-in: what all others are compared with, and
/// run only once for them all. Under ctest, the first of its tests that needs it leaves it for the others in the folder
/// that CONFORMANCE_REFERENCES names, which is new in every run of ctest. The others wait for its lock meanwhile. A
/// result appears as a whole (rename), and only one of status 0 is kept: what failed is run again by the next test that
/// needs it.
tri::testing::command_result run_reference(int ranks, const std::string& arguments);

/// What traffic with these arguments has to print.
std::string expected_traffic(int ranks, const std::string& arguments);

/// The lines that contain `what`, each with its end.
std::vector<std::string> lines_of(const std::string& text, const std::string& what);

/// Parameters: the MPI, the mode, the number of ranks.
using parameters = std::tuple<mpi, mode, int>;
class conformance : public testing::TestWithParam<parameters> {
 protected:
  const mpi& with() const { return std::get<0>(GetParam()); }
  const mode& how() const { return std::get<1>(GetParam()); }
  int ranks() const { return std::get<2>(GetParam()); }
};

}  // namespace mpi_programs
