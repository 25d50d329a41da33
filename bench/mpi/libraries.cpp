#include "mpi/libraries.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <stdexcept>

#include "framework/process_rows.hpp"

namespace tri::bench {
namespace {

namespace fs = std::filesystem;

std::string output_of(const std::vector<std::string>& command) {
  std::string text;
  process_lines(
      command, [&](const std::string& line) { text += line + '\n'; }, 60);
  return text;
}

mpi_library built_for(const std::string& name, const fs::path& folder) {
  for (const char* tool : {"mpicc", "mpirun"}) {
    if (!fs::exists(folder / tool)) {
      throw std::invalid_argument(fmt::format(
          "TRIREME_BENCH_MPI: '{}' has no {}; a folder with mpicc and mpirun is needed", folder.string(), tool));
    }
  }
  const fs::path program = fs::temp_directory_path() / fmt::format("trireme_mpi_measure_{}_{}", getuid(), name);
  output_of({(folder / "mpicc").string(), "-std=gnu11", "-O2", TRIREME_BENCH_MPI_SOURCE, "-o", program.string()});
  const bool open_mpi = output_of({(folder / "mpirun").string(), "--version"}).find("Open") != std::string::npos;
  return {name, (folder / "mpirun").string(), program.string(), open_mpi};
}

// Where the command is installed its programs are, too, and the folder of the build may be gone.
std::string installed(const std::string& built) {
  std::error_code none;
  const fs::path command = fs::read_symlink("/proc/self/exe", none);
  const fs::path beside = command.parent_path() / TRIREME_LIBRARY_FOLDER / fs::path(built).filename();
  return fs::exists(beside, none) ? beside.lexically_normal().string() : built;
}

}  // namespace

std::vector<mpi_library> mpi_libraries() {
  std::vector<mpi_library> found = {TRIREME_BENCH_MPI_LIBRARIES};
  for (mpi_library& each : found) {
    each.open_mpi = each.name == "openmpi";
    each.program = installed(each.program);
  }
  const char* const more = std::getenv("TRIREME_BENCH_MPI");
  if (more == nullptr) return found;
  std::istringstream entries(more);
  for (std::string entry; std::getline(entries, entry, ',');) {
    const std::size_t equals = entry.find('=');
    if (equals == 0 || equals == std::string::npos) {
      throw std::invalid_argument(fmt::format(
          "TRIREME_BENCH_MPI: '{}' is not NAME=FOLDER, such as openmpi5=/opt/openmpi/bin; commas stand between several",
          entry));
    }
    found.push_back(built_for(entry.substr(0, equals), entry.substr(equals + 1)));
  }
  return found;
}

}  // namespace tri::bench
