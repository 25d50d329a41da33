// Each row is one version of a program's kernel, with the others as its peers: see apps/pgas. The programs lie in the
// folder of the build; where the command is installed without them the rows are not available.
#include "arrays/program_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>
#include <stdexcept>

#include "framework/process_rows.hpp"
#include "framework/statistics.hpp"

namespace tri::bench {
namespace {

struct program_row {
  std::string name;
  std::string unit;
  std::string description;
  std::string path;
  std::vector<std::string> arguments;
  double amount;                         // the figure is amount / seconds
  std::vector<std::string> versions;     // the first one is the row, the others are peers
  std::vector<std::string> launch = {};  // options of trireme run
  int processes = 2;
};

// Seconds of each run, by version: the lines "time <version> <seconds>" of --times.
std::map<std::string, std::vector<double>> times_of(const std::vector<std::string>& command) {
  std::map<std::string, std::vector<double>> found;
  process_lines(
      command,
      [&](const std::string& line) {
        std::istringstream words(line);
        std::string first, version;
        double seconds = 0;
        if (words >> first >> version >> seconds && first == "time") found[version].push_back(seconds);
      },
      300);
  return found;
}

measurement measure(const program_row& row, const std::string& program, context& tools) {
  if (row.path.empty() || !std::filesystem::exists(row.path))
    return {.not_available = "the program is in the folder of a build only"};
  const std::size_t repeats = std::clamp<std::size_t>(tools.runner().options().repetitions / 10, 2, 20);
  std::vector<std::string> command = {program, "run", "-n", std::to_string(row.processes)};
  command.insert(command.end(), row.launch.begin(), row.launch.end());
  command.insert(command.end(), {row.path, "--times", "--repeats", std::to_string(repeats), "--versions",
                                 fmt::format("{}", fmt::join(row.versions, ","))});
  command.insert(command.end(), row.arguments.begin(), row.arguments.end());
  measurement result;
  for (const auto& [version, seconds] : times_of(command)) {
    std::vector<double> figures;
    for (const double each : seconds) figures.push_back(row.amount / each);
    if (version == row.versions.front())
      result.values = figures;
    else
      result.peers[version] = summarize(figures).median;
  }
  if (result.values.size() != repeats)
    throw std::runtime_error(
        fmt::format("{} gave {} times of {}, not {}", row.path, result.values.size(), row.versions.front(), repeats));
  return result;
}

// Operations of NAS CG of class W, in millions: see cg::operations. Updates of 2^20 words, 4 of each, in thousands of
// millions.
constexpr double operations_of_class_w = 2e-6 * 15 * 7000 * (3 + 72 + 25 * (5 + 72) + 3);
constexpr double updates = 4e-9 * (1 << 20);
// Three arrays of 2^22 doubles, in GB.
constexpr double bytes_of_triad = 3e-9 * 8 * (1 << 22);

std::vector<program_row> all_rows() {
  std::vector<program_row> rows;
  for (const auto& [suffix, launch] :
       {std::pair<std::string, std::vector<std::string>>{"", {}}, {"/hosts", {"--tri-hosts=2", "--tri-wire=tcp"}}}) {
    const std::string where = suffix.empty() ? "two processes" : "two pretended hosts";
    rows.push_back({.name = "arrays/cg" + suffix,
                    .unit = "Mop/s",
                    .description = "NAS CG class W with one-sided gets of vectors, " + where,
                    .path = TRIREME_BENCH_CONJUGATE_GRADIENT,
                    .arguments = {"--class", "W"},
                    .amount = operations_of_class_w,
                    .versions = {"one_sided", "two_sided"},
                    .launch = launch});
    std::vector<std::string> versions = {"all", "update"};
    if (suffix.empty()) versions.insert(versions.end(), {"locality", "none"});  // between hosts minutes long
    rows.push_back({.name = "arrays/randomaccess" + suffix,
                    .unit = "GUPS",
                    .description = "RandomAccess of 2^20 words, every optimization, " + where,
                    .path = TRIREME_BENCH_RANDOM_ACCESS,
                    .arguments = {"--log2", "20", "--updates", "4"},
                    .amount = updates,
                    .versions = versions,
                    .launch = launch});
  }
  for (const int processes : {1, 2})
    rows.push_back(
        {.name = fmt::format("arrays/triad/{}", processes),
         .unit = "GB/s",
         .description = fmt::format("bandwidth of each of {} PEs in STREAM's triad over own elements", processes),
         .path = TRIREME_BENCH_TRIAD,
         .arguments = {"--elements", std::to_string(1 << 22)},
         .amount = bytes_of_triad,
         .versions = {"privatized", "owned"},
         .processes = processes});
  return rows;
}

}  // namespace

std::vector<row_definition> array_program_rows(const std::string& program) {
  std::vector<row_definition> rows;
  for (const program_row& each : all_rows())
    rows.push_back({.name = each.name,
                    .unit = each.unit,
                    .direction = better::higher,
                    .handoffs = 0,
                    .description = each.description,
                    .measure = [each, program](context& tools) { return measure(each, program, tools); }});
  return rows;
}

}  // namespace tri::bench
