#include "boot/mpi/mpi_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdlib>

#include "boot/membership.hpp"
#include "config/variable_names.hpp"
#include "os/plug_in.hpp"

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

void* load(const std::string& file, bool carries_messages) {
  std::string reason;
  if (void* const loaded = os::load_plug_in(file, reason)) return loaded;
  if (!carries_messages)
    throw job_error(fmt::format(
        "a program that has initialized MPI joins the job by {}, which cannot be loaded ({}); it is built where "
        "the headers of that MPI library are installed: set LD_LIBRARY_PATH to its folder, or name the "
        "file by --tri-wire-mpi",
        file, reason));
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

void check_usable(const mpi_calls& started, int expected, bool carries_messages) {
  if (carries_messages && started.is_of_program() && started.thread_level() < mpi_thread_level::multiple) {
    throw job_error(fmt::format(
        "the wire 'mpi' calls MPI from threads of its own, and the program calls it, too; that needs "
        "MPI_THREAD_MULTIPLE, and MPI was initialized with {}: call MPI_Init_thread, or use another --tri-wire",
        name_of(started.thread_level())));
  }
  if (carries_messages && started.thread_level() < mpi_thread_level::serialized) {
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

void check_usable_between_hosts(const mpi_calls& started) {
  if (started.thread_level() >= mpi_thread_level::serialized) return;
  throw job_error(fmt::format(
      "at the end of a job over several hosts a thread of Trireme calls MPI while the program's waits, which "
      "needs MPI_THREAD_SERIALIZED, and MPI was initialized with {}: call MPI_Init_thread in place of MPI_Init",
      name_of(started.thread_level())));
}

bool program_has_initialized_mpi() {
  // These two have one binary interface in all libraries.
  using query = int (*)(int*);
  const auto is_initialized = reinterpret_cast<query>(dlsym(RTLD_DEFAULT, "MPI_Initialized"));
  const auto is_finalized = reinterpret_cast<query>(dlsym(RTLD_DEFAULT, "MPI_Finalized"));
  if (is_initialized == nullptr || is_finalized == nullptr) return false;
  int initialized = 0;
  int finalized = 0;
  return is_initialized(&initialized) == 0 && is_finalized(&finalized) == 0 && initialized != 0 && finalized == 0;
}

bool is_under_mpi_drop_in() {
  Dl_info where{};
  const void* const intercepted = dlsym(RTLD_DEFAULT, "MPI_Send");
  const char* const off = std::getenv("TRIREME_MPI");
  if (intercepted == nullptr || dladdr(intercepted, &where) == 0 || where.dli_fname == nullptr) return false;
  const std::string_view file = where.dli_fname;
  const std::string_view name = file.substr(file.rfind('/') + 1);
  return name.starts_with("libtrireme-mpi-") && !name.starts_with("libtrireme-mpi-slack") &&
         (off == nullptr || std::string_view(off) != "off");
}

mpi_calls& start_mpi(std::string_view choice, launcher_kind launcher, bool carries_messages) {
  // Of the program it is the one that is there, whoever launched it.
  if (choice == "auto" && program_has_initialized_mpi())
    choice = dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world") != nullptr ? "openmpi" : "mpich";
  const std::string file = mpi_plug_in_for(choice, launcher);
  if (was_started) {
    throw job_error(
        "MPI begins and ends once in a process: a program can join a job through it (tri::init, tri::run) only once; "
        "with tri::run and without MPI_Init, --tri-wire ucx needs no MPI");
  }
  void* const library = load(file, carries_messages);
  auto* const start = reinterpret_cast<start_mpi_function*>(dlsym(library, "trireme_start_mpi"));
  if (start == nullptr)
    throw job_error(fmt::format("{} has no trireme_start_mpi: it is not a plug-in for the wire 'mpi'", file));
  std::array<char, 1024> problem{};
  mpi_calls* const started = start(mpi_calls::version, problem.data(), problem.size());
  if (started == nullptr) throw job_error(fmt::format("MPI cannot be used: {}", problem.data()));
  was_started = true;
  check_usable(*started, processes_by_environment(config::environment_of_this_process()), carries_messages);
  the_started = started;
  return *started;
}

mpi_calls* started_mpi() { return the_started; }
void forget_started_mpi() { the_started = nullptr; }

}  // namespace tri::boot
