// How programs start and end: ranks without the drop-in, limits, resources that are refused, profiling layers, errors,
// deaths, core files.
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "mpi/conformance/conformance_run.hpp"
#include "support/command_runner.hpp"
#include "support/core_file.hpp"

namespace mpi_programs {
namespace {

using testing::ContainsRegex;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Where the launcher says that all ranks are here they agree by themselves in MPI_Init, else by the library; and where
// some run without us, the others do, too, and say why.
TEST_P(conformance, ranks_exchange_at_start_by_themselves_or_by_the_library) {
  if (how().name != "drop_in" || ranks() != 3) GTEST_SKIP() << "a matter of the drop-in, with three ranks";
  const std::string taken = exec_of(how()) + with().programs + "/bootstrap";
  const auto start = [&](int first, const std::string& words) {
    return run(with(), modes[0], first, "/usr/bin/env", words);
  };
  const auto met = start(3, taken);
  EXPECT_EQ(met.status, 0) << met.errors;
  EXPECT_EQ(met.output, "no collective operations, 0 wrong\n");
  const auto several_hosts = start(3, "MPI_LOCALNRANKS=2 OMPI_COMM_WORLD_LOCAL_SIZE=2 " + taken);
  EXPECT_EQ(several_hosts.status, 0) << several_hosts.errors;
  EXPECT_EQ(several_hosts.output, "collective operations, 0 wrong\n");
  for (const auto& each : {met, several_hosts})
    EXPECT_THAT(each.errors, Not(HasSubstr("are left to "))) << "the drop-in took no part";

  const std::string arguments = "--messages 50 --largest 20000 --seed 4";
  const std::string traffic = with().programs + "/traffic " + arguments;
  const std::string taken_traffic = exec_of(how()) + traffic;
  const auto last_without = start(2, taken_traffic + " : -n 1 " + traffic);
  EXPECT_THAT(last_without.errors, HasSubstr("rank 0: only 2 of 3 ranks connected"));
  // Nothing can come that is worth to wait for.
  const auto first_without = start(1, traffic + " : -n 2 /usr/bin/env TRIREME_MPI_START_TIMEOUT=1 " + taken_traffic);
  EXPECT_THAT(first_without.errors, HasSubstr("rank 1: rank 0 did not accept a connection"));
  for (const auto& each : {last_without, first_without}) {
    EXPECT_EQ(each.status, 0) << each.errors;
    EXPECT_EQ(each.output, expected_traffic(3, arguments));
    EXPECT_THAT(each.errors, HasSubstr("all messages are left to "));
  }
  // As far as these ranks know there are others on other hosts, which they can only wait for.
  const auto host_without = start(2, "MPI_LOCALNRANKS=2 OMPI_COMM_WORLD_LOCAL_SIZE=2 TRIREME_MPI_START_TIMEOUT=1 " +
                                         taken_traffic + " : -n 1 " + traffic);
  EXPECT_NE(host_without.status, 0);
  EXPECT_THAT(host_without.errors,
              HasSubstr("has waited 1 s in MPI_Init for other ranks of the job (TRIREME_MPI_START_TIMEOUT); 'trireme "
                        "exec' must stand before every program of the job"));
}

// A call of the program's own layer and one of ours would never meet: the library carries everything, and says so.
TEST_P(conformance, a_profiling_layer_inside_the_program_still_works) {
  if (how().exec.empty()) GTEST_SKIP() << "a matter of the drop-in";
  const auto ended = run(with(), how(), ranks(), "wrapped", "");
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_EQ(ended.output, fmt::format("token {0}, {0} messages\n", 20 * ranks()));
  EXPECT_THAT(ended.errors, HasSubstr("MPI_Send is "));
  EXPECT_THAT(ended.errors, HasSubstr("in front of the drop-in (a profiling layer); all messages are left to "));
}

// One line says why, however many ranks there are, and the program runs as it does alone.
TEST_P(conformance, limits_leave_the_messages_to_the_library) {
  if (how().name != "drop_in" || ranks() != 3) GTEST_SKIP() << "a matter of the drop-in's start";
  const std::string arguments = "--messages 100 --largest 20000 --seed 1";
  const std::string expected = expected_traffic(ranks(), arguments);
  // The launcher lives with these limits, too.
  for (const auto& [limit, says] :
       {std::pair{"-f 1000000", "the limit of file sizes (ulimit -f) is "},
        std::pair{"-v 3000000",
                  "a limit such as 'ulimit -v' forbids it; each of 3 ranks maps 192 GiB and the "
                  "heaps; raise it: ulimit -v unlimited)"}}) {
    const auto ended = run(with(), how(), ranks(), "traffic", arguments, fmt::format("; ulimit {}", limit));
    EXPECT_EQ(ended.status, 0) << limit << ended.errors;
    EXPECT_EQ(ended.output, expected) << limit;
    EXPECT_THAT(ended.errors, HasSubstr(says));
    EXPECT_THAT(ended.errors, Not(HasSubstr("--tri-"))) << "an MPI program has no options of ours";
    const std::size_t first = ended.errors.find("are left to ");
    ASSERT_NE(first, std::string::npos) << ended.errors;
    EXPECT_EQ(ended.errors.find("are left to ", first + 1), std::string::npos) << ended.errors;
  }
}

// Beginnings and ends. With two ranks; what launchers say of them is theirs.
TEST_P(conformance, programs_end_as_they_should) {
  if (ranks() != 2) GTEST_SKIP() << "a matter of two ranks";
  const auto ended = [&](const std::string& way) { return run(with(), how(), 2, "endings", way); };
  EXPECT_EQ(ended("before_and_after").output, "before 1 between 1 same 1 after 1\n");
  EXPECT_EQ(ended("farewell").output, "farewell: ended 0, from 1\n");
  const auto with_last_requests = ended("last_requests");
  EXPECT_EQ(with_last_requests.output, "last requests ok\n");
  EXPECT_EQ(with_last_requests.status, 0);
  const auto unmatched = ended("unmatched");
  EXPECT_THAT(unmatched.output, StartsWith("to the end\n"));
  EXPECT_EQ(unmatched.status, 0);
  EXPECT_EQ(ended("status").status, 5);
  for (const char* name : {"single", "funneled", "serialized", "multiple"}) {
    const auto asked = ended(name);
    EXPECT_EQ(asked.status, 0) << name << asked.errors;
    EXPECT_THAT(asked.output, ContainsRegex("^level [0-9] ok\n$")) << name;
  }
  EXPECT_EQ(ended("aborted").status, 7);
  // The call that the drop-in took, which the library's own message cannot name.
  const std::string failed = "trireme mpi: rank 1: ";
  const bool by_drop_in = !how().exec.empty();
  const std::map<std::string, std::string> told{
      {"aborted", ""},
      {"killed", ""},
      {"fatal_error", failed + "MPI_Recv on communicator 'MPI_COMM_WORLD' failed: .*[Tt]runcate"},
      {"fatal_error_in_list", failed + "MPI_Waitall on communicator 'MPI_COMM_WORLD' failed: .*[Tt]runcate"},
      {"fatal_error_of_window", failed + "MPI_Put on window 'halo' failed: .*rank"}};
  for (const auto& [way, line] : told) {
    const auto bad = ended(way);
    EXPECT_NE(bad.status, 0) << way;
    EXPECT_THAT(bad.output, Not(HasSubstr("never reached"))) << way;
    EXPECT_THAT(bad.errors, ContainsRegex(by_drop_in ? line : "")) << way;
  }
}

TEST(trireme_run, says_that_mpi_programs_have_launchers_of_their_own) {
  for (const mpi& each : installed) {
    const std::string program = each.programs + "/endings";
    const auto two =
        tri::testing::run_command(fmt::format("{} run -n 2 {} before_and_after", TRIREME_COMMAND, program));
    EXPECT_THAT(two.errors, HasSubstr(program + " is an MPI program: each of its 2 processes will be an MPI job of its "
                                                "own, of one rank; start it by `mpirun -n 2 trireme exec "));
    const auto one = tri::testing::run_command(fmt::format("{} run {} before_and_after", TRIREME_COMMAND, program));
    EXPECT_THAT(one.errors, Not(HasSubstr("is an MPI program")));
  }
}

// Processes of a job, known by a variable that they inherit.
std::vector<std::string> processes_of(const std::string& job) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string environment = tri::testing::contents_of(entry.path() / "environ");
    if (environment.find("CONFORMANCE_JOB=" + job) != std::string::npos)
      found.push_back(name + " " + tri::testing::contents_of(entry.path() / "comm"));
  }
  return found;
}

