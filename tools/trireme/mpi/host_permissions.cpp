#include "mpi/host_permissions.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string_view>
#include <system_error>

#include "arena/window.hpp"
#include "config/configuration.hpp"
#include "config/option_value.hpp"
#include "exec/preload.hpp"
#include "os/cgroup.hpp"
#include "os/child_process.hpp"

namespace tri::tools {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

// In the second child: reads a byte of the first one and writes it back. The exit status is the error.
int copy_from_and_to(pid_t other, std::byte* there) {
  std::byte here{};
  const iovec local{&here, 1};
  const iovec remote{there, 1};
  if (process_vm_readv(other, &local, 1, &remote, 1, 0) != 1) return errno;
  if (process_vm_writev(other, &local, 1, &remote, 1, 0) != 1) return errno;
  return 0;
}

std::optional<int> ptrace_scope() {
  int scope = 0;
  if (std::ifstream("/proc/sys/kernel/yama/ptrace_scope") >> scope) return scope;
  return std::nullopt;
}

constexpr std::size_t window_bytes = config::default_arena_window_bytes;
constexpr const char* all_passes_through = "all messages are left to the MPI library";

// The address space alone: the window's file has a limit of its own.
machine_fact arena_window() {
  void* const place = reinterpret_cast<void*>(arena::base_address);
  void* const found =
      mmap(place, window_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  const int error = errno;
  if (found != MAP_FAILED) munmap(found, window_bytes);
  const std::string what = fmt::format("{} of addresses for each rank, from {:#x} on", config::write_size(window_bytes),
                                       arena::base_address);
  if (found == place) return {"arena", true, what};
  return {"arena", false,
          fmt::format("no {}: {}; {}", what, found != MAP_FAILED ? "something else lies there" : reason(error),
                      all_passes_through)};
}

struct limit_row {
  const char* name;
  const char* option;
  decltype(RLIMIT_AS) resource;
  std::size_t least_bytes;
  const char* below;  // what happens
};
// The heap has its own amounts (mpi/heap/memory_limits). Each rank maps the windows of all, and one rank is not a job.
constexpr std::array<limit_row, 3> limits{{
    {"address_space", "ulimit -v", RLIMIT_AS, 2 * (window_bytes + (window_bytes >> 1)), all_passes_through},
    {"data", "ulimit -d", RLIMIT_DATA, std::size_t{256} << 20, "the heap stays private"},
    {"file_size", "ulimit -f", RLIMIT_FSIZE, window_bytes, all_passes_through},
}};

machine_fact limit_fact(const limit_row& row) {
  rlimit now{};
  if (getrlimit(row.resource, &now) != 0 || now.rlim_cur == RLIM_INFINITY)
    return {row.name, true, fmt::format("no limit ({})", row.option)};
  const bool enough = now.rlim_cur >= row.least_bytes;
  return {row.name, enough,
          fmt::format("{} KiB ({}){}", now.rlim_cur >> 10, row.option,
                      enough ? "" : fmt::format("; {} below {} KiB", row.below, row.least_bytes >> 10))};
}

machine_fact memory_group() {
  const std::optional<std::size_t> limit = os::memory_limit();
  if (!limit) return {"memory", true, "no limit by a control group"};
  return {"memory", true,
          fmt::format("{} for all ranks in this control group, shared memory included; malloc refuses before",
                      config::write_size(*limit))};
}

// Ours are memory files without a file system, so a small /dev/shm (64 MiB in containers) is the MPI library's problem
// alone: it ends in SIGBUS when it is full.
machine_fact shared_files() {
  struct statvfs room {};
  if (statvfs("/dev/shm", &room) != 0)
    return {"dev_shm", false, fmt::format("/dev/shm: {}; we do not need it, MPI libraries may", reason(errno))};
  const std::uint64_t free = std::uint64_t{room.f_bavail} * room.f_frsize;
  return {"dev_shm", free >= std::uint64_t{64} << 20,
          fmt::format("{} MiB free in /dev/shm; we take none of it, MPICH up to 4 MiB for each rank", free >> 20)};
}

}  // namespace

std::string why_no_kernel_copies(int error, std::optional<int> scope) {
  std::string text = fmt::format("process_vm_readv: {}", reason(error));
  if (error == ENOSYS) return text + "; the kernel was built without it";
  if (scope.value_or(0) > 0) {
    return text + fmt::format("; kernel.yama.ptrace_scope is {}, and must be 0 for ranks to reach each other", *scope);
  }
  return text +
         "; in a container it needs the right to trace (--cap-add=SYS_PTRACE) and one user namespace for all ranks";
}

machine_fact try_kernel_copies() {
  machine_fact fact{"kernel_copies", false, ""};
  static std::byte sample{std::byte{1}};  // at one address in both children
  if (value_of("TRIREME_MPI_KERNEL_COPIES") == "off") {
    fact.detail = "TRIREME_MPI_KERNEL_COPIES=off";
    return fact;
  }
  pid_t first = -1;
  int status = 0;
  try {
    first = os::start_function([]() -> int {
      while (true) pause();
    });
    status = os::wait_for(os::start_function([&] { return copy_from_and_to(first, &sample); }));
  } catch (const std::system_error& problem) {
    fact.detail = fmt::format("could not be tried: {}", problem.code().message());
  }
  if (first > 0) os::kill_and_wait(first);
  if (!fact.detail.empty()) return fact;
  if (WIFSIGNALED(status)) {  // a seccomp filter may kill the caller
    fact.detail = fmt::format(
        "process_vm_readv ended the process by signal {}; TRIREME_MPI_KERNEL_COPIES=off avoids it", WTERMSIG(status));
  } else if (WEXITSTATUS(status) != 0) {
    fact.detail = why_no_kernel_copies(WEXITSTATUS(status), ptrace_scope());
  } else {
    fact.works = true;
    fact.detail = "between processes of one launcher (process_vm_readv and process_vm_writev)";
  }
  return fact;
}

std::vector<machine_fact> host_permissions() {
  std::vector<machine_fact> facts{memory_facts().front(), arena_window(), try_kernel_copies()};
  for (const limit_row& row : limits) facts.push_back(limit_fact(row));
  facts.push_back(memory_group());
  facts.push_back(shared_files());
  return facts;
}

}  // namespace tri::tools
