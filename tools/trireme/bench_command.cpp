// `trireme bench`: measures the documents' claims and prints them beside the targets.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "balance/rows.hpp"
#include "command_line.hpp"
#include "framework/runner.hpp"
#include "launch/rows.hpp"
#include "loops/competitor.hpp"
#include "subcommands.hpp"
#include "suites.hpp"
#include "wire/task.hpp"

namespace tri::tools {

int bench_command(int argc, char** argv) {
  CLI::App program("Measures messages, loops, ... and compares with the targets.", argv[0]);
  program.footer(
      "A row is a median over many short batches, with its 10th and 90th percentile, the target if there is one, and\n"
      "what other software takes for the same in this run. --list shows the suites (first column) and their rows.\n"
      "\n"
      "Examples:\n"
      "  trireme bench                             every suite\n"
      "  trireme bench messages --json out.json    one suite, with the results as JSON\n"
      "  trireme bench --filter one_way            rows whose name matches a regular expression\n"
      "  trireme bench --quick --filter loop/      a smoke test, without meaningful times");
  bench::run_options options;
  program.add_option("suites", options.suites, "suites to run (all when none is named)")->type_name("NAME");
  program.add_option("--filter", options.filter, "only rows whose name contains a match of this regular expression")
      ->type_name("REGEX");
  program.add_flag("--list", options.list, "print the rows instead of measuring them");
  program.add_option("--json", options.json_file, "write context and rows into this file")->type_name("FILE");
  program.add_flag("--quick", options.quick, "a smoke test: few, short batches; the figures mean nothing");
  program.add_option("--repetitions", options.repetitions, "batches per row, at least")
      ->type_name("N")
      ->check(whole_number_between(1, 1'000'000));
  program.add_option("--min-time", options.min_time_s, "seconds per row, at least")
      ->type_name("SECONDS")
      ->check(number_between(0, 86'400));
  std::vector<std::string> kneighbor;
  program
      .add_option("--kneighbor", kneighbor,
                  "a further row of this shape, such as k=1,bytes=4096,elements=8,acks=off,processes=on")
      ->type_name("SHAPE")
      ->allow_extra_args(false);
  program.add_option("--emit-row", options.emit_rows)->group("");  // used to start the programs with PEs
  std::string loop_competitor;
  program.add_option("--loop-competitor", loop_competitor)->group("");  // used to start the runtimes of a comparison
  std::string wire_competitor;
  program.add_option("--wire-competitor", wire_competitor)->group("");  // one measurement between two processes
  bool started_job = false;
  program.add_flag("--started-job", started_job)->group("");  // the program of the jobs of the suite launch
  int surviving_job = 0;
  program.add_option("--surviving-job", surviving_job)->group("");  // that of the rows recovery: its state in MiB
  if (const std::optional<int> done = parse_options(program, argc, argv)) return *done;
  if (surviving_job > 0) return bench::serve_as_surviving_job(surviving_job);
  if (started_job) return bench::serve_as_started_job();
  if (!loop_competitor.empty()) return bench::serve_as_competitor(loop_competitor);
  if (!wire_competitor.empty()) return bench::serve_as_wire_competitor(wire_competitor);
  bench::suite_options suites;
  for (const std::string& shape : kneighbor) {
    suites.kneighbor.push_back(bench::parse_kneighbor(shape));
    options.suite_arguments.insert(options.suite_arguments.end(), {"--kneighbor", shape});
  }
  const bench::program self{{std::filesystem::read_symlink("/proc/self/exe").string()}};
  suites.program = self.launcher.front();
  return bench::run_benchmarks(bench::all_suites(suites), options, self);
}

}  // namespace tri::tools
