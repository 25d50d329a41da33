// `trireme bench`: measures what the documents claim and prints it beside the targets.
#include <CLI/CLI.hpp>
#include <filesystem>

#include "framework/runner.hpp"
#include "loops/contestant.hpp"
#include "suites.hpp"
#include "verbs.hpp"

namespace tri::tools {

int bench_command(int argc, char** argv) {
  CLI::App program("Measures messages, loops, ... and compares with the targets.", argv[0]);
  program.footer(
      "Examples:\n"
      "  trireme bench                             every suite\n"
      "  trireme bench messages --json out.json    one suite, with the results as JSON\n"
      "  trireme bench --filter one_way            rows whose name matches a regular expression");
  bench::run_options options;
  program.add_option("suites", options.suites, "suites to run (all when none is named)");
  program.add_option("--filter", options.filter, "only rows whose name contains a match of this regular expression");
  program.add_flag("--list", options.list, "print the rows instead of measuring them");
  program.add_option("--json", options.json_file, "write context and rows into this file");
  program.add_flag("--quick", options.quick, "few and short batches: does it work, not how fast is it");
  program.add_option("--repetitions", options.repetitions, "batches per row, at least");
  program.add_option("--min-time", options.min_time_s, "seconds per row, at least");
  std::vector<std::string> kneighbor;
  program.add_option("--kneighbor", kneighbor,
                     "a further row of this shape, such as k=1,bytes=4096,elements=8,acks=off,processes=on");
  program.add_option("--emit-row", options.emit_rows)->group("");  // what the programs that hold PEs are started with
  std::string loop_contestant;
  program.add_option("--loop-contestant", loop_contestant)->group("");  // what the runtimes of a contest run in
  CLI11_PARSE(program, argc, argv);
  if (!loop_contestant.empty()) return bench::serve_as_contestant(loop_contestant);
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