std::set<std::string> names_in(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_directory()) names.insert(entry.path());
  }
  return names;
}

// System V segments whose maker has gone.
std::set<std::string> ownerless_segments() {
  std::set<std::string> found;
  std::ifstream lines("/proc/sysvipc/shm");
  std::string line;
  std::getline(lines, line);
  for (std::string key, id, mode, size, maker; std::getline(lines, line);) {
    std::istringstream(line) >> key >> id >> mode >> size >> maker;
    if (!std::filesystem::exists("/proc/" + maker)) found.insert(id);
  }
  return found;
}

// Whoever dies, wherever it is - a rank that waits, one that holds the lock of its own inbox or of another's, one
// that moves data for others, the launcher -: the job ends, somebody says so, and nothing is left. The time limit is
// one against hangs.
TEST_P(conformance, deaths_end_the_job_and_leave_nothing) {
  if (ranks() != 3) GTEST_SKIP() << "a matter of three ranks";
  for (const std::string when :
       {"waiting", "receiving", "receiving_for_another", "moving_for_another", "in_a_collective", "launcher"}) {
    const bool launcher_dies = when == "launcher";
    const tri::testing::temporary_folder files;
    const std::string job = fmt::format("{}.{}", getpid(), when);
    const auto segments_before = ownerless_segments();
    mpi starter = with();
    starter.launcher =
        fmt::format("timeout 300 sh -c 'export CONFORMANCE_LAUNCHER=$$; exec {} \"$@\"' launcher", starter.launcher);
    // The launcher kills at once those that are left, or asks them to end first.
    const auto ended = run(starter, how(), ranks(), "deaths", when,
                           fmt::format("CONFORMANCE_JOB={0} TMPDIR={1} OMPI_MCA_btl_vader_backing_directory={1} "
                                       "OMPI_MCA_odls_base_sigkill_timeout={2}",
                                       job, files.path().string(), how().name == "drop_in" ? 1 : 0));
    EXPECT_NE(ended.status, 0) << when;
    EXPECT_NE(ended.status, 124) << when << ": the job did not end";
    EXPECT_THAT(ended.output, Not(HasSubstr("never reached"))) << when;
    if (!launcher_dies) {
      EXPECT_THAT(ended.output + ended.errors, ContainsRegex("[Ss]ignal 9|SIGNAL: 9")) << when << ended.errors;
    }
    std::vector<std::string> left = processes_of(job);
    for (int tenths = 0; tenths < 600 && !left.empty(); ++tenths) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      left = processes_of(job);
    }
    EXPECT_THAT(left, testing::IsEmpty()) << when;
    // A launcher that is killed leaves what its library keeps in files; that is the same without us.
    if (!launcher_dies || with().name != "openmpi") {
      EXPECT_THAT(names_in(files.path()), testing::IsEmpty()) << when;
    }
    for (const std::string& name : names_in("/dev/shm")) EXPECT_THAT(name, Not(HasSubstr("trireme-mpi"))) << when;
    // Of this job, or of another one that is ending at the moment.
    std::set<std::string> segments;
    for (int tenths = 0; tenths < 100; ++tenths) {
      segments = ownerless_segments();
      for (const std::string& before : segments_before) segments.erase(before);
      if (segments.empty()) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    EXPECT_THAT(segments, testing::IsEmpty()) << when;
  }
}

