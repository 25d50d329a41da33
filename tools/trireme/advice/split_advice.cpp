#include "advice/split_advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "config/configuration.hpp"
#include "config/placement.hpp"
#include "os/cpu/cpu_list.hpp"

namespace tri::tools {
namespace {

constexpr int most_pes_of_a_process = 256;

struct domain {
  int numa = 0;
  std::vector<int> cores;  // the first PU of each, in the order of the machine
};

std::vector<domain> domains_of(const os::topology& machine) {
  std::map<int, std::map<int, int>> first_pu;  // of each core of each domain
  std::map<int, std::vector<int>> in_order;
  for (const os::pu& each : machine.pus())
    if (first_pu[each.numa].emplace(each.core, each.number).second) in_order[each.numa].push_back(each.number);
  std::vector<domain> found;
  for (auto& [numa, cores] : in_order) found.push_back({.numa = numa, .cores = std::move(cores)});
  return found;
}

std::size_t cores_of(const std::vector<domain>& domains) {
  std::size_t all = 0;
  for (const domain& each : domains) all += each.cores.size();
  return all;
}

// Cores of each process. Loops and variables are shared inside of a process only, so there are few processes; and few
// cores are left over. A further process counts as half a core that is left over.
std::size_t cores_of_a_process(const std::vector<domain>& domains, std::size_t most) {
  std::size_t smallest = domains.front().cores.size();
  for (const domain& each : domains) smallest = std::min(smallest, each.cores.size());
  std::size_t best = 0, least = 0;
  for (std::size_t cores = std::min(smallest, most); cores >= 1; --cores) {
    std::size_t half_cores = 0;
    for (const domain& each : domains) half_cores += 2 * (each.cores.size() % cores) + each.cores.size() / cores;
    if (best == 0 || half_cores < least) {
      best = cores;
      least = half_cores;
    }
  }
  return best;
}

// The control group allows less CPU time than there are cores. Domains that are not needed are left out; then cores, so
// that the remaining domains are alike.
void leave_out(std::vector<domain>& domains, std::size_t allowed) {
  allowed = std::max<std::size_t>(allowed, 1);
  std::size_t all = cores_of(domains);
  while (domains.size() > 1 && all - domains.back().cores.size() >= allowed) {
    all -= domains.back().cores.size();
    domains.pop_back();
  }
  for (; all > allowed; --all) {
    const auto largest = std::max_element(domains.begin(), domains.end(), [](const domain& a, const domain& b) {
      return a.cores.size() < b.cores.size();
    });
    largest->cores.pop_back();
  }
  std::erase_if(domains, [](const domain& each) { return each.cores.empty(); });
}

std::vector<int> all_cpus(const split_advice& advice) {
  std::vector<int> cpus;
  for (const advised_process& each : advice.processes) cpus.insert(cpus.end(), each.cpus.begin(), each.cpus.end());
  return cpus;
}

// As --affinity takes it: in the order of the PEs, runs shortened.
std::string list_of(const std::vector<int>& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t end = i + 1;
    while (end < cpus.size() && cpus[end] == cpus[end - 1] + 1) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", cpus[i]);
    if (end - i > 1) text += fmt::format("-{}", cpus[end - 1]);
    i = end;
  }
  return text;
}

const char* ending(std::size_t count, const char* of_many = "s") { return count == 1 ? "" : of_many; }

void give_reasons(split_advice& advice, const os::topology& machine, const split_wishes& wishes,
                  std::size_t allowed_cores, std::size_t domains) {
  const auto say = [&](std::string reason) { advice.reasons.push_back(std::move(reason)); };
  if (domains > 1) {
    say(
        fmt::format("The cores are in {} NUMA domains. A process in one domain has its memory there; PEs of one that "
                    "spans two would work on memory of the other domain, which is slower.",
                    domains));
  } else {
    say("All cores are in one NUMA domain, so memory is equally near to all of them.");
  }
  if (advice.pes_per_process > 1)
    say("Inside a domain one process is best: its PEs share loops, node variables and read-only data, which "
        "processes do not. Messages pass by pointer either way.");
  if (advice.processes.size() > domains)
    say(fmt::format("All processes have the same number of PEs: {} each leave {} core{} unused.",
                    advice.pes_per_process, advice.unused_cores,
                    ending(static_cast<std::size_t>(advice.unused_cores))));
  if (machine.pus().size() > static_cast<std::size_t>(machine.cores()))
    say("A core has several hardware threads. They share its units, so there is one PE for each core.");
  if (allowed_cores < static_cast<std::size_t>(machine.cores()))
    say(fmt::format("The control group allows {:.2f} CPUs worth of time, fewer than the {} cores.", *machine.quota(),
                    machine.cores()));
  if (wishes.comm_thread) {
    say(
        fmt::format("The communication thread of a process takes a core, 1 of {} here. That pays where PEs compute for "
                    "long between messages from other hosts.",
                    advice.pes_per_process + 1));
  } else if (wishes.hosts > 1 && advice.pes_per_process > 1) {
    say("PEs without work move the messages between hosts, so no core is set apart. Where methods run for "
        "milliseconds, compare with --comm-thread.");
  }
  if (!advice.affinity.empty())
    say("By themselves PEs fill the cores of the host from the first on; --affinity keeps each process in its domain.");
}

void give_commands(split_advice& advice, const os::topology& machine, const split_wishes& wishes) {
  const std::size_t processes = advice.processes.size(), hosts = static_cast<std::size_t>(wishes.hosts);
  std::string options = fmt::format("-n {} --pes {}", processes * hosts, advice.pes_per_process);
  if (!advice.affinity.empty()) options += fmt::format(" --affinity {}", advice.affinity);
  if (wishes.comm_thread) options += " --tri-comm-thread=on";
  std::string names;
  for (std::size_t host = 0; host < std::min<std::size_t>(hosts, 3); ++host)
    names += fmt::format("{}{}", host == 0 ? "" : ",", static_cast<char>('a' + host));
  if (hosts > 3) names += ",...";
  advice.commands.push_back(
      fmt::format("trireme run {}{} ./app", options, hosts > 1 ? fmt::format(" --hosts {}", names) : ""));
  // Slurm binds each process to cores of its own, so an affinity is not needed.
  const std::size_t cores = static_cast<std::size_t>(advice.pes_per_process) + (wishes.comm_thread ? 1 : 0);
  const bool has_threads = machine.pus().size() > static_cast<std::size_t>(machine.cores());
  advice.commands.push_back(
      fmt::format("srun --mpi=pmix -N {} --ntasks-per-node={} --cpus-per-task={}{} ./app --tri-pes {}{}", hosts,
                  processes, cores, has_threads ? " --hint=nomultithread" : "", advice.pes_per_process,
                  wishes.comm_thread ? " --tri-comm-thread on" : ""));
}

}  // namespace

