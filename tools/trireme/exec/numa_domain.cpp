#include "exec/numa_domain.hpp"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <vector>

#include "config/configuration.hpp"
#include "config/placement.hpp"
#include "exec/preload.hpp"
#include "os/cpu/cpu_list.hpp"
#include "os/cpu/pinning.hpp"
#include "os/cpu/topology.hpp"
#include "os/text_file.hpp"

namespace tri::tools {
namespace {

std::vector<int> cpus_in(const std::string& file) {
  std::string line;
  if (!os::text_file(file).next_line(line) || line.empty()) return {};
  return os::parse_cpu_list(line);
}

std::optional<int> number_of_first(std::initializer_list<const char*> variables) {
  for (const char* const each : variables) {
    const std::string text = value_of(each);
    int value = 0;
    if (!text.empty() && std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc()) return value;
  }
  return std::nullopt;
}

std::optional<int> domain_on_this_machine(const std::string& root) {
  const std::string nodes = root + "/sys/devices/system/node/";
  const std::vector<int> domains = cpus_in(nodes + "online");  // a list of the same form
  if (domains.size() < 2) return std::nullopt;
  const std::vector<int> mine = os::cpus_of_this_thread();
  for (const int domain : domains) {
    const std::vector<int> cpus = cpus_in(nodes + "node" + std::to_string(domain) + "/cpulist");
    if (std::all_of(mine.begin(), mine.end(),
                    [&](int cpu) { return std::find(cpus.begin(), cpus.end(), cpu) != cpus.end(); }))
      return domain;
  }
  return std::nullopt;
}

}  // namespace

std::optional<int> domain_of_this_rank(const std::string& topology, const std::string& root) {
  if (topology.empty() || topology == "auto") return domain_on_this_machine(root);
  const std::optional<int> rank = number_of_first({"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_RANK"});
  const std::optional<int> ranks = number_of_first({"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PMI_SIZE"});
  if (!rank || !ranks || *rank < 0 || *rank >= *ranks) return std::nullopt;
  config::configuration values;
  values.topology = topology;
  const os::topology& machine = os::topology::shared(topology);
  return machine.at(config::assign_cpus(values, machine, *rank, *ranks, 1).cpus.front()).numa;
}

}  // namespace tri::tools