// Where things lie, as the program says: "name address bytes".
struct told_place {
  std::uint64_t first = 0;
  std::uint64_t bytes = 0;
};

std::map<std::string, told_place> places_in(const std::string& output) {
  std::map<std::string, told_place> places;
  std::istringstream lines(output);
  std::string name, address;
  for (told_place each; lines >> name >> address >> each.bytes;) {
    each.first = std::strtoull(address.c_str(), nullptr, 16);
    places[name] = each;
  }
  return places;
}

// A crash of a rank whose heap and static data are shared and mostly holes: the core file holds what was used, also
// what another rank wrote, and little else.
TEST_P(conformance, core_files_hold_what_was_used) {
  if (how().name != "drop_in" || ranks() == 8) GTEST_SKIP() << "a matter of the drop-in";
  if (const std::string why = tri::testing::why_no_core_files(); !why.empty()) GTEST_SKIP() << why;
  const tri::testing::temporary_folder folder;
  mpi starter = with();
  starter.launcher =
      fmt::format("cd {}; ulimit -c unlimited; timeout 300 {}", folder.path().string(), starter.launcher);
  const auto ended = run(starter, how(), ranks(), "crashes", "");
  EXPECT_NE(ended.status, 0);
  EXPECT_NE(ended.status, 124) << "the job did not end";
  const auto places = places_in(ended.output);
  for (const char* const name : {"large", "large_middle", "static", "static_middle", "message"})
    ASSERT_TRUE(places.contains(name)) << name << "\n" << ended.output << ended.errors;
  tri::testing::core_file core(folder.path());
  ASSERT_FALSE(core.empty()) << ended.errors;
  const auto held = [&](const char* name) {
    const told_place& place = places.at(name);
    return core.memory(reinterpret_cast<const void*>(place.first), place.bytes);
  };
  EXPECT_EQ(held("large_middle"), "large_middle is in use");
  EXPECT_EQ(held("static_middle"), "static_middle is in use");
  EXPECT_TRUE(held("message") == std::string(places.at("message").bytes, 'm')) << "what rank 0 sent";
  for (const char* const name : {"large", "static"}) {
    const told_place& place = places.at(name);
    EXPECT_LT(core.bytes_of(place.first, place.first + place.bytes), std::uint64_t{16} << 20) << name;
  }
  EXPECT_LT(core.bytes_of(0, ~std::uint64_t{0}), std::uint64_t{300} << 20);
}

