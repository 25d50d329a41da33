// The programs as a user runs them: md gives the same bytes as md_serial on any number of threads and processes,
// continues restarts, and explains bad input. Each test works in a folder of its own and looks at what is left there.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "support/command_runner.hpp"

namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const std::string data = std::string(MD_DATA_DIR) + "/melt.data";

struct outcome : tri::testing::command_result {
  std::string table() const {
    const std::size_t begin = output.find("Step ");
    const std::size_t end = output.find("Loop time");
    return begin == std::string::npos || end == std::string::npos ? "no table in: " + output
                                                                  : output.substr(begin, end - begin);
  }
};

class program : public testing::Test {
 protected:
  outcome run(const std::string& command) const {
    return {tri::testing::run_with_one_stream("cd '" + folder_.path().string() + "' && timeout 100 " + command)};
  }
  outcome serial(const std::string& arguments) const { return run(MD_SERIAL_PROGRAM " " + arguments); }
  outcome threads(int pes, const std::string& arguments) const {
    return run(MD_PROGRAM " " + arguments + " --tri-pes " + std::to_string(pes));
  }
  outcome processes(int count, int pes, const std::string& arguments, int hosts = 1) const {
    return run(TRIREME_PROGRAM " run -n " + std::to_string(count) + " --pes " + std::to_string(pes) +
               " " MD_PROGRAM " " + arguments + " --tri-hosts " + std::to_string(hosts));
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()));
  }
  std::string file(const std::string& name) const { return tri::testing::contents_of(folder_.path() / name); }

  /// Runs both programs with the arguments and compares everything that they produce.
  void expect_same_as_serial(const std::function<outcome(const std::string&)>& parallel, const std::string& arguments) {
    const outcome expected = serial(arguments + " --restart-out serial.restart --dump serial.dump");
    ASSERT_EQ(expected.status, 0) << expected.output;
    const outcome got = parallel(arguments + " --restart-out md.restart --dump md.dump");
    ASSERT_EQ(got.status, 0) << got.output;
    EXPECT_EQ(got.table(), expected.table());
    EXPECT_TRUE(file("md.restart") == file("serial.restart"));
    EXPECT_TRUE(file("md.dump") == file("serial.dump"));
    EXPECT_GT(file("md.dump").size(), 30000U);
    EXPECT_EQ(files(), 4U);
  }

  tri::testing::temporary_folder folder_;
};

const std::string short_run = "--data " + data + " --steps 45 --thermo 20 --thermo-digits 17 --dump-every 25";

struct layout {
  int processes;  ///< 0: threads of this program, without a launcher
  int pes;
  int hosts = 1;
};

class layouts : public program, public testing::WithParamInterface<layout> {};

TEST_P(layouts, same_bytes_as_the_serial_program) {
  const auto [count, pes, hosts] = GetParam();
  expect_same_as_serial(
      [&, count = count, pes = pes, hosts = hosts](const std::string& arguments) {
        return count == 0 ? threads(pes, arguments) : processes(count, pes, arguments, hosts);
      },
      short_run + " --dump-format lammps");
}

INSTANTIATE_TEST_SUITE_P(threads, layouts, testing::Values(layout{0, 1}, layout{0, 2}, layout{0, 3}, layout{0, 4}),
                         [](const auto& each) { return std::to_string(each.param.pes); });
INSTANTIATE_TEST_SUITE_P(processes, layouts, testing::Values(layout{2, 1}, layout{2, 2}, layout{3, 1}),
                         [](const auto& each) {
                           return std::to_string(each.param.processes) + "x" + std::to_string(each.param.pes);
                         });
// Pretend hosts: they share no memory, and talk through the wire.
INSTANTIATE_TEST_SUITE_P(hosts, layouts, testing::Values(layout{2, 1, 2}, layout{4, 1, 2}, layout{3, 2, 3}),
                         [](const auto& each) {
                           return std::to_string(each.param.processes) + "x" + std::to_string(each.param.pes) + "_on_" +
                                  std::to_string(each.param.hosts);
                         });

