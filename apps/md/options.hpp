// The command line of the molecular dynamics programs: one table of options, filled by CLI11.
#pragma once

#include <CLI/CLI.hpp>

#include <optional>
#include <string>

#include "md/files/restart.hpp"
#include "md/files/trajectory.hpp"
#include "md/settings.hpp"
#include "md/system/droplet.hpp"

namespace md {

struct options {
  std::string data;
  std::string system;  ///< one that the program makes
  droplet_settings droplet;
  std::int64_t steps = 250;
  run_settings settings;
  std::int64_t thermo_every = 50;
  int thermo_digits = 8;
  std::string dump;
  std::int64_t dump_every = 100;
  trajectory_format dump_format = trajectory_format::xyz;
  std::string restart_out;
  std::int64_t restart_every = 0;  ///< 0: only after the last step
  std::string restart_in;
  int3 replicate = {1, 1, 1};
  std::string kernels = "auto";
  bool progress = false;
  std::string electrostatics = "auto";
  double pme_tolerance = 1e-5;
  int pme_slabs = 0;  ///< 0: one for each PE
  bool barrier = false;
  bool placed_by_volume = false;
  std::string balance;  ///< strategy; empty: no balancing
  std::int64_t balance_every = 100;
  std::optional<std::int64_t> balance_first;  ///< nothing: balance_every
};

/// Adds all options to the program. The values are in `values` after app.parse, unchecked beyond single options.
void add_options(CLI::App& app, options& values);

/// The input of a run: determined by the options alone, so every process of a job gets the same.
struct run_input {
  run_settings settings;
  std::string kernels;
  std::optional<restart_state> restart;
  atom_system system;  ///< if not from a restart
};

/// Checks the options against each other, reads the data or restart file and replicates. A restart brings its own
/// settings; options given on the command line (`app`) override them. Throws std::exception with a message for the
/// user.
run_input load_input(const CLI::App& app, const options& values);

/// The message for a command line error; for an unknown option it names the nearest known one.
std::string describe_parse_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace md