split_advice advise_split(const os::topology& machine, const split_wishes& wishes) {
  if (wishes.hosts < 1) throw std::invalid_argument(fmt::format("{} hosts: there must be at least one", wishes.hosts));
  std::vector<domain> domains = domains_of(machine);
  const std::size_t allowed = static_cast<std::size_t>(machine.useful_cores());
  leave_out(domains, allowed);
  const std::size_t of_thread = wishes.comm_thread ? 1 : 0;
  if (cores_of(domains) < 1 + of_thread)
    throw std::invalid_argument("a communication thread needs a core beside that of the PE, and there is one core");
  if (wishes.comm_thread) std::erase_if(domains, [](const domain& each) { return each.cores.size() < 2; });
  if (domains.empty())
    throw std::invalid_argument("a communication thread needs a second core in a NUMA domain, and each has one");
  const std::size_t cores = cores_of_a_process(domains, most_pes_of_a_process + of_thread);
  split_advice advice;
  advice.pes_per_process = static_cast<int>(std::max<std::size_t>(cores - of_thread, 1));
  const std::size_t taken = static_cast<std::size_t>(advice.pes_per_process) + of_thread;
  for (const domain& each : domains) {
    for (std::size_t first = 0; first + taken <= each.cores.size(); first += taken) {
      const auto begin = each.cores.begin() + static_cast<std::ptrdiff_t>(first);
      advice.processes.push_back({.numa = each.numa,
                                  .cpus = {begin, begin + advice.pes_per_process},
                                  .comm_cpu = wishes.comm_thread ? begin[advice.pes_per_process] : -1});
    }
  }
  advice.unused_cores = static_cast<int>(std::min<std::size_t>(allowed, static_cast<std::size_t>(machine.cores())) -
                                         advice.processes.size() * taken);
  const config::configuration by_themselves;
  const int processes = static_cast<int>(advice.processes.size());
  if (config::assign_cpus(by_themselves, machine, 0, processes, advice.pes_per_process).all_cpus != all_cpus(advice))
    advice.affinity = list_of(all_cpus(advice));
  give_reasons(advice, machine, wishes, allowed, domains.size());
  give_commands(advice, machine, wishes);
  return advice;
}

std::string to_text(const split_advice& advice, const os::topology& machine, const split_wishes& wishes) {
  const std::size_t processes = advice.processes.size();
  std::string text = fmt::format("{}: {} core{} with {} hardware thread{}, {} NUMA domain{}\n\n", machine.description(),
                                 machine.cores(), ending(static_cast<std::size_t>(machine.cores())),
                                 machine.pus().size(), ending(machine.pus().size()), machine.numa_domains(),
                                 ending(static_cast<std::size_t>(machine.numa_domains())));
  text += fmt::format("{}: {} process{} with {} PE{}{}{}\n", wishes.hosts > 1 ? "On each host" : "Advice", processes,
                      ending(processes, "es"), advice.pes_per_process,
                      ending(static_cast<std::size_t>(advice.pes_per_process)), processes == 1 ? "" : " each",
                      wishes.comm_thread ? " and a communication thread" : "");
  for (std::size_t i = 0; i < processes; ++i) {
    const advised_process& each = advice.processes[i];
    text += fmt::format("  process {}: NUMA domain {}, PEs on CPU {}", i, each.numa, list_of(each.cpus));
    text += each.comm_cpu < 0 ? "\n" : fmt::format(", communication thread on CPU {}\n", each.comm_cpu);
  }
  text += "\nWhy\n";
  for (const std::string& reason : advice.reasons) text += fmt::format("- {}\n", reason);
  text += "\nHow\n";
  for (const std::string& command : advice.commands) text += fmt::format("  {}\n", command);
  return text + "\nWhether it is right for a program, `trireme sweep -- ./app` measures.\n";
}

nlohmann::json to_json(const split_advice& advice, const os::topology& machine, const split_wishes& wishes) {
  nlohmann::json processes = nlohmann::json::array();
  for (const advised_process& each : advice.processes) {
    processes.push_back({{"numa", each.numa}, {"cpus", each.cpus}});
    if (each.comm_cpu >= 0) processes.back()["comm_cpu"] = each.comm_cpu;
  }
  return {{"topology", machine.description()},
          {"hosts", wishes.hosts},
          {"comm_thread", wishes.comm_thread},
          {"processes_per_host", advice.processes.size()},
          {"pes_per_process", advice.pes_per_process},
          {"unused_cores", advice.unused_cores},
          {"processes", processes},
          {"affinity", advice.affinity},
          {"reasons", advice.reasons},
          {"commands", advice.commands}};
}

}  // namespace tri::tools
