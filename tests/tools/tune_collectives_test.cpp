// `trireme tune --collectives` as its users meet it, and the commands that use its file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "support/command_runner.hpp"

namespace tri::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string trireme = TRIREME_COMMAND;

// In mpirun's place: says which MPI it is of, and prints what the measuring program would.
class made_up_launcher {
 public:
  explicit made_up_launcher(const std::string& series) {
    const fs::path file = folder_.path() / "mpirun";
    const std::string version = std::string(SOME_MPI) == "openmpi" ? "mpirun (Open MPI) 4.1" : "HYDRA";
    write_file(file, "#!/bin/sh\nif [ \"$1\" = --version ]; then echo '" + version +
                         "'; exit; fi\nprintf '%s ' \"$@\" > started\ncat <<end\n" + series + "done\nend\n");
    fs::permissions(file, fs::perms::owner_all);
  }
  command_result tune(const std::string& options) const {
    return run_command(folder_.path(), trireme + " tune --collectives " + options);
  }
  const fs::path& folder() const { return folder_.path(); }

 private:
  temporary_folder folder_;
};

// Made of L 50 us, o 2 us, g 3 us, G 0.5 ns; inside a host of 300 ns and copies of 20 ns and 0.1 ns a byte.
const std::string inside =
    "copy/8 20.8 20.8 9999.0\ncopy/1048576 104877.6\nsum/8 21.6\nsum/1048576 209735.2\n"
    "inside/8 320.8\ninside/1048576 105177.6\nsignal 90.0\n";
const std::string between =
    "between/8 54004.0\nbetween/1048576 578288.0\nsend 2000.0\nburst/1 108000.0\nburst/64 297000.0\n";

