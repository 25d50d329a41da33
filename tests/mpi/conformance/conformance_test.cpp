// The conformance programs: as they are, with delays that shuffle what happens when, and under the drop-in in each of
// its modes. What they print does not depend on any of that.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "coll/cost_fit.hpp"
#include "coll/cost_text.hpp"
#include "mpi/conformance/conformance_run.hpp"
#include "support/command_runner.hpp"

namespace mpi_programs {
namespace {

using testing::ContainsRegex;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

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

// A spinning MPI hands over a message in milliseconds where ranks share cores: fewer sizes then, and with delays.
std::string options(const mpi& with, const mode& how, int ranks, bool delays) {
  return fmt::format("--sizes {} --skip {}", ranks == 2 && !delays ? "all" : "few", left_out(with, how));
}

void expect_all_cases(const mpi& with, const mode& how, int ranks, bool delays) {
  const std::string program = delays ? "conformance_delayed" : "conformance";
  const std::string seed = delays ? fmt::format("CONFORMANCE_DELAYS={}", 1000 + ranks) : "";
  const bool is_reference = with.name == installed[0].name && how.name == modes[0].name && !delays;
  const auto ended = is_reference ? run_reference(ranks, options(with, how, ranks, delays))
                                  : run(with, how, ranks, program, options(with, how, ranks, delays), seed);
  const auto planned = tri::testing::run_command(
      fmt::format("{}/conformance --list {} {}", with.programs, ranks, options(with, how, ranks, delays)));
  const auto results = results_of(ended.output);
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_EQ(names_of(results), names_of(results_of(planned.output))) << ended.errors;
  EXPECT_GT(results.size(), 140u);
  for (const auto& [name, result] : results) EXPECT_THAT(result, StartsWith("ok (")) << name << ended.errors;
  EXPECT_THAT(ended.errors, Not(HasSubstr("are left to "))) << "the drop-in took no part";
  if (how.name == modes[0].name) return;
  // The number of checks is the same under every MPI, so the first one installed is the reference.
  const auto plain = run_reference(ranks, options(installed[0], modes[0], ranks, delays));
  const std::string reference = fmt::format("the reference, {} alone with {} ranks", installed[0].name, ranks);
  EXPECT_EQ(plain.status, 0) << reference << ":\n" << plain.output << plain.errors;
  for (const auto& [name, result] : results_of(plain.output)) {
    EXPECT_THAT(result, StartsWith("ok (")) << name << " of " << reference;
    if (results.contains(name)) {
      EXPECT_EQ(results.at(name), result) << name << "; expected as in " << reference;
    }
  }
}

// Everything with 2, 3, 4 and 8 ranks; but eight ranks of an MPI that spins take the cores from everybody for minutes.
// CONFORMANCE_ALL_RANKS runs every mode with every number of ranks. Plain MPICH with 8 ranks spins everybody's cores
// for minutes, and is left out even then.
std::vector<parameters> all_parameters() {
  const bool all = std::getenv("CONFORMANCE_ALL_RANKS") != nullptr;
  std::vector<parameters> made;
  for (const mpi& with : installed) {
    for (const mode& how : modes) {
      for (const int ranks : {2, 3, 4, 8}) {
        const bool usual = how.name == "drop_in" ? ranks != 4
                           : how.has_hosts       ? ranks == (how.name == "two_hosts" ? 4 : 3)
                                                 : ranks == (how.name == "private_heap" ? 3 : 2);
        if (how.has_hosts && ranks < 3) continue;  // each would be alone on its host
        if ((all || usual) && (ranks < 8 || with.name != "mpich" || !how.exec.empty()))
          made.emplace_back(with, how, ranks);
      }
    }
  }
  return made;
}

INSTANTIATE_TEST_SUITE_P(mpi, conformance, testing::ValuesIn(all_parameters()),
                         [](const testing::TestParamInfo<parameters>& which) {
                           return fmt::format("{}_{}_{}_ranks", std::get<0>(which.param).name,
                                              std::get<1>(which.param).name, std::get<2>(which.param));
                         });

TEST_P(conformance, every_case_holds) { expect_all_cases(with(), how(), ranks(), false); }
TEST_P(conformance, every_case_holds_with_delays) { expect_all_cases(with(), how(), ranks(), true); }

// The line of the program depends on its arguments only: the same for all MPIs and modes.
TEST_P(conformance, random_traffic_arrives) {
  // Many small messages, a million in the usual mode with 2 ranks, and fewer large ones or with delays;
  // CONFORMANCE_MESSAGES per rank makes all of it a soak.
  const char* const asked = std::getenv("CONFORMANCE_MESSAGES");
  const long many = asked != nullptr ? std::atol(asked) : ranks() == 2 ? 50000 : 3000;
  const long most = asked == nullptr && ranks() == 2 && how().name == "drop_in" ? 500000 : many;
  for (const bool delays : {false, true}) {
    for (const long largest : {2000, 400000}) {
      const long small = delays ? many / 5 : most;
      const long messages = largest > 2000 ? many / (delays ? 50 : 10) : small;
      const std::string arguments = fmt::format("--messages {} --largest {} --seed {}", messages, largest, ranks());
      const auto ended = run(with(), how(), ranks(), delays ? "traffic_delayed" : "traffic", arguments,
                             delays ? fmt::format("CONFORMANCE_DELAYS={}", largest) : "");
      EXPECT_EQ(ended.status, 0) << arguments << ended.errors;
      EXPECT_EQ(ended.output, expected_traffic(ranks(), arguments)) << arguments << ended.errors;
    }
  }
}

TEST_P(conformance, fortran_programs_hold) {
  for (const char* program : {"fortran_common", "fortran_legacy", "fortran_f08"}) {
    if (!std::filesystem::exists(with().programs + "/" + program)) GTEST_SKIP() << "gfortran is not installed";
    const auto ended = run(with(), how(), ranks(), program, "");
    EXPECT_EQ(ended.status, 0) << program << ended.output << ended.errors;
    EXPECT_THAT(ended.output, ContainsRegex("^fortran/[a-z0-9]+ ok")) << program;
  }
}

// mpi4py: an interpreter, which loads its MPI late. Debian's is built for Open MPI.
TEST_P(conformance, python_programs_hold) {
  if (with().name != "openmpi" || tri::testing::run_command("/usr/bin/python3 -c 'import numpy, mpi4py'").status != 0)
    GTEST_SKIP() << "Debian's python3-mpi4py and python3-numpy are not installed, or it is another MPI's turn";
  const std::string arguments = PYTHON_PROGRAMS "/python_objects.py";
  const auto ended = run(with(), how(), ranks(), "/usr/bin/python3", arguments);
  EXPECT_EQ(ended.status, 0) << ended.output << ended.errors;
  EXPECT_THAT(ended.output, ContainsRegex("^python ok \\([0-9]+ checks\\)\n$"));
  EXPECT_THAT(ended.errors, Not(HasSubstr("trireme"))) << "the drop-in took no part";
}

TEST_P(conformance, applications_compute_what_one_rank_computes) {
  for (const auto& [program, arguments, result] :
       {std::tuple{"halo_exchange", "--extent 16 --steps 6 --variables 3", "as computed by one\n"},
        std::tuple{"five_point", "--rows 70 --columns 90", "as computed by one\n"},
        std::tuple{"get_compute_update", "--blocks 6 --edge 20", "all sums are right\n"},
        std::tuple{"two_stages", "--edge 20 --steps-1 5 --steps-2 12", "all sums are right\n"}}) {
    const auto ended = run(with(), how(), ranks(), with().applications + "/" + program, arguments);
    EXPECT_EQ(ended.status, 0) << program << ended.output << ended.errors;
    EXPECT_THAT(ended.output, HasSubstr("idle share ")) << program;
    EXPECT_THAT(ended.output, EndsWith(result)) << program;
  }
}

// Every rank builds the whole tree from the same positions, so trajectories have the same bits on any number of ranks.
// 900 bodies are divided evenly among 2, 3 and 4 ranks (MPI_Allgather), 901 are not (MPI_Allgatherv).
TEST_P(conformance, bodies_move_as_with_one_rank) {
  for (const std::string bodies : {"900", "901"}) {
    const std::string arguments = "--bodies " + bodies + " --steps 5 --theta 0.7 --verify";
    const auto alone = run(installed[0], modes[0], 1, installed[0].nbody, arguments);
    ASSERT_THAT(alone.output, ContainsRegex("\nverified: .*\nnbody: .* checksum [0-9a-f]{16}\n$")) << alone.errors;
    const std::string result = alone.output.substr(alone.output.find("verified: "));
    for (const int count : {1, ranks()}) {
      if (count == 1 && ranks() != 2) continue;
      const auto ended = run(with(), how(), count, with().nbody, arguments);
      EXPECT_EQ(ended.status, 0) << ended.output << ended.errors;
      EXPECT_THAT(ended.output, EndsWith(result)) << count << " ranks";
      EXPECT_THAT(ended.output, HasSubstr(fmt::format("of {} ranks\nexchange ", count)));
    }
  }
}

TEST_P(conformance, programs_name_the_arguments_that_they_cannot_use) {
  if (ranks() != 2) GTEST_SKIP() << "a matter of two ranks";
  const auto mistaken = run(with(), how(), 2, with().applications + "/five_point", "--row 3");
  EXPECT_EQ(mistaken.status, 2);
  EXPECT_THAT(mistaken.errors, HasSubstr("cannot use '--row 3'. Options, each with a number:\n  --rows "));
  if (how().name != "drop_in") return;
  for (const auto& [program, argument, says] :
       {std::tuple{"busy_target", "creatd", "'creatd' is not one of these"},
        std::tuple{"deaths", "receiving_for_another", "is not one of these: waiting,"},
        std::tuple{"obstacles", "nothin", "'nothin' is not one of these: nothing, "}})
    EXPECT_THAT(run(with(), how(), 2, program, argument).errors, HasSubstr(says));
}

// Windows are intercepted when all ranks reach their memory: then the owner need not call. A private heap is not
// reached.
TEST_P(conformance, owners_of_windows_need_not_call) {
  if (how().exec.empty() || how().has_hosts) GTEST_SKIP() << "the MPI library may ask for calls";
  for (const char* kind : {"created", "allocated", "shared"}) {
    if (kind == std::string("created") && how().name != "drop_in") continue;
    const auto ended = run(with(), how(), ranks(), "busy_target", kind);
    EXPECT_EQ(ended.status, 0) << kind << ended.errors;
    EXPECT_EQ(ended.output, "busy_target ok\n") << kind << ended.errors;
  }
}

// Each process has static data of its own, and messages between two programs are intercepted as well.
TEST_P(conformance, two_programs_of_a_job_exchange_messages) {
  if (ranks() == 8) GTEST_SKIP() << "a matter of few ranks";
  // The colon of the launchers stands between the ranks of each program: one rank each, in turn.
  std::string others;
  for (int rank = 1; rank < ranks(); ++rank)
    others +=
        fmt::format(" : -n 1 {}{}/{}", exec_of(how()), with().programs, rank % 2 == 0 ? "even_program" : "odd_program");
  const auto ended = run(with(), how(), 1, "even_program", others);
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_EQ(ended.output, "two programs: 0 wrong\n") << ended.errors;
  EXPECT_THAT(ended.errors, Not(HasSubstr("are left to "))) << "the drop-in took no part";
}

// The hint is told by the drop-in only; values that it does not know change nothing.
TEST_P(conformance, hints_are_reported_and_data_arrives) {
  const auto ended = run(with(), how(), ranks(), "hints", "");
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_THAT(ended.output, EndsWith("all data arrived\n"));
  if (how().exec.empty()) return;
  EXPECT_EQ(ended.output,
            "nothing was said: random\nlo-to-hi: lo-to-hi\nhi-to-lo: hi-to-lo\nrandom: random\nhi-to-lo: hi-to-lo\n"
            "sideways: hi-to-lo\nlo-to-hi: lo-to-hi\nduplicate of lo-to-hi: lo-to-hi\n"
            "duplicate of lo-to-hi that was begun: lo-to-hi\nduplicate with hi-to-lo: hi-to-lo\nall data arrived\n")
      << ended.errors;
}

// Three times: Open MPI loses a duplication in most runs only.
TEST_P(conformance, duplications_may_be_the_first_calls) {
  for (int time = 0; time < 3; ++time) {
    const auto ended = run(with(), how(), ranks(), "first_calls", "");
    EXPECT_EQ(ended.status, 0) << ended.errors;
    EXPECT_EQ(ended.output, "first calls: 0 wrong\n") << ended.errors;
  }
}

// MPI libraries keep messages without a receive as they like; under the drop-in their senders hold them back.
TEST_P(conformance, floods_stay_in_bounds) {
  if (how().name != "drop_in" && how().name != "cyclic_hosts") GTEST_SKIP() << "the MPI library may keep it all";
  if (ranks() > 3) GTEST_SKIP() << "two and three ranks tell it";
  // Between hosts each message that is held back takes a turn of its own.
  std::vector<std::string> floods = {how().has_hosts ? "24000" : "100000"};
  if (how().has_hosts) floods.emplace_back("1000 200000");  // messages that are pushed
  for (const std::string& flood : floods) {
    const auto ended = run(with(), how(), ranks(), "flood", flood);
    EXPECT_EQ(ended.output, "flood received, in bounds\n") << flood << ended.errors;
    EXPECT_EQ(ended.status, 0) << ended.errors;
  }
}

// Of a program with one thread the library's waits call the drop-in; otherwise a thread polls, as in every_case_holds.
TEST_P(conformance, messages_go_on_while_the_library_waits) {
  if (!how().has_hosts) GTEST_SKIP() << "a matter of several hosts";
  for (const auto& [options, environment] : {std::pair{"--funneled --only blocking_calls/", "OMPI_MCA_osc=pt2pt"},
                                             std::pair{"--only blocking_calls/contended_locks", ""}}) {
    const auto ended =
        run(with(), how(), ranks(), "conformance", fmt::format("{} --hang-limit 100", options), environment);
    EXPECT_EQ(ended.status, 0) << options << ended.errors;
    EXPECT_FALSE(results_of(ended.output).empty()) << options;
    for (const auto& [name, result] : results_of(ended.output))
      EXPECT_THAT(result, StartsWith("ok (")) << options << name << ended.errors;
  }
}

// The same numbers on other ranks: on request the sums have the same bits, those of the true sum.
TEST_P(conformance, sums_are_reproducible_on_request) {
  if (how().name == "plain" || how().name == "no_kernel_copies") GTEST_SKIP() << "a matter of the drop-in";
  mode asked = how();
  asked.exec += " --reproducible-sums";
  // Scans keep the order of ranks: where these are not numbered host by host they are the library's.
  const std::string scans = how().name == "cyclic_hosts" ? "no-scans" : "";
  const auto reproducible = run(with(), asked, ranks(), "reproducible_sums", scans);
  EXPECT_EQ(reproducible.status, 0) << reproducible.errors;
  EXPECT_EQ(reproducible.output, "0 sums differ from the true one\n");
  if (ranks() < 4) return;  // few numbers in few orders
  const auto as_usual = run(with(), how(), ranks(), "reproducible_sums", "no-scans");
  EXPECT_NE(as_usual.output, reproducible.output);
}

// Costs by which everything but a ring is expensive, and the other way round; not one that differs between ranks.
TEST_P(conformance, algorithms_between_hosts_go_with_measured_costs) {
  if (how().name != "two_hosts") GTEST_SKIP() << "a matter of several hosts";
  const tri::testing::temporary_folder folder;
  const std::string cases = "--sizes few --only collectives/ --skip " + left_out(with(), how());
  const auto as_usual = run(with(), how(), ranks(), "conformance", cases);
  ASSERT_EQ(as_usual.status, 0) << as_usual.errors;
  for (const double expensive : {0.0, 1e6}) {
    const std::filesystem::path file = folder.path() / "collectives.tune.json";
    nlohmann::json costs;
    for (const tri::coll::cost_parameter& each : tri::coll::all_cost_parameters()) costs[std::string(each.name)] = 1.0;
    costs["copy_per_byte_ns"] = 1e6 - expensive;
    costs["latency_ns"] = expensive;
    std::ofstream(file) << nlohmann::json{{"trireme_tune_collectives", 1},
                                          {"measured_by", "a test"},
                                          {"assumed", nlohmann::json::array()},
                                          {"costs", costs}};
    mode tuned = how();
    tuned.exec += " --tune-file " + file.string();
    const auto done = run(with(), tuned, ranks(), "conformance", cases);
    EXPECT_EQ(done.status, 0) << done.errors;
    EXPECT_EQ(done.output, as_usual.output);
    EXPECT_EQ(done.errors.find("costs of collectives"), std::string::npos) << done.errors;
  }
  const std::filesystem::path script = folder.path() / "costs_of_each_rank";
  std::ofstream(script) << "#!/bin/sh\nTRIREME_MPI_COLLECTIVE_COSTS=$(echo '" << tri::coll::text_of({})
                        << "' | sed \"s/latency_ns=/&$((1 + ${OMPI_COMM_WORLD_RANK:-$PMI_RANK}))/\")\n"
                        << "export TRIREME_MPI_COLLECTIVE_COSTS\nexec \"$@\"\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  const auto mixed = run(with(), how(), ranks(), script.string(), with().programs + "/conformance " + cases);
  EXPECT_EQ(mixed.status, 0) << mixed.errors;
  EXPECT_EQ(mixed.output, as_usual.output);
  EXPECT_NE(mixed.errors.find("the costs of collectives (--tune-file) are not the same on all ranks"),
            std::string::npos)
      << mixed.errors;
}

}  // namespace
}  // namespace mpi_programs
