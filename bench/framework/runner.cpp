#include "framework/runner.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <stdexcept>

#include "framework/children.hpp"
#include "framework/machine.hpp"
#include "framework/progress.hpp"
#include "framework/table.hpp"
#include "os/clock.hpp"
#include "os/text_pattern.hpp"
#include "trireme/run.hpp"

namespace tri::bench {
namespace {

bool wanted(const suite& candidate, const run_options& options) {
  if (options.suites.empty()) return true;
  for (const std::string& name : options.suites) {
    if (name == candidate.name) return true;
  }
  return false;
}

os::text_pattern parse_filter(const std::string& filter) {
  try {
    return os::text_pattern(filter);
  } catch (const std::invalid_argument& fault) {
    throw std::invalid_argument(fmt::format("--filter '{}' is not a regular expression: {}", filter, fault.what()));
  }
}

// The child's work: measures its rows in a Trireme program and prints each as it is done. Failures are reported in the
// rows.
int emit_rows(const registry& known, const run_options& options) {
  std::string name = "trireme bench";
  char* arguments[] = {name.data(), nullptr};
  return tri::run(1, arguments, [&] {
    context tools(batch_options_of(options));
    for (const std::string& row : options.emit_rows) {
      fmt::print("{}\n", nlohmann::json(measure_here(known.find_row(row), tools)).dump());
      std::fflush(stdout);
    }
  });
}

void list_rows(const registry& known, const std::vector<const row_definition*>& selected) {
  for (const suite& candidate : known.suites()) {
    for (const row_definition& row : candidate.rows) {
      for (const row_definition* chosen : selected) {
        if (chosen == &row) fmt::print("{:<10} {:<38} {:<4} {}\n", candidate.name, row.name, row.unit, row.description);
      }
    }
  }
}

// The rows that are measured so far, in a file that is whole at any time: a run of many minutes may be interrupted.
class report_file {
 public:
  // Written at once: no work may be lost to a misspelt path.
  report_file(const std::string& path, nlohmann::json context)
      : path_(std::filesystem::weakly_canonical(path)),
        is_file_(!std::filesystem::exists(path_) || std::filesystem::is_regular_file(path_)),
        context_(std::move(context)) {
    if (is_file_) write({});
  }
  void write(const std::vector<row>& rows) const {
    std::filesystem::path part = path_;
    if (is_file_) part += ".part";  // a pipe or a device is written once
    std::ofstream file(part);
    file << make_report(context_, rows).dump(2) << '\n';
    file.close();
    if (!file || (is_file_ && std::rename(part.c_str(), path_.c_str()) != 0))
      throw std::runtime_error(fmt::format("cannot write '{}': {}", path_.string(), std::strerror(errno)));
  }
  void write_now_and_then(const std::vector<std::optional<row>>& rows) {
    constexpr std::int64_t between_ns = 10'000'000'000;
    if (!is_file_ || os::now_ns() - written_ns_ < between_ns) return;
    written_ns_ = os::now_ns();
    std::vector<row> measured;
    for (const std::optional<row>& each : rows)
      if (each) measured.push_back(*each);
    write(measured);
  }