// Charged atoms: the charge mesh is cut into objects in any way.
struct charged_layout {
  layout where;
  const char* patches;
  const char* more;
};

class charged_layouts : public program, public testing::WithParamInterface<charged_layout> {};

const std::string salt_run = "--data " + std::string(MD_DATA_DIR) +
                             "/salt.data --cutoff 2.5 --dt 0.002 --reneighbor-every 10 --thermo 10 --thermo-digits 17 "
                             "--dump-every 15 --dump-format lammps ";
const std::string coarse = "--pme-tolerance 1e-3 ";

bool lacks_fftw(const outcome& got) { return got.output.find("was built without FFTW") != std::string::npos; }

TEST_P(charged_layouts, same_bytes_as_the_serial_program) {
  const auto& [where, patches, more] = GetParam();
  if (lacks_fftw(serial(salt_run + "--steps 0"))) GTEST_SKIP() << "built without FFTW (scripts/deps.sh build)";
  fs::remove_all(folder_.path());
  fs::create_directory(folder_.path());
  expect_same_as_serial(
      [&, w = where](const std::string& arguments) {
        return w.processes == 0 ? threads(w.pes, arguments) : processes(w.processes, w.pes, arguments, w.hosts);
      },
      salt_run + "--steps 25 --patches " + patches + " " + more);
}

INSTANTIATE_TEST_SUITE_P(
    all, charged_layouts,
    testing::Values(charged_layout{{0, 1}, "1 1 1", "--pme-tolerance 1e-3"},
                    charged_layout{{0, 2}, "3 2 4", "--pme-tolerance 1e-3"},
                    charged_layout{{0, 3}, "2 1 4", "--pme-slabs 5 --pme-order 4 --pme-tolerance 1e-2 --barrier"},
                    charged_layout{{0, 4}, "3 2 4", "--pme-slabs 100 --pme-tolerance 1e-3 --check --skin 0.2"},
                    charged_layout{{2, 1}, "3 2 4", "--pme-slabs 3 --pme-tolerance 1e-3"},
                    charged_layout{{3, 1}, "1 2 3", "--electrostatics cutoff --barrier"},
                    charged_layout{{4, 1, 2}, "3 2 4", "--pme-grid 18 16 20"}),
    [](const auto& each) { return "case" + std::to_string(each.index); });

TEST_F(program, continues_a_charged_restart_bit_for_bit) {
  const outcome whole = threads(2, salt_run + coarse + "--steps 25 --restart-out whole.restart");
  if (lacks_fftw(whole)) GTEST_SKIP() << "built without FFTW (scripts/deps.sh build)";
  ASSERT_EQ(whole.status, 0) << whole.output;
  ASSERT_EQ(threads(1, salt_run + coarse + "--steps 13 --restart-out half.restart").status, 0);
  const outcome rest = processes(2, 1, "--restart-in half.restart --steps 12 --restart-out end.restart");
  ASSERT_EQ(rest.status, 0) << rest.output;
  EXPECT_TRUE(file("end.restart") == file("whole.restart"));
}

// Every object moves to another PE, also of another process and host, three times in the run: no bit changes.
class moved_objects : public program, public testing::WithParamInterface<charged_layout> {};

TEST_P(moved_objects, give_the_same_bytes) {
  const auto& [where, patches, more] = GetParam();
  if (lacks_fftw(serial(salt_run + "--steps 0 --pme-tolerance 1e-3"))) GTEST_SKIP() << "built without FFTW";
  fs::remove_all(folder_.path());
  fs::create_directory(folder_.path());
  expect_same_as_serial(
      [&, w = where](const std::string& arguments) {
        const outcome got =
            w.processes == 0 ? threads(w.pes, arguments) : processes(w.processes, w.pes, arguments, w.hosts);
        EXPECT_THAT(got.output, HasSubstr("3 balancings by "));
        return got;
      },
      salt_run + "--steps 35 --balance-every 10 --patches " + patches + " " + more);
}

