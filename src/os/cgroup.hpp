// The share of CPU time and of memory that a container or a service gives us. A quota does not show in the affinity
// mask, yet more busy threads than the quota allows would be stopped for most of each period; nor does the limit show
// in the size of the machine's memory, yet a process that exceeds it is killed. Reads /proc and /sys only.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace tri::os {

// CPUs worth of time that the control groups (version 2 and 1) of this process allow, e.g. 1.5; the smallest of all
// enclosing groups; nothing when there is no limit. `root` stands in for "/" in tests.
std::optional<double> cpu_quota(const std::string& root = "");

// Bytes of memory that they allow, likewise.
std::optional<std::size_t> memory_limit(const std::string& root = "");

}  // namespace tri::os
