#include "arrays/peers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>
#include <stdexcept>

#include "framework/cacheline.hpp"
#include "framework/process_rows.hpp"
#include "framework/statistics.hpp"
#include "mpi/host_network.hpp"

namespace tri::bench {
namespace {

struct array_peer {
  std::string name;
  std::string launcher;  // mpirun, oshrun
  std::string program;
  bool open_mpi = false;                      // what its launcher understands
  std::vector<std::string> environment = {};  // NAME=VALUE, of the processes
  bool one_host_only = false;                 // elsewhere it has no meaning, or no end
};

std::vector<array_peer> installed_peers() {
  struct built {
    const char *name, *launcher, *program;
  };
  std::vector<array_peer> found;
  for (const built& each : std::initializer_list<built>{TRIREME_BENCH_ARRAY_PEERS}) {
    array_peer peer{.name = each.name, .launcher = each.launcher, .program = each.program};
    peer.open_mpi = peer.name != "mpich";
    peer.one_host_only = peer.name == "coarrays";  // sections go element by element: minutes over a network
    if (peer.name == "openshmem") peer.environment = {"SHMEM_SYMMETRIC_SIZE=256M"};
    found.push_back(peer);
    if (peer.name != "openmpi" && peer.name != "mpich") continue;
    peer.name += ", shared window";
    peer.environment = {"TRIREME_BENCH_WINDOW=shared"};
    peer.one_host_only = true;
    found.push_back(peer);
  }
  return found;
}

// Over TCP, as between hosts: neither the memory that both processes have nor system calls that copy between them.
std::vector<std::string> network_environment(const array_peer& peer, peer_place place) {
  const bool is_loopback = place == peer_place::loopback;
  if (place == peer_place::same_host) return {};
  if (!peer.open_mpi || peer.name == "openshmem") {
    std::vector<std::string> words = {"UCX_TLS=tcp,self",
                                      fmt::format("UCX_NET_DEVICES={}", is_loopback ? "lo" : "eth0")};
    if (!peer.open_mpi) words.emplace_back("MPIR_CVAR_NOLOCAL=1");
    return words;
  }
  return {"OMPI_MCA_pml=ob1", "OMPI_MCA_btl=tcp,self", "OMPI_MCA_osc=^ucx,sm",
          fmt::format("OMPI_MCA_btl_tcp_if_include={}", is_loopback ? "lo" : "eth0")};
}

void append(std::vector<std::string>& command, const std::vector<std::string>& words) {
  command.insert(command.end(), words.begin(), words.end());
}

std::vector<std::string> command_of(const array_peer& peer, peer_place place, const std::string& group,
                                    double seconds) {
  // A peer may end badly once all is measured, as OpenSHMEM of Open MPI 4.1 does; it has said `done` then.
  std::vector<std::string> command = {
      "sh", "-c", "\"$0\" \"$@\" 2>&1 || true", "env", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"};
  append(command, network_environment(peer, place));
  if (place == peer_place::veth)
    append(command, started_on({.hosts = 2, .veth = true}, peer.open_mpi, peer.launcher, 1));
  else if (peer.open_mpi)
    append(command, {peer.launcher, "--oversubscribe", "--bind-to", "none", "-n", "2"});
  else
    append(command, {peer.launcher, "-bind-to", "none", "-n", "2"});
  append(command, {"env"});
  append(command, peer.environment);
  append(command, network_environment(peer, place));  // a launcher may not pass on what it was started with
  const cpu_pair cpus = two_cpus();
  append(command, {peer.program, group, "--cpus", fmt::format("{},{}", cpus.first, cpus.second), "--seconds",
                   fmt::format("{}", seconds)});
  return command;
}

std::map<std::string, std::vector<double>> series_of(const array_peer& peer, peer_place place, const std::string& group,
                                                     double seconds) {
  std::map<std::string, std::vector<double>> series;
  bool is_done = false;
  std::string said;  // that is no series: why it failed, if it did
  process_lines(
      command_of(peer, place, group, seconds),
      [&](const std::string& line) {
        std::istringstream words(line);
        std::string name;
        words >> name;
        is_done = is_done || line == "done";
        std::vector<double> samples;
        for (double ns = 0; words >> ns;) samples.push_back(ns);
        if (words.eof() && !samples.empty())
          series[name] = std::move(samples);
        else if (said.empty() && std::any_of(line.begin(), line.end(), [](unsigned char c) { return std::isalpha(c); }))
          said = line;
      },
      120);
  if (!is_done) throw std::runtime_error(said.empty() ? "it did not finish" : said);
  return series;
}

}  // namespace

const array_peers::measured& array_peers::hold(context& tools, peer_place place, const std::string& group) {
  const auto [found, is_new] = held_.try_emplace({place, group});
  measured& made = found->second;
  if (!is_new) return made;
  const bool in_a_hurry = tools.runner().options().max_time_s <= 2;
  const std::vector<array_peer> peers = installed_peers();
  std::map<std::string, bool> failed;
  for (int round = 0; round < (in_a_hurry ? 1 : 3); ++round) {
    for (const array_peer& peer : peers) {
      if (failed[peer.name] || (peer.one_host_only && place != peer_place::same_host)) continue;
      try {
        for (auto& [name, samples] : series_of(peer, place, group, in_a_hurry ? 0.02 : 0.15)) {
          std::vector<double>& all = made.of[peer.name][name];
          all.insert(all.end(), samples.begin(), samples.end());
        }
      } catch (const std::exception& failure) {
        failed[peer.name] = true;
        made.of.erase(peer.name);
        made.faults += fmt::format("{}without {}: {}", made.faults.empty() ? "" : "; ", peer.name, failure.what());
      }
    }
  }
  return made;
}

peer_figures array_peers::find(context& tools, peer_place place, const std::string& group, const std::string& series,
                               const std::string& unit) {
  if (place == peer_place::veth && !why_no_host_network().empty()) return {};
  const measured& all = hold(tools, place, group);
  peer_figures figures{.note = all.faults};
  for (const auto& [peer, of] : all.of)
    if (const auto samples = of.find(series); samples != of.end())
      figures.medians[peer] = nanoseconds_in_unit(summarize(samples->second).median, unit);
  return figures;
}

std::function<peer_figures(context&)> peers_at(const std::shared_ptr<array_peers>& all, peer_place place,
                                               const std::string& group, const std::string& series,
                                               const std::string& unit) {
  return [=](context& tools) { return all->find(tools, place, group, series, unit); };
}

}  // namespace tri::bench