 private:
  std::filesystem::path path_;
  bool is_file_;
  nlohmann::json context_;
  std::int64_t written_ns_ = os::now_ns();
};

peer_figures peers_of(const row_definition& definition, context& tools) {
  try {
    return definition.peers(tools);
  } catch (const std::exception& failure) {
    return {.note = fmt::format("without peers: {}", failure.what())};
  }
}

// Measures the rows, those of one launch together, and prints them in the order of the registry as soon as possible.
std::vector<row> measure_all(const registry& known, const std::vector<const row_definition*>& selected,
                             const run_options& options, const program& self, std::optional<report_file>& kept) {
  const table printed(stdout, isatty(STDOUT_FILENO) != 0);
  progress_line progress(selected.size());
  std::vector<std::optional<row>> rows(selected.size());
  std::size_t next = 0;
  const suite* current = nullptr;
  const auto finished = [&](std::size_t which, row measured) {
    rows[which] = std::move(measured);
    progress.clear();
    for (; next < rows.size() && rows[next]; ++next) {
      if (const suite& own = known.suite_of(*selected[next]); &own != current) {
        printed.begin_suite(own.name, own.description);
        current = &own;
      }
      printed.print(*rows[next]);
    }
    if (kept) kept->write_now_and_then(rows);
  };

  context tools(batch_options_of(options));
  for (const std::vector<std::size_t>& group : order_of_measuring(known, selected)) {
    std::map<std::size_t, peer_figures> peers;
    for (const std::size_t which : group) {
      if (!selected[which]->peers) continue;
      progress.show(fmt::format("peers of {}", selected[which]->name));
      peers[which] = peers_of(*selected[which], tools);
    }
    const auto finished_with_peers = [&](std::size_t which, row measured) {
      if (const auto found = peers.find(which); found != peers.end()) add_peers(measured, found->second);
      finished(which, std::move(measured));
    };
    if (selected[group.front()]->launch) {
      measure_in_children(selected, group, options, self, progress, finished_with_peers);
      continue;
    }
    for (const std::size_t which : group) {
      progress.show(selected[which]->name);
      finished_with_peers(which, measure_here(*selected[which], tools));
    }
  }
  std::vector<row> all;
  for (std::optional<row>& each : rows) all.push_back(std::move(each.value()));
  return all;
}

}  // namespace

batch_options batch_options_of(const run_options& options) {
  batch_options method;
  if (options.quick)
    method = {.batch_time_ms = 0.3, .warm_up_ms = 2, .repetitions = 15, .min_time_s = 0.02, .max_time_s = 2};
  if (options.repetitions) method.repetitions = *options.repetitions;
  if (options.min_time_s) method.min_time_s = *options.min_time_s;
  if (method.repetitions == 0) throw std::invalid_argument("--repetitions 0: at least one batch is needed");
  if (!(method.min_time_s >= 0)) {
    throw std::invalid_argument(fmt::format("--min-time {}: seconds, 0 or more, are needed", method.min_time_s));
  }
  return method;
}

std::vector<const row_definition*> select_rows(const registry& known, const run_options& options) {
  for (const std::string& name : options.suites) known.find_suite(name);
  const os::text_pattern filter = parse_filter(options.filter);
  std::vector<const row_definition*> selected;
  for (const suite& candidate : known.suites()) {
    if (!wanted(candidate, options)) continue;
    for (const row_definition& row : candidate.rows) {
      if (filter.is_found_in(row.name)) selected.push_back(&row);
    }
  }
  if (selected.empty()) {
    throw std::invalid_argument(fmt::format("no row matches --filter '{}'; --list shows the rows", options.filter));
  }
  return selected;
}

std::vector<std::vector<std::size_t>> order_of_measuring(const registry& known,
                                                         const std::vector<const row_definition*>& rows) {
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t first = 0, last = 0; first < rows.size(); first = last) {
    while (last < rows.size() && &known.suite_of(*rows[last]) == &known.suite_of(*rows[first])) ++last;
    const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(first);
    for (std::vector<std::size_t>& group : rows_by_launch({begin, begin + static_cast<std::ptrdiff_t>(last - first)})) {
      for (std::size_t& which : group) which += first;
      groups.push_back(std::move(group));
    }
  }
  return groups;
}

nlohmann::json make_report(const nlohmann::json& context, const std::vector<row>& rows) {
  return {{"context", context}, {"rows", rows}};
}

int run_benchmarks(const registry& known, const run_options& options, const program& self) {
  if (!options.emit_rows.empty()) return emit_rows(known, options);
  const std::vector<const row_definition*> selected = select_rows(known, options);
  if (options.list) {
    list_rows(known, selected);
    return 0;
  }
  const nlohmann::json context = describe_context(batch_options_of(options));
  std::optional<report_file> kept;
  if (!options.json_file.empty()) kept.emplace(options.json_file, context);
  fmt::print("trireme {} on {}, {}, commit {}\n", context["version"].get<std::string>(),
             context["machine"]["cpu"].is_string() ? context["machine"]["cpu"].get<std::string>() : "an unknown CPU",
             context["compiler"].get<std::string>(), context["commit"].get<std::string>());
  if (load_per_cpu() > 0.5) {
    fmt::print("The machine is busy ({:.1f} running programs per CPU): expect wide p10 .. p90.\n", load_per_cpu());
  }

  const std::vector<row> rows = measure_all(known, selected, options, self, kept);
  if (kept) kept->write(rows);
  std::size_t met = 0;
  std::size_t missed = 0;
  std::size_t failed = 0;
  std::size_t absent = 0;
  for (const row& measured : rows) {
    if (!measured.error.empty()) {
      ++failed;
      continue;
    }
    absent += measured.not_available.empty() ? 0U : 1U;
    const verdict judged = verdict_of(measured);
    met += judged == verdict::met ? 1U : 0U;
    missed += judged == verdict::missed ? 1U : 0U;
  }
  fmt::print("rows: {}, targets: {} met, {} missed, {}rows that failed: {}\n", rows.size(), met, missed,
             absent == 0 ? "" : fmt::format("not available: {}, ", absent), failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace tri::bench
