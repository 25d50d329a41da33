// What this host permits ranks that share memory, determined by trial, and the limits that decide. The details give the
// consequence of a "no" and a remedy.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "machine_facts.hpp"

namespace tri::tools {

/// Whether two siblings, processes that one launcher started, may copy from and to each other's memory. Tries it
/// between two children.
machine_fact try_kernel_copies();

/// For the detail of a refusal: the kernel's error, and the setting that forbids it, if known. `ptrace_scope`: of Yama,
/// nothing where the kernel has none.
std::string why_no_kernel_copies(int error, std::optional<int> ptrace_scope);

/// Memory files, address window of the arena, kernel copies, limits of the process and of its control group, room for
/// the MPI library's own shared files.
std::vector<machine_fact> host_permissions();

}  // namespace tri::tools
