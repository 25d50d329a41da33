// `trireme resize`: another number of processes for a job that runs under `trireme run --survive`.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <exception>

#include "command_line.hpp"
#include "launch/launcher.hpp"
#include "launch/survivor.hpp"
#include "subcommands.hpp"

namespace tri::tools {

int resize_command(int argc, char** argv) {
  CLI::App app(
      "Gives a job that was started by `trireme run --survive` another number of processes. It ends its processes at "
      "its next checkpoint and goes on from it with the new ones, under the same launcher.",
      "trireme resize");
  int launcher = 0, processes = 0;
  app.add_option("job", launcher, "process number of its `trireme run`, as pgrep shows it")
      ->required()
      ->type_name("PID")
      ->check(whole_number_between(1, 1 << 30));
  app.add_option("processes", processes, "how many processes it is to have")
      ->required()
      ->type_name("N")
      ->check(whole_number_between(1, launch::most_launched_processes));
  if (const auto done = parse_options(app, argc, argv)) return *done;
  try {
    launch::resize_job(launcher, processes);
  } catch (const std::exception& error) {
    fmt::print(stderr, "trireme resize: {}\n", error.what());
    return 1;
  }
  fmt::print("from its next checkpoint on, job {} has {} process{}\n", launcher, processes, processes == 1 ? "" : "es");
  return 0;
}

}  // namespace tri::tools
