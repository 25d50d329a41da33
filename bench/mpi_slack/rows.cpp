// The cost of the layer between an MPI program and its library (K66): the same program alone and under `trireme exec
// --omp`, in turn, with each way of remembering waits. Its calls never wait, so the difference is the layer's.
#include "mpi_slack/rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>
#include <stdexcept>

#include "os/child_process.hpp"

namespace tri::bench {
namespace {

struct mpi {
  const char* name;
  const char* launcher;
  const char* program;
};
constexpr mpi installed[] = {TRIREME_BENCH_MPIS{nullptr, nullptr, nullptr}};

// Nanoseconds of a call, as the program prints them.
double time_of(const std::string& command) {
  const os::program_end end = os::run_program({.arguments = {"sh", "-c", command}});
  double found = -1.0;
  std::istringstream lines(end.output);
  for (std::string line; std::getline(lines, line);) {
    double value = 0.0;
    if (std::sscanf(line.c_str(), "%lf ns,", &value) == 1) found = value;
  }
  if (end.status != 0 || found < 0.0)
    throw std::runtime_error(fmt::format("'{}' ended with status {}: {}", command, end.status, end.output));
  return found;
}

measurement measure_interception(context& tools, const mpi& with, const std::string& trireme) {
  // Open MPI requires two variables to run as root; other MPIs ignore them.
  const std::string start = fmt::format(
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TRIREME_OMP_NOISE=100 {{}} {} -n 1 {{}} {} 2>&1",
      with.launcher, with.program);
  const std::string under = trireme + " exec --omp --schedule slack";
  const auto variant = [&](const char* slack) { return fmt::format(fmt::runtime(start), slack, under); };
  const std::map<std::string, std::string> variants = {
      {"alone", fmt::format(fmt::runtime(start), "", "")},
      {"by call path", variant("TRIREME_SLACK=call-path")},
      {"by operation", variant("TRIREME_SLACK=operation")},
      {"one number", variant("TRIREME_SLACK=naive=50")},
      {"off", variant("TRIREME_SLACK=off")},
  };
  const std::size_t rounds = std::clamp<std::size_t>(tools.runner().options().repetitions / 20, 3, 15);
  std::map<std::string, std::vector<double>> times;
  for (std::size_t round = 0; round < rounds; ++round)
    for (const auto& [name, command] : variants) times[name].push_back(time_of(command));
  measurement made;
  for (std::size_t round = 0; round < rounds; ++round)
    made.values.push_back(times["by call path"][round] - times["alone"][round]);
  const auto added = [&](const char* name) {
    std::vector<double> differences;
    for (std::size_t round = 0; round < rounds; ++round)
      differences.push_back(times[name][round] - times["alone"][round]);
    return summarize(differences).median;
  };
  for (const char* name : {"by operation", "one number", "off"}) made.peers[name] = added(name);
  made.counts["call alone ns"] = summarize(times["alone"]).median;
  made.counts["calls in 1 % of 10 ms"] = 1e5 / std::max(1.0, summarize(made.values).median);
  return made;
}

}  // namespace

std::vector<row_definition> interception_rows(const std::string& program) {
  std::vector<row_definition> rows;
  for (const mpi& with : installed) {
    if (with.name == nullptr) continue;
    rows.push_back(
        {.name = fmt::format("mpi/interception/{}", with.name),
         .unit = "ns",
         .target = 10'000.0,  // so that 10 calls in a step of 10 ms are not 1 % of it
         .handoffs = 0,
         .description = "what the layer that measures slack adds to a call, remembered by call path; peers: other ways",
         .measure = [with, program](context& tools) { return measure_interception(tools, with, program); }});
  }
  return rows;
}

}  // namespace tri::bench
