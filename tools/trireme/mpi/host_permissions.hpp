// What this host allows ranks that share memory, found out by trying, and the limits that decide about it. The details
// say what follows from a "no" and what would help.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "machine_facts.hpp"

namespace tri::tools {

/// May two processes that one launcher started, neither the other's parent, copy from and to each other's memory? Tries
/// it between two children.
machine_fact try_kernel_copies();

/// For the detail of a refusal: what the kernel answered, and the setting that forbids it where one is known.
/// `ptrace_scope`: of Yama, nothing where the kernel has none.
std::string why_no_kernel_copies(int error, std::optional<int> ptrace_scope);

/// Memory files, address window of the arena, kernel copies, limits of the process and of its control group, room for
/// the MPI library's own shared files.
std::vector<machine_fact> host_permissions();

}  // namespace tri::tools
