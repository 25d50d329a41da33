// `trireme tune`: runs a program again and again under many loop schedules and writes down which was best.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "command_line.hpp"
#include "os/child_process.hpp"
#include "subcommands.hpp"
#include "trireme/detail/schedules/loop_schedule.hpp"
#include "tune/collective_tuning.hpp"
#include "tune/tuner.hpp"
#include "tune/tuning_output.hpp"

namespace tri::tools {
namespace {

constexpr int program_failed_status = 1;

constexpr const char* footer =
    "Runs the program under `automatic`, `static` and `dynamic`, then under every static fraction (the share of a "
    "loop\n"
    "that is assigned in advance), then with the best fraction and tasklets of several numbers, equal and of halving\n"
    "sizes. Each schedule has several trials, the schedules in turn, so that a slow minute hits all of them; the "
    "median\n"
    "counts. Another schedule than automatic is only chosen if it is faster by more than --gain and by more than the\n"
    "trials differ among themselves. `native` is what the program asks for, by its own OpenMP runtime.\n"
    "\n"
    "A program that uses trireme/loops.hpp is measured loop by loop, and each call site gets its own "
    "schedule\n"
    "(where the program names one, that stays). With --omp an OpenMP program runs under the drop-in, and the time of "
    "the\n"
    "whole run decides on one schedule. Its output is thrown away unless --show-output is given. Give it a short "
    "input.\n"
    "\n"
    "With --collectives the words behind the options are an MPI launcher with its options. It starts a measuring "
    "program\n"
    "on a few ranks, two on one host and one on another at least, each with a core of its own; the parameters of the\n"
    "cost model of collectives are fitted to what it measures, for `trireme exec --tune-file`, `trireme plan` and\n"
    "`trireme sim collective`. Hosts that TRIREME_MPI_PRETEND_HOSTS pretends are one host here.\n"
    "\n"
    "Examples:\n"
    "  trireme tune ./app small.in                       writes app.tune.json\n"
    "  TRIREME_LOOPS_TUNE=app.tune.json ./app big.in     runs with what was found\n"
    "  trireme tune --step 0.05 --trials 9 --svg app.svg ./app\n"
    "  trireme tune --near 0.9 --step 0.01 ./app         only fractions from 0.85 to 0.95\n"
    "  trireme tune --collectives mpirun -n 4 --host a:2,b:2       writes collectives.tune.json\n"
    "  trireme tune --omp ./omp_app && trireme exec --omp --tune-file omp_app.tune.json ./omp_app";

struct usage_with_program : CLI::Formatter {
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: trireme tune [options] [--] program [arguments]\n";
  }
};

void check_kind(const tune_request& wanted) {
  const schedules::schedule kind = schedules::parse_schedule(wanted.kind);
  if (!schedules::has_static_fraction(kind.kind) || schedules::has_model(kind.kind)) {
    throw std::invalid_argument(
        fmt::format("--kind is {}, which has no static fraction to tune; use hybrid or staggered", wanted.kind));
  }
}

void refuse_options_of_loops(const CLI::App& app) {
  for (const CLI::Option* each : app.get_options())
    if (each->count() > 0 && each->get_name() != "--collectives" && each->get_name() != "--output" &&
        each->get_name() != "--quiet")
      throw std::invalid_argument(fmt::format("{} is not for --collectives, which takes -o and -q", each->get_name()));
}

}  // namespace

int tune_command(int argc, char** argv) {
  CLI::App app("Finds the best loop schedules of a program by running it under many of them.", "trireme tune");
  app.formatter(std::make_shared<usage_with_program>());
  app.footer(footer);
  app.prefix_command();  // from the first word that is not an option on, everything belongs to the program
  tune_request wanted;
  app.add_flag("--omp", wanted.omp, "an OpenMP program, under the drop-in");
  bool collectives = false;
  app.add_flag("--collectives", collectives,
               "no program: what messages cost, between ranks that the launcher behind it starts (mpirun and options)");
  app.add_option("--kind", wanted.kind, "schedule whose static fraction is tuned: staggered (the default) or hybrid");
  app.add_option("--step", wanted.step, "step between static fractions, 0.1 by default")->type_name("X");
  app.add_option("--near", wanted.near, "only static fractions at most 0.05 from this one")->type_name("X");
  app.add_option("--trials", wanted.trials, "runs of each schedule, 5 by default")
      ->type_name("N")
      ->check(whole_number_between(1, 10'000));
  app.add_option("--tasklets", wanted.tasklets, "numbers of tasklets, 16,32,64,128 by default")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("N")
      ->check(whole_number_between(1, schedules::most_tasklets));
  app.add_flag("--no-tasklets", wanted.no_tasklets, "only fractions");
  app.add_option("--gain", wanted.gain_percent, "per cent that a schedule must be faster than automatic, 1 by default")
      ->type_name("X")
      ->check(number_between(0, 100));
  app.add_option("--measure", wanted.measure, "loops (from the program's report) or run (from start to end)")
      ->check(CLI::IsMember({"auto", "loops", "run"}));
  app.add_option("-o,--output", wanted.output, "the tune file, <program>.tune.json (collectives.tune.json) by default")
      ->type_name("FILE");
  app.add_option("--svg", wanted.svg, "write a picture of time against static fraction")->type_name("FILE");
  app.add_option("--csv", wanted.csv, "write the curve as a table")->type_name("FILE");
  app.add_flag("--show-output", wanted.show_output, "let the program's output through");
  app.add_flag("-q,--quiet", wanted.quiet, "only the files");
  try {
    if (const std::optional<int> done = parse_program_options(app, argc, argv, wanted.command)) return *done;
    if (collectives) {
      refuse_options_of_loops(app);
      os::find_program(wanted.command[0]);
      return tune_collectives(wanted.command, wanted.output, wanted.quiet);
    }
    if (wanted.omp && wanted.measure == "loops")
      throw std::invalid_argument("--measure loops needs a program that uses trireme/loops.hpp; with --omp it is run");
    check_kind(wanted);
    os::find_program(wanted.command[0]);
    const tuning found = tune(wanted);
    if (!wanted.quiet) print_tuning(wanted, found);
    write_tune_file(wanted, found);
    write_curve(wanted, found);
    write_chart(wanted, found);
    return 0;
  } catch (const os::start_error& problem) {
    fmt::print(stderr, "trireme tune: {}\n", problem.what());
    return cannot_start_status;
  } catch (const std::invalid_argument& problem) {
    fmt::print(stderr, "trireme tune: {}\n", problem.what());
    return usage_status;
  } catch (const std::exception& problem) {
    fmt::print(stderr, "trireme tune: {}\n", problem.what());
    return program_failed_status;
  }
}

}  // namespace tri::tools