// What the drop-in needs is not there: one line of the first rank that lacks it, or none where there is another way,
// and the messages are right.
TEST_P(conformance, refused_resources_change_no_message) {
  if (how().name != "drop_in" || ranks() != 2) GTEST_SKIP() << "a matter of two ranks under the drop-in";
  const std::string left =
      fmt::format("; all messages are left to {}\n", with().name == "openmpi" ? "Open MPI" : "MPICH");
  for (const auto& [obstacle, expected] :
       {std::pair<const char*, std::vector<const char*>>{"kernel_copies_refused", {}},
        {"kernel_copies_refused 1", {}},
        {"not_dumpable", {}},
        {"memory_files_refused", {"rank 0: arena: memfd_create failed: Operation not"}},
        {"memory_files_refused 1", {"rank 1: arena: memfd_create failed: "}},
        {"window_taken 1", {"rank 1: arena: cannot map a window of .*there lies: "}}}) {
    const auto ended = run(with(), how(), 2, "obstacles", obstacle);
    EXPECT_EQ(ended.output, "0 of the messages were wrong\n") << obstacle << ended.errors;
    EXPECT_EQ(ended.status, 0) << obstacle << ended.errors;
    std::vector<testing::Matcher<std::string>> matchers;
    for (const char* line : expected)
      matchers.push_back(testing::AllOf(ContainsRegex(std::string("^trireme mpi: ") + line), EndsWith(left)));
    EXPECT_THAT(lines_of(ended.errors, "trireme"), testing::UnorderedElementsAreArray(matchers)) << obstacle;
  }
  const std::string expected = expected_traffic(2, "--messages 300 --largest 20000 --seed 2");
  const auto limited = [&](const std::string& which) {
    const tri::testing::temporary_folder folder;
    const auto script = folder.path() / "limited.sh";
    tri::testing::write_file(script,
                             fmt::format("#!/bin/sh\n{} ulimit -v 900000\nexec {} exec -- {}/traffic --messages 300 "
                                         "--largest 20000 --seed 2\n",
                                         which, TRIREME_COMMAND, with().programs));
    std::filesystem::permissions(script, std::filesystem::perms::owner_all);
    return run(with(), modes[0], 2, script.string(), "");
  };
  const auto all = limited("");
  EXPECT_EQ(all.output, expected) << all.errors;
  EXPECT_THAT(lines_of(all.errors, "trireme"), testing::Each(testing::AllOf(HasSubstr("ulimit -v"), EndsWith(left))));
  EXPECT_EQ(lines_of(all.errors, "trireme").size(), 1u) << all.errors;
  const auto one = limited("test ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} = 0 ||");
  EXPECT_EQ(one.output, expected) << one.errors;
  ASSERT_EQ(lines_of(one.errors, "trireme").size(), 1u) << one.errors;
  EXPECT_THAT(one.errors, testing::AllOf(HasSubstr("trireme mpi: rank 1: cannot map "), HasSubstr(left)));
}

// MPICH's mpi_f08 initializes MPI past every name that the drop-in can intercept. Users who asked for the drop-in get
// one line that says so, others none, and programs around it that do not use MPI print nothing.
TEST_P(conformance, programs_that_start_mpi_past_the_drop_in_say_so_when_asked) {
  if (how().name != "drop_in" || ranks() != 2) GTEST_SKIP() << "a matter of the program alone";
  const std::string program = with().programs + "/fortran_f08";
  if (!std::filesystem::exists(program)) GTEST_SKIP() << "gfortran is not installed";
  const std::string line = "trireme mpi: the program initialized MPI through the profiling interface (PMPI_Init)";
  const std::string around = "-c 'ls > /dev/null; " + program + "'";
  for (const char* const options : {"--mpi", "--stats"}) {
    const auto ended = run(with(), {"asked", "", options}, 2, "/bin/sh", around);
    EXPECT_EQ(ended.status, 0) << ended.errors;
    EXPECT_EQ(lines_of(ended.errors, line).size(), with().name == "mpich" ? 1u : 0u) << options << ended.errors;
    EXPECT_THAT(lines_of(run(with(), {"asked", "", options}, 2, "/bin/sh", "-c 'ls > /dev/null'").errors, "trireme"),
                testing::IsEmpty());
  }
  EXPECT_THAT(lines_of(run(with(), {"unasked", "", "--sharing mixed"}, 2, "/bin/sh", around).errors, "trireme"),
              testing::IsEmpty());
  const auto told = tri::testing::run_command(fmt::format("{} info --mpi {}", TRIREME_COMMAND, program));
  EXPECT_THAT(told.output, HasSubstr(with().name == "mpich" ? "all messages stay with MPICH" : "inside the host"));
}

