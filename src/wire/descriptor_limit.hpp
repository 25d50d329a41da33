// How many files this process may have open. Called before other threads change limits.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <cstddef>

namespace tri::wire {

/// A TCP connection is a descriptor; the usual soft limit of 1024 would end the job in the middle. What cannot be had
/// is reported by the connection that lacks it.
inline void allow_descriptors(std::size_t connections) {
  constexpr rlim_t for_others = 256;
  rlimit limit = {};
  const rlim_t needed = connections + for_others;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return;
  limit.rlim_cur = std::min<rlim_t>(needed, limit.rlim_max);
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace tri::wire
