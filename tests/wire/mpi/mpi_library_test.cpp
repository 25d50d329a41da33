// How the MPI library of a job is found, and what it has to be able to do (M41).
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "boot/membership.hpp"
#include "boot/mpi/mpi_library.hpp"
#include "support/check.hpp"
#include "wire/mpi/fake_mpi.hpp"

namespace tri::boot {
namespace {

using testing::check_throws;
using wire::test::fake_mpi;
using wire::test::fake_network;

TEST(mpi_library, one_per_launcher_unless_the_user_says_otherwise) {
  EXPECT_EQ(mpi_plug_in_for("auto", launcher_kind::pmix), "libtrireme-wire-openmpi.so");
  EXPECT_EQ(mpi_plug_in_for("auto", launcher_kind::pmi1), "libtrireme-wire-mpich.so");
  EXPECT_EQ(mpi_plug_in_for("mpich", launcher_kind::pmix), "libtrireme-wire-mpich.so");
  EXPECT_EQ(mpi_plug_in_for("./mine.so", launcher_kind::pmix), "./mine.so");
  check_throws<job_error>(
      [] { mpi_plug_in_for("lam", launcher_kind::pmix); },
      "wire_mpi is 'lam'; it must be auto, openmpi, mpich, or the path of a plug-in (with a slash)");
}

// One thread at a time is what the port promises, and that needs MPI_THREAD_SERIALIZED.
TEST(mpi_library, one_without_threads_is_refused) {
  fake_network network(4, {});
  fake_mpi& mpi = network.rank(0);
  for (const mpi_thread_level enough : {mpi_thread_level::serialized, mpi_thread_level::multiple}) {
    mpi.level = enough;
    EXPECT_NO_THROW(check_usable(mpi, 4));
  }
  mpi.level = mpi_thread_level::funneled;
  check_throws<job_error>([&] { check_usable(mpi, 4); },
                          "the wire 'mpi' calls MPI from several threads, one at a time, and needs "
                          "MPI_THREAD_SERIALIZED; Fake MPI 1 provides MPI_THREAD_FUNNELED only: use one that was built "
                          "with threads, or --tri-wire ucx");
  mpi.level = mpi_thread_level::single;
  check_throws<job_error>([&] { check_usable(mpi, 4); }, "Fake MPI 1 provides MPI_THREAD_SINGLE only");
}

TEST(mpi_library, one_that_sees_another_job_is_refused) {
  fake_network network(1, {});
  EXPECT_NO_THROW(check_usable(network.rank(0), 0));
  check_throws<job_error>([&] { check_usable(network.rank(0), 4); },
                          "the launcher started 4 processes, but Fake MPI 1 sees 1: it is not the launcher's library; "
                          "choose the one that belongs to it by --tri-wire-mpi (openmpi, mpich)");
  EXPECT_EQ(processes_by_environment({"HOME=/", "PMI_SIZE=7"}), 7);
  EXPECT_EQ(processes_by_environment({"OMPI_COMM_WORLD_SIZE=3"}), 3);
  EXPECT_EQ(processes_by_environment({"PMI_SIZE=x", "PMI_SIZES=3"}), 0);
}

TEST(mpi_library, a_missing_plug_in_is_said_in_one_line) {
  check_throws<job_error>([] { start_mpi("/nowhere/plug-in.so", launcher_kind::pmix); },
                          "the wire 'mpi' needs /nowhere/plug-in.so, which cannot be loaded (/nowhere/plug-in.so: "
                          "cannot open shared object file: No such file or directory); it is built where the headers "
                          "of that MPI library are installed: set LD_LIBRARY_PATH to its folder, name the file by "
                          "--tri-wire-mpi, or use --tri-wire ucx");
  check_throws<job_error>([] { start_mpi("/lib/x86_64-linux-gnu/libm.so.6", launcher_kind::pmix); },
                          "has no trireme_start_mpi: it is not a plug-in for the wire 'mpi'");
}

}  // namespace
}  // namespace tri::boot