// Programs before which nothing can be put run as they are, and a line says why.
TEST_P(conformance, programs_that_cannot_be_taken_run_as_they_are) {
  if (how().name != "drop_in" || ranks() != 2) GTEST_SKIP() << "a matter of the program alone";
  const tri::testing::temporary_folder folder;
  const std::string traffic = "--messages 300 --largest 20000 --seed 2";
  const auto setuid = folder.path() / "setuid_traffic";
  std::filesystem::copy_file(with().programs + "/traffic", setuid);
  std::filesystem::permissions(setuid, std::filesystem::perms::owner_all | std::filesystem::perms::set_uid);
  const mode asked{"asked", "", "--mpi"};
  const auto as_it_is = [](const std::string& program) {
    return fmt::format("trireme exec: {} runs with its MPI library as it is: ", program);
  };

  const auto other_user = run(with(), asked, 2, setuid.string(), traffic);
  EXPECT_EQ(other_user.output, expected_traffic(2, traffic)) << other_user.errors;
  EXPECT_THAT(other_user.errors,
              HasSubstr(as_it_is(setuid.string()) + "it runs as another user or group (setuid), so"));

  const auto fixed = run(with(), asked, 2, OTHER_MPI_PROGRAMS "/other_mpi_static", "");
  EXPECT_EQ(fixed.output, "its MPI says 0\nits MPI says 0\n") << fixed.errors;
  EXPECT_THAT(fixed.errors,
              HasSubstr(as_it_is(OTHER_MPI_PROGRAMS "/other_mpi_static") + "it is statically linked, so"));

  const auto inside = run(with(), asked, 2, OTHER_MPI_PROGRAMS "/other_mpi_inside", "");
  EXPECT_EQ(inside.output, "its MPI says 0\nits MPI says 0\n") << inside.errors;
  EXPECT_THAT(inside.errors, HasSubstr(as_it_is(OTHER_MPI_PROGRAMS "/other_mpi_inside") +
                                       "its MPI library is linked in statically, so"));

  const auto other = run(with(), asked, 2, OTHER_MPI_PROGRAMS "/other_mpi", "");
  EXPECT_EQ(other.output, "its MPI says 0\nits MPI says 0\n") << other.errors;
  EXPECT_THAT(other.errors, HasSubstr(as_it_is(OTHER_MPI_PROGRAMS "/other_mpi") +
                                      "it uses libmpi.so.80; supported are libmpi.so.40 (Open MPI), libmpich.so.12"));

  const std::string watched = with().programs + "/traffic_address";
  const auto sanitized =
      run(with(), asked, 2, watched, traffic,
          "ASAN_OPTIONS=detect_leaks=0 HWLOC_COMPONENTS=-opencl");  // whose libraries may throw as they are loaded
  EXPECT_EQ(sanitized.output, expected_traffic(2, traffic)) << sanitized.errors;
  EXPECT_THAT(sanitized.errors, HasSubstr(as_it_is(watched) + "it is built with a sanitizer of memory or threads"));

  // A program of the other MPI under this launcher: each process is a job of its own, as without us, and one line says
  // so.
  for (const mpi& another : installed) {
    if (another.name == with().name) continue;
    const std::string program = another.programs + "/obstacles";
    const auto alone = run(with(), asked, 2, program, "nothing");
    EXPECT_EQ(alone.status, 0) << alone.errors;
    EXPECT_EQ(alone.output, "0 of the messages were wrong\n0 of the messages were wrong\n");
    const std::string right = another.name == "openmpi" ? "Open MPI" : "MPICH";
    EXPECT_EQ(lines_of(alone.errors, "trireme exec: " + program + " uses " + right + ", but the launcher of ").size(),
              1u)
        << alone.errors;
  }
}

}  // namespace
}  // namespace mpi_programs
