// The conformance programs under every MPI that is installed: as they are, with delays that shuffle what happens when,
// and under the drop-in in each of its modes. What they print does not depend on any of that.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "support/command_runner.hpp"

namespace {

using testing::StartsWith;

struct mpi {
  std::string name;
  std::string launcher;
  std::string programs;  // the folder with what its compilers built
};
const mpi installed[] = {INSTALLED_MPIS};

// How the programs are started. A mode of the drop-in is one line: its name, variables of the environment, and the
// options of `trireme exec`. Nothing else has to be changed; "plain" stays first, the others are compared with it.
struct mode {
  std::string name;
  std::string environment;
  std::string exec;  // options of `trireme exec`; empty: the program alone
};
const mode modes[] = {
    {"plain", "", ""},
};

// Faults of the host libraries, met with the programs as they are. `host_carries` tells that the drop-in leaves the
// matter to the host library: then the case is left out in every mode, else in the plain one only.
struct host_fault {
  std::string mpi;
  std::string name;
  bool host_carries;
};
const host_fault host_faults[] = {
    // Open MPI 4.1.4: the second start of a persistent buffered send of more than an eager message sends what the
    // buffer holds later, and a detach then waits for ever.
    {"openmpi", "persistent/buffered_mode", false},
    // Open MPI 4.1.4: a message of more than an eager one is written as long as it is, however short its receive.
    {"openmpi", "errors/nothing_is_written_behind_truncated_receives", false},
    // Open MPI 4.1.4: a buffered send that finds no space counts as pending all the same; MPI_Buffer_detach hangs.
    {"openmpi", "errors/buffered_sends_without_space", false},
    // MPICH 4.0.2: MPI_Irecv from MPI_PROC_NULL ends with a status of rank 0 and tag 0, or of any source.
    {"mpich", "point_to_point/status_of_irecv_from_nobody", false},
    // MPICH 4.0.2: a persistent receive from MPI_PROC_NULL ends with the empty status, which says "any source".
    {"mpich", "persistent/status_of_receives_from_nobody", false},
    // MPICH 4.0.2: MPI_Testany leaves the status as it is when all requests are inactive.
    {"mpich", "persistent/testany_of_inactive_requests_has_an_empty_status", false},
    // MPICH 4.0.2: an error found by MPI_Wait goes to the handler of MPI_COMM_WORLD, not to that of the communicator.
    {"mpich", "errors/handlers_hear_of_truncation_in_waits", false},
};

std::string left_out(const mpi& with, const mode& how) {
  std::string names = ",";
  for (const host_fault& each : host_faults) {
    if (each.mpi == with.name && (each.host_carries || how.exec.empty())) names += each.name + ",";
  }
  return names;
}

// An MPI that is careful lets root run it, and more processes than cores.
tri::testing::command_result run(const mpi& with, const mode& how, int ranks, const std::string& program,
                                 const std::string& arguments, const std::string& environment = {}) {
  const std::string exec = how.exec.empty() ? "" : fmt::format("{} exec {} -- ", TRIREME_COMMAND, how.exec);
  return tri::testing::run_command(
      fmt::format("export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 {} {}; {} {} -n {} {}{}/{} {}",
                  how.environment, environment, with.launcher, with.name == "openmpi" ? "--oversubscribe" : "", ranks,
                  exec, with.programs, program, arguments));
}

// "group/case" and what stands behind it.
std::map<std::string, std::string> results_of(const std::string& output) {
  std::map<std::string, std::string> results;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t space = line.find(' ');
    if (line.find('/') < space)
      results[line.substr(0, space)] = space == std::string::npos ? "" : line.substr(space + 1);
  }
  return results;
}

std::vector<std::string> names_of(const std::map<std::string, std::string>& results) {
  std::vector<std::string> names;
  for (const auto& [name, result] : results) names.push_back(name);
  return names;
}

using parameters = std::tuple<mpi, mode, int>;
class conformance : public testing::TestWithParam<parameters> {
 protected:
  const mpi& with() const { return std::get<0>(GetParam()); }
  const mode& how() const { return std::get<1>(GetParam()); }
  int ranks() const { return std::get<2>(GetParam()); }

  // A spinning MPI hands over a message in milliseconds where ranks share cores: fewer sizes then, and with delays.
  std::string options(const mode& in, bool delays) const {
    return fmt::format("--sizes {} --skip {}", ranks() == 2 && !delays ? "all" : "few", left_out(with(), in));
  }

  void expect_all_cases(bool delays) const {
    const std::string program = delays ? "conformance_delayed" : "conformance";
    const std::string seed = delays ? fmt::format("TRIREME_TEST_DELAYS={}", 1000 + ranks()) : "";
    const auto ended = run(with(), how(), ranks(), program, options(how(), delays), seed);
    const auto planned = run(with(), modes[0], ranks(), "conformance", "--list " + options(how(), delays));
    const auto results = results_of(ended.output);
    EXPECT_EQ(ended.status, 0) << ended.errors;
    EXPECT_EQ(names_of(results), names_of(results_of(planned.output))) << ended.errors;
    EXPECT_GT(results.size(), 90u);
    for (const auto& [name, result] : results) EXPECT_THAT(result, StartsWith("ok (")) << name << ended.errors;
    if (how().name == modes[0].name) return;
    const auto plain = run(with(), modes[0], ranks(), "conformance", options(modes[0], delays));
    for (const auto& [name, result] : results_of(plain.output)) EXPECT_EQ(results.at(name), result) << name;
  }
};
INSTANTIATE_TEST_SUITE_P(mpi, conformance,
                         testing::Combine(testing::ValuesIn(installed), testing::ValuesIn(modes),
                                          testing::Values(2, 3, 4, 8)),
                         [](const testing::TestParamInfo<parameters>& which) {
                           return fmt::format("{}_{}_{}_ranks", std::get<0>(which.param).name,
                                              std::get<1>(which.param).name, std::get<2>(which.param));
                         });

TEST_P(conformance, every_case_holds) { expect_all_cases(false); }
TEST_P(conformance, every_case_holds_with_delays) { expect_all_cases(true); }

}  // namespace
