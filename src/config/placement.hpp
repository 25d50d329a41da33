// Which CPU each PE gets, how many PEs a process starts, and in what order a PE looks for work at the others. Pure
// functions of configuration and topology, called by start-up code.
#pragma once

#include <span>
#include <vector>

namespace tri::os {
class topology;
}

namespace tri::config {

struct configuration;

// configuration::pes, or for 0 the cores of the machine that the processes on it may use, divided by their number; at
// least 1.
int resolve_pes(const configuration& values, int processes_on_machine);

struct placement {
  std::vector<int> cpus;      // of each PE of this process; numbers of the operating system
  std::vector<int> all_cpus;  // of all PEs of the machine, by process and then PE
  bool pinned = false;  // PEs are to be bound to their CPU; otherwise cpus only says which PEs are near each other
  bool oversubscribed =
      false;  // some PEs of the machine must share a PU (or there is less CPU time than PEs): do not spin
};

// The CPUs of the PEs of process `process` of `processes` on the machine.
// auto: neighbouring PEs on neighbouring cores, a second PU of a core only when all cores are taken; when there are
// more PEs than PUs (or the topology is not this machine) nothing is bound and the operating system spreads them. none:
// nothing is bound. A list: entry i is for PE i of the machine, bound also where several share a CPU. Throws
// configuration_error for a list that is too short or has a CPU that this process may not use.
placement assign_cpus(const configuration& values, const os::topology& machine, int process, int processes,
                      int pes_per_process);
placement assign_cpus(const configuration& values, int process, int processes, int pes_per_process);

// The other PEs (indices in cpus) in the order in which PE `self` asks them for work: nearest distance class first, and
// within a class starting behind itself, so that thieves do not all begin at the same victim.
std::vector<int> victim_order(const os::topology& machine, std::span<const int> cpus, int self);

}  // namespace tri::config