INSTANTIATE_TEST_SUITE_P(
    all, moved_objects,
    testing::Values(charged_layout{{0, 2}, "3 2 4", "--balance scatter --pme-tolerance 1e-3"},
                    charged_layout{{0, 3}, "3 2 4", "--balance greedy --pme-tolerance 1e-3 --pme-slabs 7"},
                    charged_layout{{2, 1}, "3 2 4", "--balance scatter --pme-tolerance 1e-3 --pme-slabs 5"},
                    charged_layout{{3, 2}, "2 2 4", "--balance scatter --electrostatics cutoff --barrier"},
                    charged_layout{{2, 2}, "3 2 4", "--balance curve --pme-tolerance 1e-3"},
                    charged_layout{{4, 1, 2}, "3 2 4", "--balance scatter --pme-tolerance 1e-3"},
                    charged_layout{{4, 1, 2}, "3 2 4", "--balance greedy --electrostatics cutoff"}),
    [](const auto& each) { return "case" + std::to_string(each.index); });

// Which step builds lists is found out on the way.
TEST_F(program, moves_objects_at_checked_list_builds) {
  expect_same_as_serial(
      [&](const std::string& arguments) {
        const outcome got = processes(2, 2, arguments);
        EXPECT_THAT(got.output, HasSubstr("balancings by scatter"));
        return got;
      },
      "--data " + data +
          " --thermo-digits 17 --steps 45 --dump-every 25 --check --reneighbor-every 1 --balance scatter "
          "--balance-every 5");
}

TEST_F(program, droplet_runs_balanced_and_not) {
  const std::string droplet =
      "--system droplet --droplet-radius 5 --droplet-box 24 --droplet-place 0.25 --droplet-speed 2 --steps 60 "
      "--thermo-digits 17 --dump-every 60 --dump-format lammps ";
  expect_same_as_serial([&](const std::string& arguments) { return threads(2, arguments); }, droplet);
  fs::remove_all(folder_.path());
  fs::create_directory(folder_.path());
  expect_same_as_serial(
      [&](const std::string& arguments) {
        const outcome got = processes(2, 1, arguments);
        EXPECT_THAT(got.output, HasSubstr("2 balancings by refine moved "));
        EXPECT_THAT(got.output, testing::Not(HasSubstr("moved 0 objects")));
        return got;
      },
      droplet + "--placement volume --balance refine --balance-every 20 ");
}

TEST_F(program, explains_balancings_and_systems_that_cannot_be) {
  EXPECT_THAT(threads(2, "--data " + data + " --balance refin").output, HasSubstr("md: "));
  EXPECT_THAT(threads(2, "--data " + data + " --balance refin").output, HasSubstr("refine"));
  EXPECT_THAT(threads(2, "--data " + data + " --balance-every 5").output,
              HasSubstr("--balance-every and --balance-first need --balance"));
  EXPECT_THAT(serial("--system droplet --droplet-radius 20 --droplet-box 30").output,
              HasSubstr("its diameter must be smaller than the box"));
  EXPECT_THAT(serial("--system droplet --data " + data).output, HasSubstr("more than one was given"));
  EXPECT_THAT(serial("--data " + data + " --droplet-box 30").output, HasSubstr("are for --system droplet"));
}

// Four processes under the launchers of MPI libraries.
class launchers : public program, public testing::WithParamInterface<const char*> {};

TEST_P(launchers, same_bytes_as_the_serial_program) {
  if (*GetParam() == 0) GTEST_SKIP() << "this MPI is not installed (scripts/deps.sh test), or not for sanitizers";
  expect_same_as_serial(
      [&](const std::string& arguments) {
        return run(std::string(GetParam()) + " -n 4 " MD_PROGRAM " " + arguments + " --tri-pes 1");
      },
      short_run + " --dump-format lammps");
}

