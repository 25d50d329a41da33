// The NUMA domain that a rank is bound to, found by `trireme exec` before the program starts: the program itself shall
// not load a library for that.
#pragma once

#include <optional>
#include <string>

namespace tri::tools {

/// On this machine ("auto"): the domain that has all CPUs of this process's affinity mask; nothing when there are
/// several, or when the machine has only one. `root` stands in for "/" in tests. For another machine (an XML file or a
/// synthetic description): the domain of the core that the rank with this number on its host would get; its number
/// comes from the variables that mpirun sets. Throws std::exception for a description that cannot be used.
std::optional<int> domain_of_this_rank(const std::string& topology, const std::string& root = "");

}  // namespace tri::tools
