// Which way messages take, from what was found out; and the texts of refusals.
#include "mpi/mpi_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "exec/mpi_program.hpp"
#include "mpi/host_permissions.hpp"
#include "os/child_process.hpp"

namespace tri::tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

mpi_report usual_report() {
  mpi_report report;
  for (const char* name :
       {"memfd", "arena", "kernel_copies", "address_space", "data", "file_size", "memory", "dev_shm"})
    report.host.push_back({name, true, std::string(name) + " is fine"});
  memory_kinds memory{{{"heap", "malloc", reach::same_address}, {"static", "arrays", reach::alias}, {"stack", "local"}},
                      {},
                      {},
                      "Some MPI 1.0",
                      {}};
  report.libraries.push_back({"Some MPI", "libsome.so.1", "/lib/libsome.so.1", "/lib/libtrireme-some.so", memory});
  return report;
}

void forbid(mpi_report& report, const std::string& what) {
  for (machine_fact& each : report.host)
    if (each.name == what) each.works = false;
}

std::string ways(const mpi_report& report) {
  std::string all;
  for (const memory_kind& each : report.libraries[0].memory.kinds)
    all += std::string(all.empty() ? "" : " ") + to_string(path_of(report, each));
  return all;
}

TEST(mpi_report, memory_that_is_not_reached_is_copied_by_the_kernel_or_twice) {
  mpi_report report = usual_report();
  EXPECT_EQ(ways(report), "shared shared kernel");
  forbid(report, "kernel_copies");
  EXPECT_EQ(ways(report), "shared shared staged");
}

TEST(mpi_report, nothing_is_ours_without_shared_memory_or_when_switched_off) {
  for (const char* needed : {"memfd", "arena", "address_space", "file_size"}) {
    mpi_report report = usual_report();
    forbid(report, needed);
    EXPECT_EQ(ways(report), "library library library") << needed;
  }
  for (const char* other : {"data", "memory", "dev_shm"}) {
    mpi_report report = usual_report();
    forbid(report, other);
    EXPECT_EQ(ways(report), "shared shared kernel") << other;
  }
  mpi_report report = usual_report();
  report.switched_off = true;
  EXPECT_EQ(ways(report), "library library library");
  EXPECT_THAT(to_text(report), HasSubstr("TRIREME_MPI=off: everything is left to the MPI library\n"));
}

TEST(mpi_report, says_why_memory_stays_private) {
  mpi_report report = usual_report();
  report.libraries[0].memory.heap_reason = "no room";
  report.libraries[0].memory.static_data_reason = "there are threads already";
  EXPECT_THAT(to_text(report),
              AllOf(HasSubstr("Some MPI: the heap stays private: no room\n"),
                    HasSubstr("Some MPI: static data stays where it is: there are threads already\n")));
}

TEST(mpi_report, libraries_without_a_drop_in_or_that_are_not_there_have_no_column) {
  mpi_report report = usual_report();
  report.libraries.push_back({"Other MPI", "libother.so.2", "", "", {}});
  report.libraries.push_back({"Third MPI", "libthird.so.3", "/lib/libthird.so.3", "", {}});
  report.libraries.back().memory.problem = "libtrireme-third.so is not installed";
  const std::string text = to_text(report);
  EXPECT_THAT(text, HasSubstr("  Other MPI         no libother.so.2\n"));
  EXPECT_THAT(text, HasSubstr("no drop-in: libtrireme-third.so is not installed\n"));
  EXPECT_THAT(text, HasSubstr("               Some MPI     \n"));
}

TEST(mpi_report, names_the_launcher_of_the_library) {
  for (const auto& [library, name] :
       {std::pair{mpi_library::mpich, "mpirun.mpich"}, {mpi_library::openmpi, "mpirun.openmpi"}})
    EXPECT_EQ(launcher_command(library), os::has_program(name) ? name : "mpirun");
  EXPECT_EQ(launcher_command(mpi_library::standard), "mpirun");
}

TEST(mpi_report, tells_what_a_program_uses) {
  mpi_report report = usual_report();
  EXPECT_THAT(to_text(report), Not(HasSubstr("./app")));
  report.program = "./app";
  EXPECT_THAT(to_text(report), HasSubstr("./app: uses no MPI library that is known, and is not started by mpirun\n"));
  report.program_uses = "MPICH";
  EXPECT_THAT(to_text(report), HasSubstr("./app: uses MPICH; `mpirun -n N trireme exec ./app` takes its messages"));
  report.program_launcher = "mpirun.mpich";
  EXPECT_THAT(to_text(report), HasSubstr("`mpirun.mpich -n N trireme exec ./app`"));
  report.program_uses.clear();
  report.obstacle = "it is statically linked";
  EXPECT_THAT(to_text(report), HasSubstr("./app: it is statically linked\n"));
  EXPECT_EQ(to_json(report)["program"]["obstacle"], "it is statically linked");
}

