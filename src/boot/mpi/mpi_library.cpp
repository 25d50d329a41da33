#include "boot/mpi/mpi_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <filesystem>

#include "boot/membership.hpp"
#include "config/variable_names.hpp"

namespace tri::boot {
namespace {

// Of this process; written at the start and the end of a job, when one thread is there.
mpi_calls* the_started = nullptr;
bool was_started = false;

const char* name_of(mpi_thread_level level) {
  switch (level) {
    case mpi_thread_level::single:
      return "MPI_THREAD_SINGLE";
    case mpi_thread_level::funneled:
      return "MPI_THREAD_FUNNELED";
    case mpi_thread_level::serialized:
      return "MPI_THREAD_SERIALIZED";
    case mpi_thread_level::multiple:
      return "MPI_THREAD_MULTIPLE";
  }
  return "an unknown level";
}

// By its name alone if the dynamic linker finds it; otherwise in the folders of installations and builds.
void* load(const std::string& file) {
  namespace fs = std::filesystem;
  std::vector<std::string> places{file};
  if (file.find('/') == std::string::npos) {
    std::error_code unknown;
    const fs::path program = fs::read_symlink("/proc/self/exe", unknown);
    if (!unknown) places.push_back((program.parent_path() / "../lib" / file).lexically_normal().string());
    places.push_back(std::string(TRIREME_INSTALLED_LIBRARIES) + "/" + file);
  }
  std::string reason;
  for (const std::string& place : places) {
    if (void* const loaded = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL)) return loaded;
    // The first folder's error is the least useful when another one has the file and cannot load it.
    const std::string found = dlerror();
    if (reason.empty() || fs::exists(place)) reason = found;
  }
  throw job_error(fmt::format(
      "the wire 'mpi' needs {}, which cannot be loaded ({}); it is built where the headers of that MPI library are "
      "installed: set LD_LIBRARY_PATH to its folder, name the file by --tri-wire-mpi, or use --tri-wire ucx",
      file, reason));
}

}  // namespace

std::string mpi_plug_in_for(std::string_view choice, launcher_kind launcher) {
  if (choice.find('/') != std::string_view::npos) return std::string(choice);
  if (choice == "auto") choice = launcher == launcher_kind::pmix ? "openmpi" : "mpich";
  if (choice != "openmpi" && choice != "mpich")
    throw job_error(fmt::format(
        "wire_mpi is '{}'; it must be auto, openmpi, mpich, or the path of a plug-in (with a slash)", choice));
  return fmt::format("libtrireme-wire-{}.so", choice);
}

int processes_by_environment(const std::vector<std::string>& environment) {
  for (const std::string_view name : {"OMPI_COMM_WORLD_SIZE=", "PMI_SIZE="}) {
    for (const std::string& each : environment) {
      if (!each.starts_with(name)) continue;
      int number = 0;
      const auto [end, error] = std::from_chars(each.data() + name.size(), each.data() + each.size(), number);
      if (error == std::errc() && end == each.data() + each.size()) return number;
    }
  }
  return 0;
}

void check_usable(const mpi_calls& started, int expected) {
  if (started.thread_level() < mpi_thread_level::serialized) {
    throw job_error(fmt::format(
        "the wire 'mpi' calls MPI from several threads, one at a time, and needs MPI_THREAD_SERIALIZED; {} provides {} "
        "only: use one that was built with threads, or --tri-wire ucx",
        started.library(), name_of(started.thread_level())));
  }
  if (expected != 0 && started.size() != expected) {
    throw job_error(fmt::format(
        "the launcher started {} processes, but {} sees {}: it is not the launcher's library; choose the one that "
        "belongs to it by --tri-wire-mpi (openmpi, mpich)",
        expected, started.library(), started.size()));
  }
}

mpi_calls& start_mpi(std::string_view choice, launcher_kind launcher) {
  const std::string file = mpi_plug_in_for(choice, launcher);
  if (was_started) {
    throw job_error(
        "MPI begins and ends once in a process: with --tri-wire mpi a program can call tri::run only once; use "
        "--tri-wire ucx");
  }
  void* const library = load(file);
  auto* const start = reinterpret_cast<start_mpi_function*>(dlsym(library, "trireme_start_mpi"));
  if (start == nullptr)
    throw job_error(fmt::format("{} has no trireme_start_mpi: it is not a plug-in for the wire 'mpi'", file));
  std::array<char, 1024> problem{};
  mpi_calls* const started = start(mpi_calls::version, problem.data(), problem.size());
  if (started == nullptr) throw job_error(fmt::format("the wire 'mpi' cannot be used: {}", problem.data()));
  was_started = true;
  check_usable(*started, processes_by_environment(config::environment_of_this_process()));
  the_started = started;
  return *started;
}

mpi_calls* started_mpi() { return the_started; }
void forget_started_mpi() { the_started = nullptr; }

}  // namespace tri::boot
