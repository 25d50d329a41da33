// loop_kernels: see options.cpp for its options. Exits with 1 when a result is wrong, 2 when the command line is.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "options.hpp"

namespace {

using namespace kernels;

void write_file(const std::string& name, const std::string& text) {
  std::ofstream out(name, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw std::runtime_error(fmt::format("cannot write '{}'", name));
  fmt::print("wrote {}\n", name);
}

// One line that is overwritten, and only on a terminal.
void show_progress(int done, int all, const std::string& what) {
  fmt::print(stderr, "\r{:3d} %  {:<40}{}", all > 0 ? 100 * done / all : 100, what, done == all ? "\r\033[K" : "");
  std::fflush(stderr);
}

int run(const request& wanted) {
  if (wanted.threads > 0) setenv("TRIREME_PES", std::to_string(wanted.threads).c_str(), 1);
  const std::unique_ptr<kernel> chosen = wanted.make();
  const int threads = tri::loop_participants();
  const bool progress = !wanted.quiet && isatty(STDERR_FILENO) == 1;
  fmt::print("{}; {} threads, {} rounds\n\n", chosen->problem(), threads, wanted.plan.rounds);
  std::fflush(stdout);
  const experiment_result result = run_experiment(
      *chosen, wanted.plan, progress ? progress_function(show_progress) : [](int, int, const auto&) {});
  fmt::print("{}", table_of(*chosen, result));
  if (const std::string sweep = sweep_table_of(result); !sweep.empty()) fmt::print("\n{}", sweep);
  fmt::print("\nresult {:016x} of every method\n", result.fingerprint);
  for (const finding& each : result.findings) fmt::print("{}: {}\n", each.right ? "checked" : "WRONG", each.text);
  if (!result.right()) {
    fmt::print(stderr, "loop_kernels: a result is wrong\n");
    return 1;
  }
  if (!wanted.csv_file.empty()) write_file(wanted.csv_file, csv_of(wanted.kernel_name, threads, result));
  if (!wanted.svg_file.empty()) {
    write_file(wanted.svg_file, picture_of(fmt::format("{}, {} threads", chosen->problem(), threads), result));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(read_command_line(argc, argv));
  } catch (const exit_request& end) {
    fmt::print(end.status == 0 ? stdout : stderr, "{}", end.text);
    return end.status;
  } catch (const std::exception& error) {
    fmt::print(stderr, "loop_kernels: {}\n", error.what());
    return 2;
  }
}
