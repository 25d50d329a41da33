#include "mpi/host_network.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>

#include "framework/process_rows.hpp"

namespace tri::bench {
namespace {

namespace fs = std::filesystem;

const fs::path scripts = TRIREME_BENCH_HOST_SCRIPTS;  // both empty in a program that is packaged
const fs::path delay_switch = TRIREME_BENCH_DELAY_SWITCH;

std::string try_it() {
  if (scripts.empty() || !fs::exists(scripts / "network_hosts.sh") || !fs::exists(delay_switch))
    return "hosts with a network between them are for programs in a build folder with tests";
  std::vector<std::string> command = {"sh", "-c", "exec \"$0\" \"$@\" 2>&1"};
  for (std::string& word : on_hosts({.hosts = 2})) command.push_back(std::move(word));
  command.emplace_back("true");
  std::string said;
  try {
    process_lines(
        command, [&](const std::string& line) { said = line; }, 60);
  } catch (const std::runtime_error& failure) {
    return said.empty() ? failure.what() : said;
  }
  return {};
}

}  // namespace

std::vector<std::string> on_hosts(const host_network& network) {
  const std::string script = (scripts / "network_hosts.sh").string();
  if (network.veth) return {script, "--apart", std::to_string(network.hosts)};
  return {script,     "--delay-us",          std::to_string(network.delay_us),
          "--switch", delay_switch.string(), std::to_string(network.hosts)};
}

const std::string& why_no_host_network() {
  static const std::string reason = try_it();
  return reason;
}

std::vector<std::string> started_on(const host_network& network, bool open_mpi, const std::string& launcher,
                                    int ranks_of_a_host) {
  std::vector<std::string> command = on_hosts(network);
  command.insert(command.end(), {(scripts / "start_on_network_hosts.sh").string(), open_mpi ? "openmpi" : "mpich",
                                 launcher, std::to_string(ranks_of_a_host)});
  return command;
}

std::vector<std::string> launcher_on(const host_network& network, const mpi_library& library, int ranks_of_a_host) {
  // Those of Open MPI give their core away when they wait, those of MPICH cannot be told to.
  std::vector<std::string> command = {"env", "OMPI_MCA_mpi_yield_when_idle=1"};
  for (std::string& word : started_on(network, library.open_mpi, library.launcher, ranks_of_a_host))
    command.push_back(std::move(word));
  return command;
}

}  // namespace tri::bench
