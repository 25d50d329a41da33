// Which MPI library a program uses, as far as that can be known before it runs, and what `trireme exec` does about it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace tri::tools {

/// By binary interface; `standard` is that of MPI 5.0 (libmpi_abi).
enum class mpi_library : std::uint8_t { none, openmpi, mpich, standard };

/// The library names that programs request from the loader, and our drop-in for each.
struct mpi_interface {
  mpi_library library;
  const char* name;
  const char* soname;
  const char* drop_in;
};
inline constexpr std::array<mpi_interface, 4> mpi_interfaces{{
    {mpi_library::openmpi, "Open MPI", "libmpi.so.40", "libtrireme-mpi-openmpi.so"},
    {mpi_library::mpich, "MPICH", "libmpich.so.12", "libtrireme-mpi-mpich.so"},
    {mpi_library::mpich, "MPICH's ABI", "libmpi.so.12", "libtrireme-mpi-mpich.so"},  // Intel MPI and others
    {mpi_library::standard, "the standard ABI", "libmpi_abi.so.1", "libtrireme-mpi-standard.so"},
}};
/// The first one of a library: its own name. Null for `none`.
const mpi_interface* interface_of(mpi_library library);

struct mpi_finding {
  mpi_library library = mpi_library::none;
  bool is_linked = false;  // by the program itself; otherwise known from the launcher's variables
  std::string obstacle;    // why the program cannot be helped, although it is one of MPI; then `library` is none
};

/// Checks the program's file and the libraries that the loader would load; then, for interpreters and scripts, the
/// variables that mpirun sets.
mpi_finding find_mpi(const std::string& program);

/// The error message when the launcher of one MPI library starts a program of the other: each process is then a job of
/// its own, which nothing else reports. Empty when the launcher matches, is unknown, or starts one process, and on
/// ranks other than 0.
std::string launcher_of_the_other(mpi_library library, const std::string& program);

/// The command that starts jobs of this library: `mpirun.mpich` where launchers of several libraries have such names.
std::string launcher_command(mpi_library library);

/// Whether a program of MPICH initializes MPI through mpi_f08 alone, which calls the profiling interface (PMPI_): there
/// is nothing to intercept.
bool begins_by_inner_names(const std::string& program);

/// From the loader's list ("libmpi.so.40 => ..."): for find_mpi and its tests.
mpi_finding mpi_in_loader_list(std::string_view list);

/// The drop-in's variables are `on`, `off` or not set; throws std::invalid_argument for other values. False when
/// TRIREME_MPI leaves the program to its MPI library.
bool check_mpi_switches();

/// How ranks help each other with large messages: TRIREME_MPI_SHARING and TRIREME_MPI_SHARING_FROM, which the options
/// replace unless they are empty. The drop-in reads numbers without units, and TRIREME_MPI_DOMAIN, set here where the
/// rank belongs to one NUMA domain. Throws std::exception naming what cannot be read and what would be right.
void set_sharing(const std::string& sharing, const std::string& from);

/// Which ranks receive for computing ranks: TRIREME_MPI_PROGRESS, which the option replaces unless it is empty.
void set_progress(const std::string& progress);

/// Rank 0, which writes the statistics, checks at the start whether it can: its folder exists and is writable. Throws
/// std::invalid_argument otherwise. Later changes are reported at the end.
void check_statistics_file(const std::string& name);

/// The library of this name that belongs to the launcher of this process: in the lib folder beside the launcher's bin
/// folder. Empty when there is none. A launcher of a Python package has its MPI there.
std::string beside_launcher(std::string_view name);

/// Prepares the environment: our library for that MPI, and the MPI's own where the program will load it later.
void set_up_mpi(const mpi_finding& found);

}  // namespace tri::tools
