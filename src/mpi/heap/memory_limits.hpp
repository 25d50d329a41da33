// Memory that this process may use, so that malloc can fail instead of the process dying at first touch: pages of a
// shared memory file count neither against RLIMIT_DATA nor in the kernel's overcommit check, so we do that accounting
// ourselves.
#pragma once

#include <cstddef>
#include <string_view>

#include "mpi/heap/text_line.hpp"

namespace tri::mpi {

struct memory_limits {
  std::size_t heap_bytes = 0;  ///< the heap may hold at most this: the tightest memory limit of our cgroups, less a bit
  std::size_t block_bytes =
      0;  ///< no single block larger than memory and swap of the host, as in the kernel's default check
  std::size_t window_bytes = 0;  ///< address space for the window; 0: no shared heap, see `reason`
  text_line reason;
};

/// Reads limits, cgroups and the overcommit mode. Allocates nothing.
memory_limits read_memory_limits();

/// The tightest memory limit of the groups in `groups` (the text of /proc/self/cgroup) and those above them, of cgroup
/// version 1 and 2 as they are mounted below `root`; all ones when there is none.
std::size_t cgroup_memory_limit(std::string_view groups, std::string_view root);

/// The least memory left below the limit of one of these cgroups, with page cache of files on disk counted as free; all
/// ones when there is no limit.
std::size_t cgroup_memory_left(std::string_view groups, std::string_view root);

/// An estimate of the memory this process can still use before the OOM killer acts: other processes of the host and of
/// the cgroup use the same memory. Allocates nothing.
std::size_t memory_left();

/// Whether a heap that holds `bytes` is within RLIMIT_DATA and RLIMIT_AS as they are now: a program may lower them
/// itself.
bool within_resource_limits(std::size_t bytes);

/// A window has at least this; less address space than four times this means no shared heap.
inline constexpr std::size_t smallest_window_bytes = std::size_t{256} << 20;

}  // namespace tri::mpi