TEST(tune_collectives, writes_what_it_has_fitted) {
  const made_up_launcher launcher("[host:1] a warning of the launcher\n" + inside + between);
  const command_result done = launcher.tune("./mpirun -n 3 --host a:2,b");
  ASSERT_EQ(done.status, 0) << done.errors;
  EXPECT_THAT(done.output, AllOf(HasSubstr("latency_ns                 50000  L of LogGP"),
                                 Not(HasSubstr("not measured")), HasSubstr("written: collectives.tune.json")));
  EXPECT_THAT(contents_of(launcher.folder() / "started"),
              AllOf(HasSubstr("-n 3 --host a:2,b /"), HasSubstr(" costs ")));
  const json costs = json::parse(contents_of(launcher.folder() / "collectives.tune.json")).at("costs");
  EXPECT_NEAR(costs.at("latency_ns"), 50'000, 1);
  EXPECT_NEAR(costs.at("overhead_ns"), 2'000, 1e-6);
  EXPECT_NEAR(costs.at("gap_ns"), 3'000, 1);
  EXPECT_NEAR(costs.at("per_byte_ns"), 0.5, 1e-4);
  EXPECT_NEAR(costs.at("host_latency_ns"), 300, 1);
  EXPECT_NEAR(costs.at("signal_ns"), 90, 1e-6);
  EXPECT_NEAR(costs.at("copy_start_ns"), 20, 0.1);
  EXPECT_NEAR(costs.at("copy_per_byte_ns"), 0.1, 1e-4);
  EXPECT_NEAR(costs.at("reduce_per_byte_ns"), 0.2, 1e-4);
}

TEST(tune_collectives, says_what_one_host_does_not_show) {
  const made_up_launcher launcher(inside);
  const command_result done = launcher.tune("-o mine.json ./mpirun -n 2");
  ASSERT_EQ(done.status, 0) << done.errors;
  EXPECT_THAT(done.output, AllOf(HasSubstr("All ranks were on one host"), HasSubstr("between hosts (not measured)")));
  const command_result shown =
      run_command(launcher.folder(), trireme + " plan barrier --hosts 2 --ranks 2 --tune-file mine.json");
  EXPECT_THAT(shown.output, HasSubstr("of mine.json, measured by './mpirun -n 2', but for overhead_ns, gap_ns, "
                                      "latency_ns, per_byte_ns)"));
}

// One message between two hosts of one rank: o + L + o, and copies that are next to nothing.
TEST(tune_collectives, gives_plans_and_simulations_their_costs) {
  const made_up_launcher launcher(inside + between);
  ASSERT_EQ(launcher.tune("-q ./mpirun").status, 0);
  const auto shown = [&](const std::string& command) {
    return run_command(launcher.folder(), trireme + " " + command).output;
  };
  const std::string what = " broadcast --hosts 2 --algorithm binomial --tune-file collectives.tune.json";
  EXPECT_THAT(shown("plan" + what),
              AllOf(HasSubstr("critical path            54.0 us\n"),
                    HasSubstr("costs                    L 50.0 us, o 2.00 us, g 3.00 us, 2 GB/s, signal 90.0 ns (of "
                              "collectives.tune.json, measured by './mpirun')")));
  EXPECT_THAT(shown("plan" + what + " --latency 1ms"),
              AllOf(HasSubstr("critical path            1.00 ms\n"), HasSubstr("'./mpirun'; with options)")));
  EXPECT_THAT(shown("sim collective" + what),
              AllOf(HasSubstr("virtual time             54.0 us\n"), HasSubstr("measured by './mpirun')")));
  EXPECT_THAT(shown("plan broadcast --hosts 2"), HasSubstr("(assumed, not measured)"));
}

TEST(tune_collectives, a_launcher_that_starts_nothing_writes_no_file) {
  const made_up_launcher launcher("");
  const command_result done = launcher.tune("./mpirun");
  EXPECT_NE(done.status, 0);
  EXPECT_THAT(done.errors, HasSubstr("'./mpirun' measured nothing; a launcher of MPI is needed"));
  EXPECT_FALSE(fs::exists(launcher.folder() / "collectives.tune.json"));
}

TEST(tune_collectives, exec_takes_files_that_say_what_hosts_cost) {
  const made_up_launcher launcher(inside);
  ASSERT_EQ(launcher.tune("./mpirun").status, 0);
  const auto errors_of = [&](const std::string& file) {
    return run_command(launcher.folder(), "OMPI_COMM_WORLD_SIZE=1 " + trireme + " exec --tune-file " + file + " true")
        .errors;
  };
  EXPECT_THAT(errors_of("collectives.tune.json"),
              HasSubstr("--tune-file: 'collectives.tune.json' does not say what messages between hosts cost"));
  EXPECT_THAT(
      errors_of("nowhere.json"),
      HasSubstr("--tune-file: 'nowhere.json' cannot be read: No such file or directory; `trireme tune` writes it"));
}

TEST(tune_collectives, refuses_what_it_cannot_use) {
  const made_up_launcher launcher("odd/8 3.0\n");
  EXPECT_THAT(launcher.tune("./mpirun").errors, HasSubstr("the measuring program printed 'odd/8', which is not known"));
  EXPECT_THAT(launcher.tune("--omp ./mpirun").errors,
              HasSubstr("--omp is not for --collectives, which takes -o and -q"));
  write_file(launcher.folder() / "bad.json", "{}");
  const auto refused = [&](const std::string& file) {
    return run_command(launcher.folder(), trireme + " plan barrier --tune-file " + file).errors;
  };
  EXPECT_THAT(refused("nowhere"),
              HasSubstr("--tune-file: 'nowhere' cannot be read; `trireme tune --collectives` writes"));
  EXPECT_THAT(refused("bad.json"), HasSubstr("--tune-file: 'bad.json': it was not written by this version of"));
  write_file(launcher.folder() / "bad.json",
             R"({"trireme_tune_collectives": 1, "measured_by": "", "assumed": [], "costs": {"latency_ns": -1}})");
  EXPECT_THAT(refused("bad.json"), HasSubstr("latency_ns is -1; it must be 0 or more"));
}

// The real measuring program, with two ranks of this host.
TEST(tune_collectives, measures_ranks_of_one_host) {
  const temporary_folder folder;
  const command_result done =
      run_command(folder.path(), "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_pml=ob1\n" +
                                     trireme + " tune --collectives " SOME_MPIRUN " -n 2");
  ASSERT_EQ(done.status, 0) << done.errors;
  const json file = json::parse(contents_of(folder.path() / "collectives.tune.json"));
  EXPECT_EQ(file.at("assumed").size(), 4u) << file;
  for (const char* name : {"signal_ns", "copy_per_byte_ns", "reduce_per_byte_ns"})
    EXPECT_GT(file.at("costs").at(name).get<double>(), 0) << name;
}

}  // namespace
}  // namespace tri::testing
