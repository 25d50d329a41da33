// Advice on how to split the cores of a host into processes (M78). Pure functions of a topology, which may be another
// machine's.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "os/cpu/topology.hpp"

namespace tri::tools {

struct split_wishes {
  int hosts = 1;             ///< at least 1, all alike
  bool comm_thread = false;  ///< each process has a communication thread, which gets a core of its own
};

struct advised_process {
  int numa = 0;           ///< its domain, a logical index of the topology
  std::vector<int> cpus;  ///< of its PEs; numbers of the operating system
  int comm_cpu = -1;      ///< the core that is left for its communication thread; -1: none
};

struct split_advice {
  int pes_per_process = 1;
  std::vector<advised_process> processes;  ///< of one host, in the order of their numbers there
  int unused_cores = 0;                    ///< of the host: all processes must have the same number of PEs
  /// The PEs would not lie so by themselves: the value for --affinity; empty: they would.
  std::string affinity;
  std::vector<std::string> reasons;   ///< sentences
  std::vector<std::string> commands;  ///< command lines that start the program ./app so
};

/// No process spans two NUMA domains, and every domain with usable cores has one, unless the control group allows less
/// CPU time than that. PEs lie on different cores. Throws std::invalid_argument for wishes that cannot be: no hosts, or
/// a communication thread where the host has one core.
split_advice advise_split(const os::topology& machine, const split_wishes& wishes);

std::string to_text(const split_advice& advice, const os::topology& machine, const split_wishes& wishes);
nlohmann::json to_json(const split_advice& advice, const os::topology& machine, const split_wishes& wishes);

}  // namespace tri::tools