// Two emulated hosts whose messages MPI carries. Its library is not built for the sanitizers.
TEST_P(launchers, same_bytes_as_the_serial_program_over_mpi) {
  if (*GetParam() == 0 || !WIRE_OVER_MPI) GTEST_SKIP() << "there is no wire over this MPI in this build";
  expect_same_as_serial(
      [&](const std::string& arguments) {
        return run(std::string(GetParam()) + " -n 4 " MD_PROGRAM " " + arguments +
                   " --tri-pes 1 --tri-hosts 2 --tri-wire mpi");
      },
      short_run + " --dump-format lammps");
}

INSTANTIATE_TEST_SUITE_P(of_mpis, launchers, testing::Values(START_OPENMPI, START_MPICH),
                         [](const auto& each) { return each.index == 0 ? "openmpi" : "mpich"; });

// Real ones: network namespaces with a cable between them, each with an agent of the launcher.
struct launch {
  const char* launcher;
  const char* installed;  ///< Empty: this MPI is not here, or not for sanitizers.
  int processes;
  const char* wire;
};

class network_namespaces : public program, public testing::WithParamInterface<launch> {};

TEST_P(network_namespaces, same_bytes_as_the_serial_program) {
  const auto& [launcher, installed, processes, wire] = GetParam();
  if (*installed == 0) GTEST_SKIP() << "this MPI is not installed (scripts/deps.sh test), or not for sanitizers";
  if (wire == std::string("mpi") && !WIRE_OVER_MPI) GTEST_SKIP() << "there is no wire over this MPI in this build";
  const outcome expected = serial(short_run + " --dump-format lammps --restart-out serial.restart --dump serial.dump");
  ASSERT_EQ(expected.status, 0) << expected.output;
  const std::string count = std::to_string(processes);
  const outcome got =
      run(std::string(MD_TWO_HOSTS " " MD_BUILD " --launcher ") + launcher + " -n " + count + " " + short_run +
          " --dump-format lammps --restart-out md.restart --dump md.dump --tri-wire " + wire);
  if (got.status == 77) GTEST_SKIP() << got.output;
  ASSERT_EQ(got.status, 0) << got.output;
  EXPECT_EQ(got.table(), expected.table());
  EXPECT_TRUE(file("md.restart") == file("serial.restart"));
  EXPECT_TRUE(file("md.dump") == file("serial.dump"));
  EXPECT_THAT(got.output, HasSubstr(count + " PEs in " + count + " processes"));
}

INSTANTIATE_TEST_SUITE_P(
    two, network_namespaces,
    testing::Values(launch{"trireme", "always", 2, "ucx"}, launch{"trireme", "always", 4, "ucx"},
                    launch{"trireme", "always", 4, "tcp"}, launch{"mpich", START_MPICH, 4, "tcp"},
                    launch{"openmpi", START_OPENMPI, 4, "ucx"}, launch{"openmpi", START_OPENMPI, 4, "mpi"},
                    launch{"mpich", START_MPICH, 4, "ucx"}, launch{"mpich", START_MPICH, 4, "mpi"}),
    [](const auto& each) {
      return std::string(each.param.launcher) + "_" + std::to_string(each.param.processes) + "_" + each.param.wire;
    });

// The cable is pulled out in the middle. For a moment: nothing is lost. For good: each side ends its processes, and
// says why.
class cables : public network_namespaces {};

// Enough to be under way still when the cable goes out (two_hosts.sh fails where they are not), and no more: the thread
// sanitizer makes each step 50 times as long.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int interrupted_steps = 300;
#else
constexpr int interrupted_steps = 600;
#endif

