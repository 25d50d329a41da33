// `trireme info --mpi`: what it tells is what the drop-in does, so each answer is compared with one that a switch or a
// limit forces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/command_runner.hpp"

namespace tri::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string command = TRIREME_COMMAND;
const std::vector<std::string> drop_ins{DROP_INS};
const std::map<std::string, std::string> names{{"openmpi", "Open MPI"}, {"mpich", "MPICH"}};

json report(const std::string& before = {}) {
  const command_result done =
      run_command("unset TRIREME_MPI TRIREME_MPI_HEAP TRIREME_MPI_STATIC_DATA TRIREME_MPI_KERNEL_COPIES LD_PRELOAD; " +
                  before + " " + command + " info --mpi --json");
  EXPECT_EQ(done.status, 0) << done.errors;
  return json::parse(done.output, nullptr, false);
}

// Of every library that has a drop-in here: the path of each kind of memory.
void expect_paths(const json& told, const std::map<std::string, std::string>& expected) {
  std::size_t with_drop_in = 0;
  for (const json& library : told["libraries"]) {
    if (library["memory"].empty()) continue;
    ++with_drop_in;
    for (const auto& [kind, path] : expected) EXPECT_EQ(library["memory"][kind]["path"], path) << library << kind;
  }
  EXPECT_EQ(with_drop_in, drop_ins.size()) << told;
}

// As Python's packages have it: bin/mpiexec, and the library in lib, where the loader does not look. A wrapper stands
// between the launcher and us. What started the launcher may have an MPI, too, which is not meant.
TEST(exec_mpi, interpreters_get_the_library_of_their_launcher) {
  if (std::find(drop_ins.begin(), drop_ins.end(), "mpich") == drop_ins.end()) GTEST_SKIP() << "built without MPICH";
  const temporary_folder outside, prefix;
  for (const temporary_folder* const each : {&outside, &prefix}) {
    std::filesystem::create_directories(each->path() / "bin");
    std::filesystem::create_directories(each->path() / "lib");
    std::filesystem::copy_file("/bin/sh", each->path() / "bin/shell");
  }
  std::ofstream(outside.path() / "lib/libmpi.so.12").close();
  unsetenv("LD_PRELOAD");
  const auto script = [&](const char* name, const std::string& text) {
    std::ofstream(prefix.path() / name) << text << "; :\n";
    return (prefix.path() / name).string();
  };
  const std::string shell = (prefix.path() / "bin/shell").string();
  const std::string wrapper = script("wrapper", command + " exec -- printenv LD_PRELOAD");
  const std::string launcher = script("launcher", "MPI_LOCALNRANKS=1 PMI_RANK=0 PMI_SIZE=1 /bin/sh " + wrapper);
  const std::string outer = script("outer", shell + " " + launcher);
  const auto preloaded = [&] { return run_command((outside.path() / "bin/shell").string() + " " + outer).output; };
  EXPECT_THAT(preloaded(), ::testing::EndsWith(":libmpich.so.12\n"));
  std::ofstream(prefix.path() / "lib/libmpi.so.12").close();
  EXPECT_THAT(preloaded(), ::testing::EndsWith((prefix.path() / "lib/libmpi.so.12").string() + "\n"));
}

TEST(info_mpi, finds_the_libraries_and_the_drop_in_of_each) {
  const json told = report();
  for (const std::string& drop_in : drop_ins) {
    bool found = false;
    for (const json& library : told["libraries"]) {
      if (library["name"] != names.at(drop_in)) continue;
      found = true;
      EXPECT_THAT(std::string(library["path"]), StartsWith("/"));
      EXPECT_THAT(std::string(library["drop_in"]), HasSubstr("libtrireme-mpi-" + drop_in + ".so"));
      EXPECT_THAT(std::string(library["version"]), HasSubstr(names.at(drop_in)));
      EXPECT_EQ(library["problem"], "");
    }
    EXPECT_TRUE(found) << drop_in;
  }
}

TEST(info_mpi, heap_is_shared_and_static_data_has_an_alias) {
  const json told = report();
  expect_paths(told, {{"heap", "shared"}, {"static", "shared"}});
  for (const json& library : told["libraries"]) {
    if (library["memory"].empty()) continue;
    EXPECT_EQ(library["memory"]["heap"]["reached"], "same address");
    EXPECT_EQ(library["memory"]["static"]["reached"], "alias");
    for (const char* kind : {"initialised", "stack", "mapped"})
      EXPECT_EQ(library["memory"][kind]["reached"], "no") << kind;
  }
}

TEST(info_mpi, switches_take_ways_away) {
  expect_paths(report("TRIREME_MPI_STATIC_DATA=off TRIREME_MPI_KERNEL_COPIES=off"),
               {{"heap", "shared"}, {"static", "staged"}, {"initialised", "staged"}, {"stack", "staged"}});
  expect_paths(report("TRIREME_MPI_HEAP=off TRIREME_MPI_KERNEL_COPIES=off"),
               {{"heap", "staged"}, {"mapped", "staged"}});
  const json off = report("TRIREME_MPI=off");
  EXPECT_EQ(off["on"], false);
  expect_paths(off, {{"heap", "library"}, {"stack", "library"}});
  const command_result bad = run_command("TRIREME_MPI_HEAP=no " + command + " info --mpi");
  EXPECT_EQ(bad.status, 2);
  EXPECT_EQ(bad.errors, "trireme info: TRIREME_MPI_HEAP is 'no'; it must be on (the default) or off\n");
}

