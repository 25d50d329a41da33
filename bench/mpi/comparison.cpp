#include "mpi/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "framework/cacheline.hpp"
#include "framework/process_rows.hpp"
#include "mpi/libraries.hpp"

namespace tri::bench {
namespace {

// The arguments after `trireme` that start the drop-in.
const std::vector<std::string> drop_in = {"exec", "--mpi"};

// Ranks bind themselves: the launcher must not, and it must accept more ranks than cores, also from root.
std::vector<std::string> launcher_of(const mpi_library& library, const mpi_task& task) {
  if (task.network) return launcher_on(*task.network, library, task.ranks / task.network->hosts);
  const std::string ranks = std::to_string(task.ranks);
  if (library.open_mpi) {
    return {"env",
            "OMPI_ALLOW_RUN_AS_ROOT=1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
            library.launcher,
            "--oversubscribe",
            "--bind-to",
            "none",
            "-n",
            ranks};
  }
  return {library.launcher, "-bind-to", "none", "-n", ranks};
}

// With its standard error, where it reports whether it took part.
const std::vector<std::string> with_errors = {"sh", "-c", "exec \"$0\" \"$@\" 2>&1"};

std::vector<double> samples_in(std::istringstream& words, const std::string& line) {
  std::vector<double> samples;
  for (std::string word; words >> word;) {
    char* end = nullptr;
    samples.push_back(std::strtod(word.c_str(), &end));
    if (*end != '\0') throw std::runtime_error(fmt::format("the measuring program printed '{}'", line));
  }
  return samples;
}

}  // namespace

mpi_comparison::mpi_comparison(const std::string& program, const batch_options& method) : method_(method) {
  for (const mpi_library& library : mpi_libraries()) {
    competitors_.push_back({library.name, library, {}});
    if (library.name != "openmpi" && library.name != "mpich") continue;
    std::vector<std::string> wrapper = {program};
    wrapper.insert(wrapper.end(), drop_in.begin(), drop_in.end());
    competitors_.push_back({"trireme/" + library.name, library, std::move(wrapper)});
  }
}

std::vector<mpi_competitor> mpi_comparison::competitors_for(const mpi_task& task) const {
  std::vector<mpi_competitor> chosen;
  if (task.modes.empty()) {
    for (const mpi_competitor& each : competitors_)
      if (task.only.empty() || each.library.name == task.only) chosen.push_back(each);
    return chosen;
  }
  for (const mpi_competitor& each : competitors_) {
    if (each.wrapper.empty()) {
      if (task.libraries_beside_modes) chosen.push_back(each);
      continue;
    }
    chosen.push_back(each);
    for (const auto& [name, options] : task.modes) {
      mpi_competitor& other = chosen.emplace_back(each);
      other.name += ", " + name;
      other.wrapper.insert(other.wrapper.end(), options.begin(), options.end());
    }
  }
  return chosen;
}

std::string mpi_comparison::why_not(const std::string& competitor) const {
  const bool there = std::any_of(competitors_.begin(), competitors_.end(),
                                 [&](const mpi_competitor& each) { return each.name == competitor; });
  return there ? "" : "this MPI was not installed when Trireme was configured (scripts/deps.sh test)";
}

std::map<std::string, std::vector<double>> mpi_comparison::run(const mpi_competitor& who, const mpi_task& task,
                                                               double seconds) const {
  const bool is_ours = !who.wrapper.empty();
  std::vector<std::string> command = is_ours ? with_errors : std::vector<std::string>();
  if (is_ours && task.pretended_hosts > 1)
    command.insert(command.end(), {"env", fmt::format("TRIREME_MPI_PRETEND_HOSTS={}", task.pretended_hosts)});
  const std::vector<std::string> launcher = launcher_of(who.library, task);
  command.insert(command.end(), launcher.begin(), launcher.end());
  command.insert(command.end(), who.wrapper.begin(), who.wrapper.end());
  if (is_ours) command.emplace_back("--");
  const cpu_pair cpus = two_cpus();
  command.insert(command.end(),
                 {who.library.program, task.what, "--cpus",
                  task.one_core ? std::to_string(cpus.first) : fmt::format("{},{}", cpus.first, cpus.second),
                  "--seconds", fmt::format("{}", seconds)});
  command.insert(command.end(), task.arguments.begin(), task.arguments.end());
  std::map<std::string, std::vector<double>> series;
  process_lines(
      command,
      [&](const std::string& line) {
        const bool is_left = is_ours && line.starts_with("trireme ") && line.find("left to") != std::string::npos;
        if (is_left && task.network && task.ranks == task.network->hosts) return;  // each rank is alone on its host
        if (is_left) throw std::runtime_error("the drop-in took no part: " + line);
        if (is_ours && line.starts_with('[')) {  // Open MPI's own: "[host:pid] warning"
          fmt::print(stderr, "{}\n", line);
          return;
        }
        std::istringstream words(line);
        std::string name;
        if (words >> name) series[name] = samples_in(words, line);
      },
      120, "done");  // MPICH over TCP does not always come to its end
  return series;
}

const mpi_result& mpi_comparison::hold(const mpi_task& task) {
  for (const auto& [done, result] : held_) {
    if (done == task) return result;
  }
  // Each start is worth many batches.
  const bool in_a_hurry = method_.max_time_s <= 2;
  std::size_t rounds = in_a_hurry ? 1 : 5;
  double seconds = std::max(in_a_hurry ? 0.05 : 0.3, method_.min_time_s / static_cast<double>(rounds));
  if (task.network && !in_a_hurry) {  // many series in each start
    rounds = 3;
    seconds = std::max(0.1, method_.min_time_s / 10);
  }
  const std::vector<mpi_competitor> competitors = competitors_for(task);
  mpi_result result;
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t turn = 0; turn < competitors.size(); ++turn) {
      const mpi_competitor& who = competitors[(turn + round) % competitors.size()];
      if (result.faults.contains(who.name)) continue;
      try {
        for (auto& [name, samples] : run(who, task, seconds)) {
          if (samples.empty()) throw std::runtime_error(fmt::format("{} of '{}' has no samples", name, who.name));
          result.of[who.name][name].push_back(std::move(samples));
        }
      } catch (const std::runtime_error& failure) {
        result.faults[who.name] = failure.what();
        result.of.erase(who.name);
      }
    }
  }
  return held_.emplace_back(task, std::move(result)).second;
}

}  // namespace tri::bench