TEST_P(cables, a_short_interruption_changes_nothing) {
  const auto& [launcher, installed, processes, wire] = GetParam();
  const std::string steps =
      " --steps " + std::to_string(interrupted_steps) + " --thermo " + std::to_string(interrupted_steps / 3);
  if (*installed == 0) GTEST_SKIP() << "this MPI is not installed (scripts/deps.sh test), or not for sanitizers";
  const outcome expected = serial("--data " + data + steps + " --thermo-digits 17");
  ASSERT_EQ(expected.status, 0) << expected.output;
  const outcome got = run(std::string(MD_TWO_HOSTS " " MD_BUILD " --launcher ") + launcher + " --unplug 0,0.4 --data " +
                          data + steps + " --thermo-digits 17 --tri-stall-report-s 60 --tri-wire " + wire);
  if (got.status == 77) GTEST_SKIP() << got.output;
  ASSERT_EQ(got.status, 0) << got.output;
  EXPECT_EQ(got.table(), expected.table());
}

TEST_P(cables, one_that_stays_out_ends_the_job) {
  const auto& [launcher, installed, processes, wire] = GetParam();
  if (*installed == 0) GTEST_SKIP() << "this MPI is not installed (scripts/deps.sh test), or not for sanitizers";
  // Open MPI's mpirun waits for its daemon on the other host, which nobody can reach before the cable is back.
  const std::string when = launcher == std::string("openmpi") ? "0.2,2.8" : "0.2";
  const outcome got = run(std::string(MD_TWO_HOSTS " " MD_BUILD " --launcher ") + launcher + " -n " +
                          std::to_string(processes) + " --unplug " + when + " --data " + data +
                          " --steps 100000000 --tri-peer-timeout-s 1 --tri-stall-report-s 60 --tri-wire " + wire);
  if (got.status == 77) GTEST_SKIP() << got.output;
  EXPECT_NE(got.status, 0);
  EXPECT_NE(got.status, 124) << "it had to be ended by force: " << got.output;
  EXPECT_THAT(got.output,
              testing::ContainsRegex("process [0-9]+ on [a-z][-a-z0-9_]*[0-9]+[-a-z0-9_]* has failed: nothing "
                                     "has been heard of it for 1 s .--tri-peer-timeout-s."));
}

INSTANTIATE_TEST_SUITE_P(between, cables,
                         testing::Values(launch{"trireme", "always", 2, "ucx"}, launch{"trireme", "always", 2, "tcp"},
                                         launch{"openmpi", START_OPENMPI, 4, "ucx"},
                                         launch{"mpich", START_MPICH, 4, "ucx"}),
                         [](const auto& each) { return std::string(each.param.launcher) + "_" + each.param.wire; });

class grids : public program, public testing::WithParamInterface<const char*> {};

// One and two patches in a direction meet themselves and each other through several images; with more, some are
// unequally shared.
TEST_P(grids, same_bytes_as_the_serial_program) {
  expect_same_as_serial([&](const std::string& arguments) { return threads(3, arguments); },
                        short_run + " --reneighbor-every 5 --check --patches " + GetParam());
}

INSTANTIATE_TEST_SUITE_P(of_patches, grids, testing::Values("1 1 1", "1 1 2", "3 2 1", "5 4 3"), [](const auto& each) {
  std::string name;
  for (const char c : std::string(each.param)) {
    if (c != ' ') name += c;
  }
  return name;
});

TEST_F(program, continues_a_restart_on_other_pes_bit_for_bit) {
  const std::string settings = " --thermo-digits 17 --reneighbor-every 10";
  const outcome whole = threads(1, "--data " + data + settings + " --steps 60 --restart-out whole.restart");
  ASSERT_EQ(whole.status, 0) << whole.output;
  // 33 steps end between two list builds.
  ASSERT_EQ(threads(2, "--data " + data + settings + " --steps 33 --restart-out half.restart").status, 0);
  const outcome rest =
      processes(2, 1, "--restart-in half.restart --thermo-digits 17 --steps 27 --restart-out end.restart");
  ASSERT_EQ(rest.status, 0) << rest.output;
  EXPECT_TRUE(file("end.restart") == file("whole.restart"));
  const auto last_row = [](const outcome& o) {
    const std::string table = o.table();
    return table.substr(table.find("\n      60 "));
  };
  EXPECT_EQ(last_row(rest), last_row(whole));
}

