#include "omp/fibers/unsupported_constructs.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "os/dynamic_section.hpp"

namespace tri::omp {
namespace {

constexpr std::array known_libraries{
    "libc",     "libm",  "libgomp",    "libstdc++",  "libgfortran", "libquadmath",
    "libgcc_s", "libdl", "libpthread", "librt",      "libmvec",     "libatomic",
    "ld-linux", "ld64",  "ld",         "linux-vdso", "linux-gate",  "libc_malloc_debug",
};

// Entry points that virtual threads implement, or that do not depend on the calling thread.
constexpr std::array known_entries{
    "GOMP_alloc",
    "GOMP_atomic_end",
    "GOMP_atomic_start",
    "GOMP_barrier",
    "GOMP_barrier_cancel",
    "GOMP_cancel",
    "GOMP_cancellation_point",
    "GOMP_critical_end",
    "GOMP_critical_name_end",
    "GOMP_critical_name_start",
    "GOMP_critical_start",
    "GOMP_error",
    "GOMP_free",
    "GOMP_loop_dynamic_next",
    "GOMP_loop_dynamic_start",
    "GOMP_loop_end",
    "GOMP_loop_end_cancel",
    "GOMP_loop_end_nowait",
    "GOMP_loop_guided_next",
    "GOMP_loop_guided_start",
    "GOMP_loop_maybe_nonmonotonic_runtime_next",
    "GOMP_loop_maybe_nonmonotonic_runtime_start",
    "GOMP_loop_nonmonotonic_dynamic_next",
    "GOMP_loop_nonmonotonic_dynamic_start",
    "GOMP_loop_nonmonotonic_guided_next",
    "GOMP_loop_nonmonotonic_guided_start",
    "GOMP_loop_nonmonotonic_runtime_next",
    "GOMP_loop_nonmonotonic_runtime_start",
    "GOMP_loop_ordered_dynamic_next",
    "GOMP_loop_ordered_dynamic_start",
    "GOMP_loop_ordered_guided_next",
    "GOMP_loop_ordered_guided_start",
    "GOMP_loop_ordered_runtime_next",
    "GOMP_loop_ordered_runtime_start",
    "GOMP_loop_ordered_static_next",
    "GOMP_loop_ordered_static_start",
    "GOMP_loop_runtime_next",
    "GOMP_loop_runtime_start",
    "GOMP_loop_ull_dynamic_next",
    "GOMP_loop_ull_dynamic_start",
    "GOMP_loop_ull_guided_next",
    "GOMP_loop_ull_guided_start",
    "GOMP_loop_ull_maybe_nonmonotonic_runtime_next",
    "GOMP_loop_ull_maybe_nonmonotonic_runtime_start",
    "GOMP_loop_ull_nonmonotonic_dynamic_next",
    "GOMP_loop_ull_nonmonotonic_dynamic_start",
    "GOMP_loop_ull_nonmonotonic_guided_next",
    "GOMP_loop_ull_nonmonotonic_guided_start",
    "GOMP_loop_ull_nonmonotonic_runtime_next",
    "GOMP_loop_ull_nonmonotonic_runtime_start",
    "GOMP_loop_ull_ordered_dynamic_next",
    "GOMP_loop_ull_ordered_dynamic_start",
    "GOMP_loop_ull_ordered_guided_next",
    "GOMP_loop_ull_ordered_guided_start",
    "GOMP_loop_ull_ordered_runtime_next",
    "GOMP_loop_ull_ordered_runtime_start",
    "GOMP_loop_ull_ordered_static_next",
    "GOMP_loop_ull_ordered_static_start",
    "GOMP_loop_ull_runtime_next",
    "GOMP_loop_ull_runtime_start",
    "GOMP_ordered_end",
    "GOMP_ordered_start",
    "GOMP_parallel",
    "GOMP_parallel_loop_dynamic",
    "GOMP_parallel_loop_guided",
    "GOMP_parallel_loop_maybe_nonmonotonic_runtime",
    "GOMP_parallel_loop_nonmonotonic_dynamic",
    "GOMP_parallel_loop_nonmonotonic_guided",
    "GOMP_parallel_loop_nonmonotonic_runtime",
    "GOMP_parallel_loop_runtime",
    "GOMP_parallel_sections",
    "GOMP_sections_end",
    "GOMP_sections_end_cancel",
    "GOMP_sections_end_nowait",
    "GOMP_sections_next",
    "GOMP_sections_start",
    "GOMP_single_copy_end",
    "GOMP_single_copy_start",
    "GOMP_single_start",
    "GOMP_task",
    "GOMP_taskgroup_end",
    "GOMP_taskgroup_start",
    "GOMP_taskloop",
    "GOMP_taskloop_ull",
    "GOMP_taskwait",
    "GOMP_taskwait_depend",
    "GOMP_taskyield",
    "GOMP_warning",
};

// Functions of the interface (omp_*) that would show the native runtime's threads or wait for them. The others are
// answered, or are the same for all threads.
constexpr std::array foreign_functions{
    "omp_fulfill_event",      "omp_display_affinity", "omp_capture_affinity",       "omp_pause_resource",
    "omp_pause_resource_all", "omp_set_num_teams",    "omp_set_teams_thread_limit",
};

std::string_view without_fortran_ending(std::string_view name) {
  while (name.ends_with('_')) name.remove_suffix(1);
  return name;
}

void look_at_object(const dl_phdr_info& object, const std::string& name, program_traits& traits) {
  if (is_mpi_library(name)) {
    traits.unsupported = "it uses MPI, whose libraries have thread-local data";
    return;
  }
  const auto has_thread_data = [](const ElfW(Phdr) & part) { return part.p_type == PT_TLS && part.p_memsz > 0; };
  if (std::any_of(object.dlpi_phdr, object.dlpi_phdr + object.dlpi_phnum, has_thread_data)) {
    traits.unsupported = fmt::format("{} has thread-local data (threadprivate, thread_local, __thread)", name);
    return;
  }
  os::dynamic_section(object).for_each_wanted([&](std::string_view symbol, const ElfW(Sym) & entry) {
    if (!traits.unsupported.empty()) return;
    if (ELF64_ST_TYPE(entry.st_info) == STT_TLS) {
      traits.unsupported = fmt::format("{} uses the thread-local variable {} of another library", name, symbol);
    } else if (const char* const why = unsupported_symbol(symbol)) {
      traits.unsupported = fmt::format("{} uses {}: {}", name, symbol, why);
    } else if (is_address_of_errno(symbol)) {
      traits.keeps_errno = true;
    }
  });
}

}  // namespace

bool is_known_library(std::string_view path) {
  std::string_view file = path.substr(path.rfind('/') + 1);
  const std::size_t shared = file.find(".so");
  if (shared != std::string_view::npos) file = file.substr(0, shared);
  return std::any_of(known_libraries.begin(), known_libraries.end(), [file](std::string_view known) {
    // ld-linux-x86-64.so.2, ld64.so.2, linux-vdso.so.1, and libc-2.31.so of older systems
    if (file == known) return true;
    if (!file.starts_with(known) || file.size() <= known.size() || file[known.size()] != '-') return false;
    return known.starts_with("ld") || (file[known.size() + 1] >= '0' && file[known.size() + 1] <= '9');
  });
}

bool is_mpi_library(std::string_view path) {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  return file.starts_with("libmpi.so") || file.starts_with("libmpich.so") || file.starts_with("libmpi_abi.so") ||
         file.starts_with("libtrireme-mpi-");
}

const char* unsupported_symbol(std::string_view name) {
  if (name == "__emutls_get_address" || name == "__tls_get_addr" || name == "__tls_get_offset") {
    return "it has thread-local data";
  }
  if (name.starts_with("__kmpc_")) return "built by clang, whose static loops have a call of their own";
  if (name.starts_with("pthread_") || name.starts_with("thrd_") || name.starts_with("mtx_") ||
      name.starts_with("cnd_") || name.starts_with("tss_") || name == "call_once") {
    return "it calls thread functions (pthread or C11) itself";
  }
  if (name.starts_with("GOACC_") || name.starts_with("acc_")) return "OpenACC";
  if (name.starts_with("GOMP_")) {
    const bool known = std::find(known_entries.begin(), known_entries.end(), name) != known_entries.end();
    return known ? nullptr : "not possible with virtual threads";
  }
  if (name.starts_with("omp_")) {
    const auto& foreign = foreign_functions;
    const bool shows_native_threads =
        std::find(foreign.begin(), foreign.end(), without_fortran_ending(name)) != foreign.end();
    return shows_native_threads ? "it would show or wait for the runtime's threads" : nullptr;
  }
  return nullptr;
}

bool is_address_of_errno(std::string_view name) {
  return name == "__errno_location" || name == "__h_errno_location" || name == "__res_state";
}

program_traits look_at_program(const void* ours) {
  struct search {
    const void* own_base = nullptr;
    program_traits traits;
  } found;
  Dl_info own{};
  if (dladdr(ours, &own) != 0) found.own_base = own.dli_fbase;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* argument) {
        auto& search = *static_cast<struct search*>(argument);
        if (reinterpret_cast<const void*>(info->dlpi_addr) == search.own_base) return 0;
        std::string name = info->dlpi_name;
        if (name.empty()) {
          // The program, which the loader lists without a name.
          char path[4096];
          const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
          name = length > 0 ? std::string(path, static_cast<std::size_t>(length)) : "the program";
        } else if (is_known_library(name)) {
          return 0;
        }
        look_at_object(*info, name, search.traits);
        return search.traits.unsupported.empty() ? 0 : 1;
      },
      &found);
  return found.traits;
}

}  // namespace tri::omp
