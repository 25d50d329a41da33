// The user's settings of the drop-in: environment variables that `trireme exec` sets from its options (docs/user/mpi.md
// names them). A value that cannot be used throws std::invalid_argument, which names the variable.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "coll/cost_parameters.hpp"
#include "mpi/engine/engine.hpp"
#include "mpi/engine/progress_mode.hpp"

namespace tri::mpi {

/// TRIREME_MPI=off: everything is the MPI library's.
bool is_switched_off();
/// TRIREME_MPI=on, which is `trireme exec --mpi`: taking part is more than the default.
bool is_wished();
/// TRIREME_MPI_PRETEND_HOSTS: the ranks of a host share memory as if it were several hosts, for tests without a
/// cluster. "2": blocks of ranks that follow each other; "2,cyclic": each rank is on another host than the one before.
bool pretends_hosts();
/// Which of them a rank is on, from 1; 0 without the variable.
int pretended_host_of(int world_rank, int ranks);

/// TRIREME_MPI_KERNEL_COPIES=off: as if the kernel refused to copy between processes.
bool wants_no_kernel_copies();

/// TRIREME_MPI_REPRODUCIBLE_SUMS=on: sums of floats and doubles depend on the contributions alone.
bool wants_reproducible_sums();

struct statistics_wish {
  bool table = false;  // on standard error
  std::string file;    // JSON; empty: none
  bool any() const { return table || !file.empty(); }
};
statistics_wish wished_statistics();

/// TRIREME_MPI_TRACE: the folder for traces of the ranks; empty: none.
std::string wished_trace();

/// How long ranks wait for each other in MPI_Init; 0 s is for ever. TRIREME_MPI_START_TIMEOUT sets all of them.
struct start_limits {
  /// For a rank that does not come to the bootstrap exchange: all have left the library's MPI_Init, in which they wait
  /// for each other. Then the job continues without us.
  std::chrono::seconds to_come{5};
  /// For the next message of a connected rank. Then the job ends.
  std::chrono::seconds to_speak{60};
  /// For a rank that got the socket's name through the library. Then the job continues without us.
  std::chrono::seconds through_library{20};

  /// From the user's settings. An invalid value is ignored here: read_user_settings reports it.
  start_limits();
};

struct user_settings {
  engine_options engine;
  progress_choice progress;
  std::int32_t domain = no_domain;  // NUMA domain that the rank is bound to
  /// TRIREME_MPI_COLLECTIVE_COSTS: by these, algorithms are chosen. None: by sizes that were measured here.
  std::optional<coll::cost_parameters> collective_costs = {};
};
user_settings read_user_settings();

}  // namespace tri::mpi