TEST(mpi_report, refusals_of_the_kernel_name_what_would_help) {
  EXPECT_EQ(why_no_kernel_copies(ENOSYS, 1),
            "process_vm_readv: Function not implemented; the kernel was built without it");
  EXPECT_EQ(
      why_no_kernel_copies(EPERM, 1),
      "process_vm_readv: Operation not permitted; kernel.yama.ptrace_scope is 1, and must be 0 for ranks to reach "
      "each other");
  EXPECT_THAT(why_no_kernel_copies(EPERM, {}), HasSubstr("--cap-add=SYS_PTRACE"));
  EXPECT_THAT(why_no_kernel_copies(EPERM, 0), HasSubstr("--cap-add=SYS_PTRACE"));
}

std::string problem_with(const std::vector<std::pair<const char*, const char*>>& variables, mpi_library library) {
  for (const char* const each :
       {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "MPI_LOCALNRANKS", "PMI_RANK", "PMI_SIZE"})
    unsetenv(each);
  for (const auto& [name, value] : variables) setenv(name, value, 1);
  return launcher_of_the_other(library, "./app");
}

TEST(mpi_program, binary_interfaces_are_told_by_what_the_loader_lists) {
  const auto library_of = [](const char* list) { return mpi_in_loader_list(list).library; };
  EXPECT_EQ(library_of("\tlibmpi.so.40 => /lib/libmpi.so.40 (0x1)\n"), mpi_library::openmpi);
  EXPECT_EQ(library_of("\tlibmpich.so.12 => /lib/libmpich.so.12 (0x1)\n"), mpi_library::mpich);
  EXPECT_EQ(library_of("\tlibmpi.so.12 => /opt/lib/libmpi.so.12 (0x1)\n"), mpi_library::mpich);
  EXPECT_EQ(library_of("\tlibmpi_abi.so.1 => /opt/lib/libmpi_abi.so.1 (0x1)\n"), mpi_library::standard);
  EXPECT_EQ(library_of("\tlibm.so.6 => /lib/libm.so.6 (0x1)\n"), mpi_library::none);
  const mpi_finding later = mpi_in_loader_list("\tlibmpi_abi.so.2 => /lib/libmpi_abi.so.2 (0x1)\n");
  EXPECT_EQ(later.library, mpi_library::none);
  EXPECT_THAT(later.obstacle, AllOf(HasSubstr("it uses libmpi_abi.so.2"), HasSubstr("libmpi_abi.so.1")));
}

TEST(mpi_program, the_launcher_of_the_other_library_is_named) {
  const std::string path = std::getenv("PATH");
  setenv("PATH", "/nonexistent", 1);
  EXPECT_EQ(
      problem_with({{"MPI_LOCALNRANKS", "3"}, {"PMI_SIZE", "3"}, {"PMI_RANK", "0"}}, mpi_library::openmpi),
      "./app uses Open MPI, but the launcher of MPICH has started it: most likely each of the 3 processes is a job "
      "of its own, of one rank; start it by the mpirun of Open MPI");
  setenv("PATH", path.c_str(), 1);
  EXPECT_THAT(
      problem_with({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "0"}}, mpi_library::mpich),
      AllOf(HasSubstr("./app uses MPICH, but the launcher of Open MPI has started it"), HasSubstr("the 4 processes"),
            testing::ContainsRegex("start it by (`mpirun.mpich -n 4 trireme exec ./app`|the mpirun of MPICH)$")));
}

TEST(mpi_program, launchers_that_fit_or_may_fit_are_not_named) {
  const std::vector<std::pair<const char*, const char*>> hydra{
      {"MPI_LOCALNRANKS", "3"}, {"PMI_SIZE", "3"}, {"PMI_RANK", "0"}};
  EXPECT_EQ(problem_with(hydra, mpi_library::mpich), "");
  EXPECT_EQ(problem_with(hydra, mpi_library::none), "");
  EXPECT_EQ(problem_with({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "0"}}, mpi_library::openmpi), "");
  EXPECT_EQ(problem_with({}, mpi_library::openmpi), "");
  // Slurm's own way, which both libraries know; one process; a launcher inside a job of the other; another rank.
  EXPECT_EQ(problem_with({{"PMI_SIZE", "3"}, {"PMI_RANK", "0"}}, mpi_library::openmpi), "");
  EXPECT_EQ(problem_with({{"OMPI_COMM_WORLD_SIZE", "1"}, {"OMPI_COMM_WORLD_RANK", "0"}}, mpi_library::mpich), "");
  EXPECT_EQ(problem_with({{"OMPI_COMM_WORLD_SIZE", "4"},
                          {"OMPI_COMM_WORLD_RANK", "0"},
                          {"MPI_LOCALNRANKS", "3"},
                          {"PMI_SIZE", "3"},
                          {"PMI_RANK", "0"}},
                         mpi_library::openmpi),
            "");
  EXPECT_EQ(problem_with({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "2"}}, mpi_library::mpich), "");
}

}  // namespace
}  // namespace tri::tools
