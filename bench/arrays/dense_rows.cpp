#include "arrays/dense_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>
#include <stdexcept>

#include "framework/statistics.hpp"
#include "os/child_process.hpp"

namespace tri::bench {
namespace {

constexpr int order = 4000;
constexpr const char* nb = "128";  // of ScaLAPACK, which was no faster with 32 and 64

/// Found when Trireme was configured: the programs of apps/dense, and of each ScaLAPACK the MPI that it is for.
struct scalapack {
  const char* name;
  const char* launcher;
  const char* program;
};
constexpr scalapack scalapacks[] = {TRIREME_BENCH_SCALAPACKS{nullptr, nullptr, nullptr}};
constexpr const char* folder = TRIREME_BENCH_DENSE_PROGRAMS;  // empty: not built
constexpr const char* openblas = TRIREME_BENCH_OPENBLAS;

struct factorization {
  const char* name;     // the program
  const char* routine;  // of LAPACK
  double operations;
};

std::string output_of(const std::vector<std::string>& command, int threads) {
  const os::program_end end = os::run_program(
      {.arguments = command,
       .environment = os::environment_with({fmt::format("OPENBLAS_NUM_THREADS={}", threads), "OMPI_ALLOW_RUN_AS_ROOT=1",
                                            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"})});
  if (end.status != 0)
    throw std::runtime_error(
        fmt::format("'{}' ended with status {}: {}", fmt::join(command, " "), end.status, end.output));
  return end.output;
}

/// The best of a few runs of one program, whose first one also finds pages for its memory.
double best_of(const std::vector<double>& seconds, const std::string& output) {
  if (seconds.empty()) throw std::runtime_error(fmt::format("no times in '{}'", output));
  return *std::ranges::min_element(seconds);
}
double seconds_of_peer(const std::vector<std::string>& command, int threads) {
  const std::string output = output_of(command, threads);
  std::istringstream numbers(output);
  std::vector<double> seconds;
  for (double each = 0; numbers >> each;) seconds.push_back(each);
  return best_of(seconds, output);
}
double seconds_of_program(const std::string& program, const std::string& name) {
  const std::string output = output_of({program, "run", "-n", "2", fmt::format("{}/{}", folder, name), "--n",
                                        std::to_string(order), "--versions", "tuned,tuned,tuned"},
                                       1);
  if (output.find("verified") == std::string::npos) throw std::runtime_error(output);
  std::istringstream lines(output);
  std::vector<double> seconds;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("tuned")) seconds.push_back(std::strtod(line.c_str() + 5, nullptr));
  return best_of(seconds, output);
}

measurement measure(context& tools, const std::string& program, const factorization& what) {
  if (*folder == '\0') return {.not_available = "built without OpenBLAS (Debian: libopenblas-dev)"};
  const std::string n = std::to_string(order), runs = "3";
  const std::size_t rounds = std::clamp<std::size_t>(tools.runner().options().repetitions / 20, 3, 9);
  std::map<std::string, std::vector<double>> peers;
  std::vector<double> own;
  for (std::size_t round = 0; round < rounds; ++round) {
    own.push_back(seconds_of_program(program, what.name));
    peers["OpenBLAS, 2 threads"].push_back(seconds_of_peer({openblas, what.routine, n, runs}, 2));
    for (const scalapack& with : scalapacks) {
      if (with.name == nullptr) continue;
      std::vector<std::string> command = {with.launcher};
      if (std::string(with.name) == "openmpi") command.insert(command.end(), {"--oversubscribe", "--bind-to", "none"});
      command.insert(command.end(), {"-n", "2", with.program, what.routine, n, nb, "1", "2", runs});
      peers[fmt::format("ScaLAPACK, {}", with.name)].push_back(seconds_of_peer(command, 1));
    }
  }
  measurement made;
  for (const double each : own) made.samples.operation_ns.push_back(each * 1e9);
  made.counts["GFLOPS"] = what.operations / summarize(own).median * 1e-9;
  for (const auto& [name, seconds] : peers) {
    made.peers[name] = summarize(seconds).median * 1e3;
    comparison to{name, {}};
    for (std::size_t round = 0; round < rounds; ++round) to.ratios.push_back(own[round] / seconds[round]);
    if (name.starts_with("ScaLAPACK") && !made.reference) made.reference = to;
    if (!made.best_peer || summarize(to.ratios).median > summarize(made.best_peer->ratios).median)
      made.best_peer = std::move(to);
  }
  if (!made.reference) made.note = "without ScaLAPACK (Debian: libscalapack-openmpi-dev)";
  return made;
}

}  // namespace

std::vector<row_definition> dense_rows(const std::string& program) {
  const double n = order;
  std::vector<row_definition> rows;
  for (const factorization& what : {factorization{"linpack", "getrf", n * n * (2.0 / 3.0 * n + 1.5)},
                                    factorization{"cholesky", "potrf", n * n * n / 3.0}})
    rows.push_back(
        {.name = fmt::format("arrays/{}", what.name),
         .unit = "ms",
         .target_ratio = 1.0,
         .handoffs = 0,
         .description = fmt::format("{} of order {} on 2 PEs, beside ScaLAPACK's pd{} and OpenBLAS's threads",
                                    what.name, order, what.routine),
         .measure = [program, what](context& tools) { return measure(tools, program, what); }});
  return rows;
}

}  // namespace tri::bench
