// Programs of objects as a user runs them: on threads, processes and pretended hosts; and what they print.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "support/command_runner.hpp"

namespace tri::testing {

struct layout {
  const char* name;
  int processes;  ///< 0: threads of this program, without a launcher
  int pes;
  int hosts;
};

/// Runs a program in a folder of its own.
class program_on_layouts : public ::testing::Test {
 protected:
  explicit program_on_layouts(const char* program) : program_(program) {}

  command_result run(const std::string& arguments, const layout& on = {"", 0, 2, 1}) const {
    const std::string start = on.processes == 0
                                  ? fmt::format("timeout 200 {} --tri-pes {}", program_, on.pes)
                                  : fmt::format("timeout 200 {} run -n {} --pes {} {} --tri-hosts {}", TRIREME_PROGRAM,
                                                on.processes, on.pes, program_, on.hosts);
    return run_command(folder_.path(), start + " " + arguments);
  }
  temporary_folder folder_;

 private:
  const char* program_;
};

/// The number behind `name`, a regular expression, in what a program says; the test fails without one.
inline double number_in(const std::string& output, const std::string& name) {
  std::smatch found;
  if (std::regex_search(output, found, std::regex(name + " ([-+.0-9e]+)"))) return std::stod(found[1]);
  ADD_FAILURE() << "no '" << name << "' in " << output;
  return 0;
}

/// From the checksum to the end; empty without one.
inline std::string checksum_in(const std::string& output) {
  const auto begin = output.find("checksum ");
  return begin == std::string::npos ? "" : output.substr(begin);
}

}  // namespace tri::testing
