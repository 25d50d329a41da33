// Memory of processes as the kernel accounts for it (/proc). One thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>

namespace tri::tools {

struct process_memory {
  std::uint64_t resident_bytes = 0;  ///< RSS: a page that several processes map counts in each of them
  /// PSS: each process has its part of a shared page, so that the sum over processes is the memory that they use.
  /// Nothing: the kernel does not say (before Linux 4.14, or another user's process).
  std::optional<std::uint64_t> proportional_bytes;
};

/// Nothing for a process that has ended.
std::optional<process_memory> memory_of(pid_t process);

/// The sum over those that have not ended. PSS only if all of them have it.
process_memory memory_of_all(std::span<const pid_t> processes);

}  // namespace tri::tools
