#include "exec/mpi_program.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>

#include "config/option_value.hpp"
#include "exec/child_output.hpp"
#include "exec/numa_domain.hpp"
#include "exec/preload.hpp"
#include "exec/program_symbols.hpp"
#include "mpi/engine/numa_help_policy.hpp"
#include "mpi/engine/progress_mode.hpp"
#include "os/child_process.hpp"
#include "os/process_tree.hpp"

namespace tri::tools {
namespace {

namespace fs = std::filesystem;

enum class file_kind : std::uint8_t { dynamic, fixed, other };

// Statically linked programs have no interpreter among their segments.
file_kind kind_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  Elf64_Ehdr header{};
  in.read(reinterpret_cast<char*>(&header), sizeof header);
  if (!in || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
    return file_kind::other;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    in.seekg(static_cast<std::streamoff>(header.e_phoff + std::uint64_t{i} * header.e_phentsize));
    in.read(reinterpret_cast<char*>(&segment), sizeof segment);
    if (in && segment.p_type == PT_INTERP) return file_kind::dynamic;
  }
  return file_kind::fixed;
}

mpi_finding by_launcher() {
  if (!value_of("OMPI_COMM_WORLD_SIZE").empty()) return {mpi_library::openmpi, false, {}};
  if (!value_of("PMI_RANK").empty() || !value_of("MPI_LOCALNRANKS").empty()) return {mpi_library::mpich, false, {}};
  return {};
}

bool has(std::string_view list, std::string_view name) {
  for (std::size_t at = list.find(name); at != std::string_view::npos; at = list.find(name, at + 1)) {
    const char behind = at + name.size() < list.size() ? list[at + name.size()] : ' ';
    const char before = at > 0 ? list[at - 1] : ' ';
    if ((before == ' ' || before == '\t' || before == '\n') && (behind == ' ' || behind == '\n')) return true;
  }
  return false;
}

void check_switch(const char* variable, const char* values) {
  const std::string value = value_of(variable);
  if (!value.empty() && value != "on" && value != "off")
    throw std::invalid_argument(fmt::format("{} is '{}'; it must be {}", variable, value, values));
}

// The option, or else the variable, checked and written as the drop-in reads it by `read`. Empty: nothing is set.
template <class Read>
void set_for_drop_in(const char* variable, const std::string& option, const char* option_name, Read&& read) {
  const std::string text = option.empty() ? value_of(variable) : option;
  if (text.empty()) return;
  try {
    setenv(variable, read(text).c_str(), 1);
  } catch (const std::invalid_argument& problem) {
    throw std::invalid_argument(fmt::format("{}: {}", option.empty() ? variable : option_name, problem.what()));
  }
}

}  // namespace

const mpi_interface* interface_of(mpi_library library) {
  for (const mpi_interface& each : mpi_interfaces)
    if (each.library == library) return &each;
  return nullptr;
}

mpi_finding mpi_in_loader_list(std::string_view list) {
  for (const mpi_interface& each : mpi_interfaces)
    if (has(list, each.soname)) return {each.library, true, {}};
  for (const std::string_view other : {"libmpi.so.", "libmpich.so.", "libmpi_abi.so."}) {
    const std::size_t at = list.find(other);
    if (at == std::string_view::npos) continue;
    const std::string name(list.substr(at, list.find_first_of(" \n", at) - at));
    return {mpi_library::none, true,
            fmt::format("it uses {}; supported are libmpi.so.40 (Open MPI), libmpich.so.12 or libmpi.so.12 (MPICH and "
                        "what is binary compatible with it), and libmpi_abi.so.1 (the standard ABI)",
                        name)};
  }
  return {};
}

