// What this machine permits for our shared memory and counters, determined by trial. Used by `trireme info`.
#pragma once

#include <string>
#include <vector>

namespace tri::tools {

struct machine_fact {
  std::string name;  // for programs: "memfd"
  bool works;
  std::string detail;  // for people
};

std::vector<machine_fact> memory_facts();   // memfd, huge pages
std::vector<machine_fact> counter_facts();  // time stamp counter, perf events

}  // namespace tri::tools
