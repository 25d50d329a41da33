// The machine's own limits, for comparison with the other rows.
#include "framework/cacheline.hpp"
#include "suites.hpp"

namespace tri::bench {

std::vector<row_definition> machine_rows() {
  return {{.name = "cacheline_handoff",
           .unit = "ns",
           .description = "a cache line from one core to another, one way, nothing else",
           .measure = [](context& tools) {
             const cpu_pair cpus = two_cpus();
             return measurement{.samples = measure_handoff(tools.runner(), cpus.first, cpus.second)};
           }}};
}

}  // namespace tri::bench
