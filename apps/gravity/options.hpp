// The command line: one table of options, filled by CLI11.
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "gravity/bodies/generate.hpp"
#include "gravity/settings.hpp"

namespace gravity {

struct options {
  std::string input = "plummer";
  std::string file;
  std::int64_t bodies = 10000;
  std::uint64_t seed = 1;
  collision_course course;
  std::int64_t steps = 20;
  run_settings settings;
  std::string kernels = "auto";
  int pieces = 0;  ///< 0: eight for each PE
  std::int64_t deal_every = 1;
  std::string balance;  ///< the strategy; empty: pieces stay
  std::int64_t balance_every = 10;
  std::string load = "measured";
  std::int64_t print_every = 1;
  std::string write;
  std::string snapshots;
  std::int64_t snapshot_every = 10;
  bool verify = false;
};

/// Adds all options to the program. The values are in `values` after app.parse, unchecked beyond single options.
void add_options(CLI::App& app, options& values);

/// Checks options against each other, and completes the settings. Throws std::invalid_argument with a message for the
/// user.
void complete(const CLI::App& app, options& values);

/// Reads or draws the bodies. Throws std::exception with a message for the user.
std::vector<body> load_bodies(const options& values);

/// The message for a command line error; for an unknown option it names the nearest known one.
std::string describe_parse_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace gravity
