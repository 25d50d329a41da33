// The command line: one table of options, filled by CLI11.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "amr/field.hpp"

namespace amr {

struct options {
  problem of;
  std::string start = "hill";
  std::int64_t steps = 200;
  std::int64_t adapt_every = 4;
  std::int64_t print_every = 20;
  std::string balance;  ///< the strategy; empty: blocks stay where they were created
  std::string load = "measured";
  std::string picture;
};

void add_options(CLI::App& app, options& values);
/// Checks options against each other, and completes the problem. Throws std::invalid_argument with a message for the
/// user.
void complete(options& values);

}  // namespace amr
