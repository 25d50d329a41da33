// Runs a program with additional environment variables and measures its time.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace tri::tools {

class program_failed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// In seconds, from its start to its end. `silent`: its output and errors are thrown away; errors go into the file
/// `errors_into`, if one is named, either way. Throws program_failed when it cannot be started or does not end with
/// status 0.
double run_program_once(const std::vector<std::string>& command, const std::map<std::string, std::string>& variables,
                        bool silent, const std::string& errors_into = {});

}  // namespace tri::tools
