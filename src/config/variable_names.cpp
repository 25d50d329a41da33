#include "config/variable_names.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "config/configuration.hpp"
#include "config/suggestion.hpp"

namespace tri::config {
namespace {

const std::vector<std::string>& names_to_suggest() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names;
    for (const option_description& row : option_table()) names.push_back(row.environment_variable());
    for (const other_variable& each : other_variables()) names.emplace_back(each.name);
    return names;
  }();
  return all;
}

bool known(std::string_view variable) {
  for (const char* each :
       {job_variable, process_variable, processes_variable, machines_variable, machine_names_variable})
    if (variable == each) return true;
  return std::find(names_to_suggest().begin(), names_to_suggest().end(), variable) != names_to_suggest().end();
}

// Environment modules, package managers and CMake set these for every package.
bool is_of_every_package(std::string_view variable) {
  constexpr std::string_view prefix = "TRIREME_";
  for (const char* each : {"ROOT", "DIR", "HOME", "PREFIX", "BASE", "PATH", "BIN", "LIB", "INCLUDE", "VERSION"})
    if (variable.substr(prefix.size()) == each) return true;
  return false;
}

std::string in_capitals(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace

const std::vector<other_variable>& other_variables() {
  static const std::vector<other_variable> all{
      {"TRIREME_OMP_SCHEDULE", "a loop schedule such as staggered,0.8, or native",
       "schedule of the loops that the drop-in takes, as `trireme exec --omp --schedule`"},
      {"TRIREME_OMP_VIRTUAL", "1 .. 1024, or auto",
       "virtual threads for each thread, as `trireme exec --omp --virtual`; auto needs that command"},
      {"TRIREME_OMP_STALL", "seconds; 0 = never",
       "time without progress of any virtual thread after which a warning is printed; 10 by default"},
      {"TRIREME_OMP_REPORT", "any text",
       "list at the end which loops were intercepted, as `trireme exec --omp --report`"},
      {"TRIREME_OMP_NOISE", "microseconds, 0 or more",
       "duration of a noise event on a core, for schedules with a model; by default it is measured"},
      {"TRIREME_SLACK", "call-path, operation, naive=MICROSECONDS or off, optionally followed by window=N",
       "how waits in MPI calls are remembered, for the schedules slack and combined"},
      {"TRIREME_MPI", "on, off", "off leaves an MPI program to its MPI library, as `trireme exec --no-mpi`"},
      {"TRIREME_MPI_JOB", "any text", "names the job where no launcher does: processes of one name share their heaps"},
      {"TRIREME_MPI_HEAP", "on, off",
       "off: the heap of an MPI program stays private, large messages are copied by the kernel"},
      {"TRIREME_MPI_STATIC_DATA", "on, off", "off: static data of an MPI program is left where it is"},
      {"TRIREME_MPI_KERNEL_COPIES", "on, off",
       "off: no copies between processes by the kernel, as where containers forbid it"},
      {"TRIREME_MPI_PRETEND_HOSTS", "a number, optionally followed by ,cyclic",
       "ranks of one host share memory as if they were on so many: tries what an MPI program does on a cluster"},
      {"TRIREME_MPI_SHARING", "off, near, mixed or throughput,N",
       "which ranks' large messages a waiting rank helps to copy, as `trireme exec --sharing`"},
      {"TRIREME_MPI_SHARING_FROM", "a size", "messages from this size on are shared, as `trireme exec --sharing-from`"},
      {"TRIREME_MPI_PROGRESS", "dynamic, thread or reserved,N",
       "which threads make progress for ranks that compute, as `trireme exec --progress`"},
      {"TRIREME_MPI_COLLECTIVE_COSTS", "latency_ns=N,overhead_ns=N, ...",
       "what messages and copies cost, as `trireme exec --tune-file` sets it"},
      {"TRIREME_MPI_REPRODUCIBLE_SUMS", "on, off",
       "on: sums of floating point numbers depend on the contributions alone, as `trireme exec --reproducible-sums`"},
      {"TRIREME_MPI_START_TIMEOUT", "seconds; 0 = for ever",
       "how long ranks wait for each other in MPI_Init; by default 5 s for one that does not connect, 60 s for one "
       "that "
       "has connected and sends nothing"},
      {"TRIREME_MPI_DOMAIN", "a whole number, or -1 for none",
       "NUMA domain of the rank; `trireme exec` sets it where the rank is bound to one"},
      {"TRIREME_MPI_STATISTICS", "on, off", "on: what each rank did, as a table at the end, as `trireme exec --stats`"},
      {"TRIREME_MPI_STATISTICS_FILE", "the path of a file",
       "the same as JSON, written by rank 0, as `trireme exec --stats-json`"},
      {"TRIREME_RSH", "a program with options", "starts a command on a host, as `trireme run --rsh`; ssh by default"},
      {"TRIREME_BENCH_LIBOMP", "the path of a libomp.so", "a libomp that `trireme bench loops` compares with as well"},
      {"TRIREME_BENCH_MPI", "NAME=FOLDER,...",
       "MPI libraries, by the folder of their mpicc and mpirun, for `trireme bench mpi`"},
  };
  return all;
}

std::vector<std::string> environment_of_this_process() {
  std::vector<std::string> environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) environment.emplace_back(*entry);
  return environment;
}

void check_variable_names(const std::vector<std::string>& environment) {
  for (const std::string& entry : environment) {
    const std::string variable = entry.substr(0, entry.find('='));
    if (!variable.starts_with("TRIREME_") || known(variable) || is_of_every_package(variable)) continue;
    throw configuration_error(
        fmt::format("unknown environment variable {}; {}`trireme info --config` lists all", variable,
                    did_you_mean(in_capitals(variable), names_to_suggest(), "did you mean ", "? ")));
  }
}

}  // namespace tri::config