TEST(info_mpi, limits_are_named_with_what_follows) {
  const json little_data = report("ulimit -d 200000;");
  EXPECT_EQ(little_data["host"]["data"]["works"], false);
  EXPECT_EQ(little_data["host"]["data"]["detail"], "200000 KiB (ulimit -d); the heap stays private below 262144 KiB");
  for (const json& library : little_data["libraries"]) {
    if (library["memory"].empty()) continue;
    EXPECT_EQ(library["heap_reason"],
              "the limit of data (ulimit -d) is 200000 KiB; a shared heap needs at least 262144 KiB");
    EXPECT_NE(library["memory"]["heap"]["path"], "shared");
  }
  const json small_files = report("ulimit -f 1000000;");
  EXPECT_THAT(std::string(small_files["host"]["file_size"]["detail"]), HasSubstr("all messages are left to the MPI"));
  expect_paths(small_files, {{"heap", "library"}});
  const json little_space = report("ulimit -v 3000000;");
  EXPECT_EQ(little_space["host"]["arena"]["works"], false);
  expect_paths(little_space, {{"heap", "library"}});
}

TEST(info_mpi, of_programs) {
  const command_result other = run_command(command + " info --mpi true");
  EXPECT_EQ(other.status, 0) << other.errors;
  EXPECT_THAT(other.output, HasSubstr("/true: uses no MPI library that is known, and is not started by mpirun\n"));
  const command_result missing = run_command(command + " info --mpi ./no_such_program");
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.errors, StartsWith("trireme info: "));
  EXPECT_THAT(missing.errors, HasSubstr("./no_such_program"));
  const command_result alone = run_command(command + " info ./app");
  EXPECT_EQ(alone.status, 2);
  EXPECT_THAT(alone.errors, HasSubstr("--mpi"));
}

TEST(exec_mpi, options_of_messages_are_checked_before_anything_runs) {
  const auto errors_of = [](const std::string& line) {
    const command_result done = run_command("unset TRIREME_MPI TRIREME_MPI_SHARING; " + line);
    EXPECT_EQ(done.status, 2) << line;
    return done.errors;
  };
  // What mpirun sets makes any program one of MPI.
  const std::string exec = "OMPI_COMM_WORLD_SIZE=1 " + command + " exec ";
  EXPECT_EQ(errors_of(exec + "--sharing close true"),
            "trireme exec: --sharing: sharing 'close' is not one of off, near, mixed and throughput,N\n");
  EXPECT_THAT(errors_of("TRIREME_MPI_SHARING=throughput " + exec + "true"),
              StartsWith("trireme exec: TRIREME_MPI_SHARING: sharing 'throughput' needs the number of ranks"));
  EXPECT_EQ(errors_of(exec + "--progress some true"),
            "trireme exec: --progress: progress 'some' is not one of dynamic, thread and reserved,N\n");
  EXPECT_EQ(errors_of("TRIREME_MPI_PROGRESS=reserved " + exec + "true"),
            "trireme exec: TRIREME_MPI_PROGRESS: progress 'reserved' needs a number of cores from 1 on, as in "
            "reserved,2\n");
  EXPECT_EQ(errors_of(exec + "--sharing-from 12Q true"),
            "trireme exec: --sharing-from: '12Q' is not a size; it must be a size such as 4096, 64K, 16M or 2G, 32K by "
            "default\n");
  EXPECT_EQ(errors_of(exec + "--stats-json /no_such_folder/x true"),
            "trireme exec: the statistics could not be written to /no_such_folder/x: there is no such folder\n");
  EXPECT_EQ(errors_of("TRIREME_MPI_STATISTICS_FILE=/ " + exec + "true"),
            "trireme exec: the statistics could not be written to /: it is a folder; name a file in it\n");
  EXPECT_THAT(
      errors_of("TRIREME_TOPOLOGY=synthetic:numma:2 OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=1 " + exec +
                "true"),
      HasSubstr("numma"));
  EXPECT_EQ(
      errors_of(command + " exec --omp --stats true"),
      "trireme exec: --stats, --trace, --sharing, --progress, --reproducible-sums and a tune file of collectives are "
      "about messages "
      "of an MPI program; true is none that is known\n");
  EXPECT_EQ(errors_of("TRIREME_MPI_STATISTICS=yes " + exec + "true"),
            "trireme exec: TRIREME_MPI_STATISTICS is 'yes'; it must be on or off (the default)\n");
  EXPECT_EQ(errors_of("TRIREME_MPI_REPRODUCIBLE_SUMS=1 " + exec + "true"),
            "trireme exec: TRIREME_MPI_REPRODUCIBLE_SUMS is '1'; it must be on or off (the default)\n");
}

TEST(info_mpi, the_inner_option_is_refused_outside) {
  const command_result done = run_command(command + " info --mpi-memory-of-this-process");
  EXPECT_EQ(done.status, 1);
  EXPECT_THAT(done.errors, HasSubstr("`trireme info --mpi` is for people"));
}

}  // namespace
}  // namespace tri::testing