namespace {

// The launcher of one of the two libraries: a variable that only it sets for its processes, and Debian's name for it
// when both are installed.
struct mpi_launcher {
  mpi_library library;
  const char* name;
  const char* library_name;
  const char* mark;
  const char* rank;
  const char* size;
};
constexpr mpi_launcher launchers[] = {
    {mpi_library::openmpi, "mpirun.openmpi", "Open MPI", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_SIZE"},
    // Slurm sets PMI_RANK, too, for both libraries.
    {mpi_library::mpich, "mpirun.mpich", "MPICH", "MPI_LOCALNRANKS", "PMI_RANK", "PMI_SIZE"},
};

}  // namespace

std::string launcher_command(mpi_library library) {
  for (const mpi_launcher& each : launchers)
    if (each.library == library && os::has_program(each.name)) return each.name;
  return "mpirun";
}

std::string launcher_of_the_other(mpi_library library, const std::string& program) {
  const bool is_first = library == launchers[0].library;
  const mpi_launcher& own = launchers[is_first ? 0 : 1];
  const mpi_launcher& other = launchers[is_first ? 1 : 0];
  // Both: a launcher inside a job of the other one. The program's library finds its own. The standard ABI has no
  // launcher.
  if (library == mpi_library::none || library == mpi_library::standard || value_of(other.mark).empty() ||
      !value_of(own.mark).empty())
    return {};
  const std::string processes = value_of(other.size);
  if (value_of(other.rank) != "0" || processes.empty() || processes == "1") return {};
  const std::string right = os::has_program(own.name)
                                ? fmt::format("`{} -n {} trireme exec {}`", own.name, processes, program)
                                : fmt::format("the mpirun of {}", own.library_name);
  return fmt::format(
      "{0} uses {1}, but the launcher of {2} has started it: most likely each of the {3} processes is a "
      "job of its own, of one rank; start it by {4}",
      program, own.library_name, other.library_name, processes, right);
}

bool begins_by_inner_names(const std::string& program) {
  return wants_any(program, {"mpi_init_f08_", "mpi_init_thread_f08_"}) &&
         !wants_any(program, {"MPI_Init", "MPI_Init_thread", "mpi_init_", "mpi_init_thread_"});
}

namespace {

// Its run-time library insists on being the first one, and watches the memory that it has given out itself.
bool is_sanitized(const std::string& program) {
  const auto marks = {std::string_view("__asan_init"), std::string_view("__tsan_init"), std::string_view("__msan_init"),
                      std::string_view("__hwasan_init"), std::string_view("__lsan_init")};
  return wants_any(program, marks) || defines_any(program, marks);
}

}  // namespace

mpi_finding find_mpi(const std::string& program) {
  const file_kind kind = kind_of(program);
  struct stat about {};
  const bool changes_user = stat(program.c_str(), &about) == 0 && (about.st_mode & (S_ISUID | S_ISGID)) != 0;
  mpi_finding found = kind == file_kind::dynamic ? mpi_in_loader_list(loader_list(program)) : mpi_finding();
  if (found.library == mpi_library::none && found.obstacle.empty()) {
    if (kind == file_kind::dynamic && defines_any(program, {"MPI_Init", "PMPI_Init"}))
      return {mpi_library::none, true, "its MPI library is linked in statically, so it cannot be intercepted"};
    found = by_launcher();
  }
  if (found.library == mpi_library::none) return found;
  if (kind == file_kind::fixed)
    return {mpi_library::none, false, "it is statically linked, so its MPI cannot be intercepted"};
  if (changes_user)
    return {mpi_library::none, false,
            "it runs as another user or group (setuid), so the loader takes no other libraries"};
  if (kind == file_kind::dynamic && is_sanitized(program))
    return {mpi_library::none, false, "it is built with a sanitizer of memory or threads, which must come first"};
  return found;
}

bool check_mpi_switches() {
  for (const char* const variable :
       {"TRIREME_MPI", "TRIREME_MPI_HEAP", "TRIREME_MPI_STATIC_DATA", "TRIREME_MPI_KERNEL_COPIES"})
    check_switch(variable, "on (the default) or off");
  for (const char* const variable : {"TRIREME_MPI_STATISTICS", "TRIREME_MPI_REPRODUCIBLE_SUMS"})
    check_switch(variable, "on or off (the default)");
  return value_of("TRIREME_MPI") != "off";
}

void set_sharing(const std::string& sharing, const std::string& from) {
  set_for_drop_in("TRIREME_MPI_SHARING", sharing, "--sharing", [](const std::string& text) {
    mpi::parse_sharing(text);
    return text;
  });
  set_for_drop_in("TRIREME_MPI_SHARING_FROM", from, "--sharing-from", [](const std::string& text) {
    try {
      return std::to_string(config::read_size(text, config::anything("32K by default")));
    } catch (const std::invalid_argument& problem) {
      throw std::invalid_argument(fmt::format("'{}' is not a size; {}", text, problem.what()));
    }
  });
  if (!value_of("TRIREME_MPI_DOMAIN").empty()) return;
  try {
    if (const std::optional<int> domain = domain_of_this_rank(value_of("TRIREME_TOPOLOGY")))
      setenv("TRIREME_MPI_DOMAIN", std::to_string(*domain).c_str(), 1);
  } catch (const std::runtime_error& problem) {  // an error in TRIREME_TOPOLOGY
    throw std::invalid_argument(problem.what());
  }
}

void set_progress(const std::string& progress) {
  set_for_drop_in("TRIREME_MPI_PROGRESS", progress, "--progress", [](const std::string& text) {
    mpi::parse_progress(text);
    return text;
  });
}

void check_statistics_file(const std::string& name) {
  for (const char* const rank : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"})
    if (const std::string number = value_of(rank); !number.empty() && number != "0") return;
  const fs::path file(name);
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  std::error_code error;
  const char* problem = nullptr;
  if (!fs::is_directory(folder, error))
    problem = "there is no such folder";
  else if (fs::is_directory(file, error))
    problem = "it is a folder; name a file in it";
  else if (access(fs::exists(file, error) ? file.c_str() : folder.c_str(), W_OK) != 0)
    problem = std::strerror(errno);
  if (problem != nullptr)
    throw std::invalid_argument(fmt::format("the statistics could not be written to {}: {}", name, problem));
}

namespace {

// In the environment at exec. Also false for other users' processes.
bool began_with_variable(pid_t process, std::string_view variable) {
  std::ifstream in(fmt::format("/proc/{}/environ", process), std::ios::binary);
  for (std::string entry; std::getline(in, entry, '\0');)
    if (entry.size() > variable.size() && entry.starts_with(variable) && entry[variable.size()] == '=') return true;
  return false;
}

// The launcher, or its proxy on this host: the nearest ancestor of this process that is not a rank itself, as wrappers
// between the two are. Processes further up, a shell or a Python environment, may belong to another MPI.
pid_t launcher_of_this_rank() {
  for (const char* const rank : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "MPI_LOCALRANKID"}) {
    if (value_of(rank).empty()) continue;
    pid_t process = getppid();
    while (process > 1 && began_with_variable(process, rank)) process = os::parent_of(process);
    return process;
  }
  return 0;
}

}  // namespace

std::string beside_launcher(std::string_view name) {
  const pid_t launcher = launcher_of_this_rank();
  if (launcher <= 1) return {};
  std::error_code error;
  const fs::path folder = fs::read_symlink(fmt::format("/proc/{}/exe", launcher), error).parent_path();
  for (const char* const libraries : {"lib", "lib64"}) {
    const fs::path file = folder.parent_path() / libraries / name;
    if (!error && fs::exists(file, error)) return file;
  }
  return {};
}

void set_up_mpi(const mpi_finding& found) {
  const mpi_interface& usual = *interface_of(found.library);
  // Interpreters load their MPI later; our library needs it from the start. Python's packages bring theirs with them,
  // in the folder of their launcher, where the loader does not look.
  if (!found.is_linked) {
    std::string library;
    for (const mpi_interface& each : mpi_interfaces)
      if (library.empty() && each.library == found.library) library = beside_launcher(each.soname);
    preload(library.empty() ? usual.soname : library);
  }
  preload(library_path(usual.drop_in));
}

}  // namespace tri::tools
