#include "top/job_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "os/clock.hpp"

namespace tri::tools {
namespace {

using nlohmann::json;

constexpr int json_version = 1;

const char* kind_of(const live_job& job) { return job.page().kind == live::job_kind::mpi ? "mpi" : "objects"; }
const char* word_for_rows(const live_job& job) { return job.page().kind == live::job_kind::mpi ? "rank" : "PE"; }

std::string short_number(double value) {
  constexpr std::array<const char*, 5> units{"", "k", "M", "G", "T"};
  std::size_t unit = 0;
  for (; value >= 9999.5 && unit + 1 < units.size(); ++unit) value /= 1000;
  return fmt::format("{:.0f}{}", value, units[unit]);
}

std::string short_bytes(double bytes) {
  constexpr std::array<const char*, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes >= 9999.5 && unit + 1 < units.size(); ++unit) bytes /= 1024;
  return fmt::format("{:.0f} {}", bytes, units[unit]);
}

std::string bar_of(const row_figures& row) {
  constexpr double width = 20;
  const auto busy = static_cast<std::size_t>(std::lround(row.busy * width));
  const auto overhead = static_cast<std::size_t>(std::lround((row.busy + row.overhead) * width)) - busy;
  std::string bar = std::string(busy, '#') + std::string(overhead, '+');
  bar.resize(static_cast<std::size_t>(width), ' ');
  return bar;
}

std::string duration_of(double seconds) {
  const auto whole = static_cast<long>(seconds);
  if (whole < 60) return fmt::format("{:.1f} s", seconds);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string hosts_of(const live_job& job) {
  const live::page& page = job.page();
  const int missing = page.processes - static_cast<int>(job.processes.size());
  std::string text = fmt::format("{} process{}", page.processes, page.processes == 1 ? "" : "es");
  if (page.hosts > 1) text += fmt::format(" on {} hosts", page.hosts);
  if (missing > 0) text += fmt::format(", {} of them on other machines", missing);
  return text;
}

double age_of(const live_job& job) {
  return static_cast<double>(os::ticks() - job.page().began_ticks) * job.page().ns_per_tick * 1e-9;
}

json matrix_of(const job_figures& figures) {
  json made = json::array();
  for (const auto& [pair, rate] : figures.messages)
    made.push_back({{"from", pair.first}, {"to", pair.second}, {"per_s", rate}});
  return made;
}

json facts_of(const live_job& job) {
  const live::page& page = job.page();
  return {{"number", job.number()},
          {"kind", kind_of(job)},
          {"program", job.program()},
          {"processes", page.processes},
          {"processes_here", job.processes.size()},
          {"hosts", page.hosts},
          {"rows", page.rows_of_job},
          {"age_s", age_of(job)}};
}

}  // namespace

job_view view_of(const live_job& job, const job_figures& figures, bool busiest_first) {
  job_view view;
  const bool is_mpi = job.page().kind == live::job_kind::mpi;
  double sent = 0;
  double busy = 0;
  for (const row_figures& each : figures.rows) {
    sent += each.sent;
    busy += each.busy;
  }
  std::uint64_t resident = 0;
  std::uint64_t arena = 0;
  for (const process_figures& each : figures.processes) {
    resident += each.resident_bytes;
    arena += each.arena_bytes;
  }
  view.heading.push_back(fmt::format("job {}  {}: {}, {} {}s, running for {}", job.number(), job.program(),
                                     hosts_of(job), job.page().rows_of_job, word_for_rows(job),
                                     duration_of(figures.age_s)));
  view.heading.push_back(fmt::format(
      "busy {:.0f} %, busiest {:.2f} of the mean, {} messages/s, {} resident, {} of it arena{}",
      figures.rows.empty() ? 0 : 100 * busy / static_cast<double>(figures.rows.size()), figures.imbalance(),
      short_number(sent), short_bytes(static_cast<double>(resident)), short_bytes(static_cast<double>(arena)),
      figures.ended_processes > 0 ? fmt::format(", {} processes have ended", figures.ended_processes) : ""));
  view.heading.push_back(fmt::format("{:>5} {:>4} {:<20} {:>5} {:>5} {:>5} {:>8} {:>8} {:>9} {:>8} {:>8} {:>9}",
                                     word_for_rows(job), "proc", is_mpi ? "# busy" : "# busy + overhead", "busy%",
                                     "over%", "idle%", "sent/s", "recv/s", "bytes/s", is_mpi ? "helped/s" : "steals/s",
                                     "queue", is_mpi ? "" : "migrated"));
  std::vector<row_figures> rows = figures.rows;
  if (busiest_first)
    std::stable_sort(rows.begin(), rows.end(),
                     [](const row_figures& one, const row_figures& other) { return one.busy > other.busy; });
  for (const row_figures& each : rows) {
    const auto migrated = each.totals.find("migrations");
    view.rows.push_back(
        fmt::format("{:>5} {:>4} {:<20} {:>5.1f} {:>5} {:>5.1f} {:>8} {:>8} {:>9} {:>8} {:>8} {:>9}", each.number,
                    job.processes[static_cast<std::size_t>(each.process)]->page().process, bar_of(each),
                    100 * each.busy, is_mpi ? "" : fmt::format("{:.1f}", 100 * each.overhead), 100 * each.idle,
                    short_number(each.sent), short_number(each.received), short_bytes(each.bytes),
                    short_number(each.steals), is_mpi ? "" : std::to_string(each.queue),
                    migrated == each.totals.end() ? "" : short_number(static_cast<double>(migrated->second))));
  }
  return view;
}

std::string to_text(const live_job& job, const job_figures& figures) {
  const job_view view = view_of(job, figures, false);
  std::string text;
  for (const std::vector<std::string>& part : {view.heading, view.rows})
    for (const std::string& line : part) text += line + "\n";
  return text;
}

json to_json(const live_job& job, const job_figures& figures) {
  json rows = json::array();
  for (const row_figures& each : figures.rows)
    rows.push_back({{"number", each.number},
                    {"process", job.processes[static_cast<std::size_t>(each.process)]->page().process},
                    {"state", each.is_idle ? "idle" : "busy"},
                    {"busy", each.busy},
                    {"idle", each.idle},
                    {"overhead", each.overhead},
                    {"busy_since_start", each.busy_since_start},
                    {"sent_per_s", each.sent},
                    {"received_per_s", each.received},
                    {"bytes_per_s", each.bytes},
                    {"steals_per_s", each.steals},
                    {"migrations_per_s", each.migrations},
                    {"queue", each.queue},
                    {"totals", each.totals}});
  json processes = json::array();
  for (std::size_t i = 0; i < figures.processes.size(); ++i) {
    const live_process& process = *job.processes[i];
    const process_figures& each = figures.processes[i];
    processes.push_back({{"process", process.page().process},
                         {"pid", process.pid()},
                         {"host", process.page().host},
                         {"resident_bytes", each.resident_bytes},
                         {"arena_bytes", each.arena_bytes},
                         {"arena_limit_bytes", process.arena_limit_bytes()},
                         {"cpus", each.cpus},
                         {"has_ended", process.has_ended()}});
  }
  return {{"version", json_version},          {"job", facts_of(job)}, {"interval_s", figures.seconds},
          {"imbalance", figures.imbalance()}, {"rows", rows},         {"process_figures", processes},
          {"messages", matrix_of(figures)}};
}

std::string list_of(const std::vector<live_job>& jobs) {
  std::string text =
      fmt::format("{:>8} {:<8} {:>9} {:>6} {:>12}  {}\n", "JOB", "kind", "processes", "PEs", "running", "program");
  for (const live_job& each : jobs)
    text += fmt::format("{:>8} {:<8} {:>9} {:>6} {:>12}  {}\n", each.number(), kind_of(each), each.page().processes,
                        each.page().rows_of_job, duration_of(age_of(each)), each.program());
  return text;
}

json list_as_json(const std::vector<live_job>& jobs) {
  json made = json::array();
  for (const live_job& each : jobs) made.push_back(facts_of(each));
  return made;
}

}  // namespace tri::tools
