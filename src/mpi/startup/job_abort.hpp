// The end of a job that cannot go on.
#pragma once

#include <string_view>

namespace tri::mpi {

/// Says why on standard error, and ends all ranks through the library when the launcher has read that: MPICH's kills
/// the ranks at once.
[[noreturn]] void abort_job(std::string_view why);

}  // namespace tri::mpi