TEST_F(program, writes_restarts_on_the_way_without_changing_the_run) {
  const std::string arguments = "--data " + data + " --steps 40 --restart-out md.restart";
  ASSERT_EQ(threads(2, arguments + " --restart-every 15").status, 0);
  const std::string with = file("md.restart");
  ASSERT_EQ(threads(2, arguments).status, 0);
  EXPECT_TRUE(with == file("md.restart"));
}

TEST_F(program, runs_no_steps) {
  const outcome none = threads(2, "--data " + data + " --steps 0");
  EXPECT_EQ(none.status, 0);
  EXPECT_THAT(none.output, HasSubstr("       0            3   -6.7733681            0   -2.2744931   -3.7033504"));
}

TEST_F(program, shows_progress_only_when_asked) {
  const std::string arguments = "--data " + data + " --steps 30";
  EXPECT_THAT(threads(2, arguments + " --progress").output, HasSubstr("step 30 of 30 (100 %)"));
  EXPECT_THAT(threads(2, "--data " + data + " --steps 20").output, testing::Not(HasSubstr(" of 20 (")));
}

TEST_F(program, explains_bad_input_and_leaves_nothing_behind) {
  const auto expect_error = [&](const outcome& got, const std::string& message) {
    EXPECT_EQ(got.status, 1) << got.output;
    EXPECT_THAT(got.output, HasSubstr(message));
  };
  const std::string output = " --dump md.dump --restart-out md.restart";
  expect_error(threads(2, "--data " + data + " --step 5" + output),
               "md: unknown option '--step'; did you mean --steps?");
  expect_error(threads(2, "--data missing.data" + output), "missing.data");
  expect_error(threads(2, "--data " + data + " --tri-pse 2" + output),
               "unknown option --tri-pse; did you mean --tri-pes?");
  expect_error(processes(2, 1, "--data " + data + " --patches 9 1 1" + output), "at most 5 fit");
  EXPECT_EQ(files(), 0U);
  expect_error(threads(2, "--data " + data + " --dump nowhere/md.dump"),
               "cannot open trajectory file 'nowhere/md.dump'");
  EXPECT_EQ(files(), 0U);

  std::ifstream in(data);
  std::ofstream out(folder_.path() / "bad.data");
  std::string line;
  for (int number = 1; number <= 60 && std::getline(in, line); ++number)
    out << (number == 40 ? "x" : "") << line << '\n';
  out.close();
  expect_error(threads(2, "--data bad.data" + output), "md: bad.data:40: 'x25' is not an integer (atom id)");
  expect_error(processes(2, 1, "--data bad.data" + output), "bad.data:40: 'x25' is not an integer (atom id)");
  expect_error(serial("--data bad.data" + output), "md_serial: bad.data:40: ");
  EXPECT_EQ(files(), 1U);
}

TEST_F(program, explains_charges_that_cannot_be_computed_with) {
  const auto error_of = [&](const std::string& arguments) { return serial(arguments).output; };
  EXPECT_THAT(error_of("--data " + data + " --electrostatics pme"), HasSubstr("no atom has a charge"));
  EXPECT_THAT(error_of(salt_run + coarse + "--electrostatics cutoff"), HasSubstr("cutoff was given"));
  EXPECT_THAT(error_of(salt_run + "--pme-order 5"), HasSubstr("5 not in {4,6,8}"));
  EXPECT_THAT(error_of(salt_run + "--pme-alpha 0"), HasSubstr("expected a number larger than 0"));
}

TEST_F(program, explains_a_simulation_that_blows_up) {
  for (const outcome& got :
       {threads(2, "--data " + data + " --dt 0.5"), processes(2, 1, "--data " + data + " --dt 0.5")}) {
    EXPECT_EQ(got.status, 1) << got.output;
    EXPECT_THAT(got.output, HasSubstr("use a smaller time step (--dt)"));
  }
  EXPECT_EQ(files(), 0U);
}

}  // namespace
