#include "tune/collective_tuning.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <stdexcept>

#include "framework/process_rows.hpp"
#include "framework/statistics.hpp"
#include "mpi/libraries.hpp"
#include "os/output_file.hpp"
#include "plan/cost_file.hpp"

namespace tri::tools {
namespace {

constexpr const char* seconds_of_a_series = "0.2";
constexpr double peer_timeout_s = 120;

// Open MPI says so; what says neither is taken for one of MPICH's relatives.
bool is_open_mpi(const std::string& launcher) {
  std::string said;
  bench::process_lines(
      {launcher, "--version"}, [&](const std::string& line) { said += line; }, peer_timeout_s);
  return said.find("Open") != std::string::npos;
}

std::string program_for(const std::string& launcher) {
  const bool open_mpi = is_open_mpi(launcher);
  for (const bench::mpi_library& each : bench::mpi_libraries())
    if (each.open_mpi == open_mpi) return each.program;
  throw std::invalid_argument(
      fmt::format("there is no measuring program for '{}': its MPI was not installed when Trireme was configured; "
                  "TRIREME_BENCH_MPI=NAME=FOLDER names the folder of its mpicc",
                  launcher));
}

// Only lines of the program: launchers have their own to say.
void add_series(const std::string& line, std::map<std::string, double>& medians) {
  std::istringstream words(line);
  std::string name;
  std::vector<double> samples;
  words >> name;
  for (double sample = 0; words >> sample;) samples.push_back(sample);
  if (words.eof() && !samples.empty()) medians[name] = bench::summarize(samples).median;
}

}  // namespace

coll::cost_measurements measurements_of(const std::map<std::string, double>& medians) {
  coll::cost_measurements made;
  for (const auto& [name, time] : medians) {
    const std::size_t slash = name.find('/');
    const std::string kind = name.substr(0, slash);
    const double bytes = slash == std::string::npos ? 0 : std::stod(name.substr(slash + 1));
    if (kind == "between")
      made.between_hosts[bytes] = time;
    else if (kind == "inside")
      made.inside_host[bytes] = time;
    else if (kind == "copy")
      made.copies[bytes] = time;
    else if (kind == "sum")
      made.reductions[bytes] = time;
    else if (kind == "send")
      made.send_call = time;
    else if (kind == "signal")
      made.signal = time;
    else if (name == "burst/1")
      made.burst_of_one = time;
    else if (name == "burst/64")
      made.burst = time;
    else
      throw std::invalid_argument(fmt::format("the measuring program printed '{}', which is not known", name));
  }
  return made;
}

int tune_collectives(const std::vector<std::string>& launcher, std::string output, bool quiet) {
  if (output.empty()) output = "collectives.tune.json";
  std::vector<std::string> command = launcher;
  command.insert(command.end(), {program_for(launcher.front()), "costs", "--seconds", seconds_of_a_series});
  std::map<std::string, double> medians;
  bench::process_lines(
      command, [&](const std::string& line) { add_series(line, medians); }, peer_timeout_s, "done");
  if (medians.empty())
    throw std::invalid_argument(
        fmt::format("'{}' measured nothing; a launcher of MPI is needed that starts two ranks at least, such as "
                    "mpirun -n 4 --host a:2,b:2",
                    fmt::join(launcher, " ")));
  const coll::fitted_costs fitted = coll::fit_costs(measurements_of(medians));
  cost_file file{
      fitted.costs, {fitted.assumed.begin(), fitted.assumed.end()}, fmt::format("{}", fmt::join(launcher, " "))};
  os::write_output_file(output, to_json(file).dump(1) + '\n');
  if (quiet) return 0;
  fmt::print("{}", table_of(file));
  if (!medians.contains("between/8"))
    fmt::print("\nAll ranks were on one host: what lies between hosts was not measured.\n");
  fmt::print("\nwritten: {0}; use it with trireme exec --tune-file {0} or trireme plan --tune-file {0}\n", output);
  return 0;
}

}  // namespace tri::tools
