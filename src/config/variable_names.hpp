// The names of all environment variables TRIREME_*: the options of jobs (configuration_table.hpp), what the launcher
// sets, and what others read, the drop-in for OpenMP programs and the benchmarks. A job may run under the drop-in, so
// each must know the names of all. Pure functions of the environment, any thread.
#pragma once

#include <string>
#include <vector>

namespace tri::config {

// A variable that no job reads. There is no option --tri-<name> for it.
struct other_variable {
  const char* name;
  const char* allowed;
  const char* help;
};
const std::vector<other_variable>& other_variables();

// "NAME=value" strings.
std::vector<std::string> environment_of_this_process();

// Throws configuration_error for a name TRIREME_* that no code reads. Values are not looked at.
void check_variable_names(const std::vector<std::string>& environment);

}  // namespace tri::config
