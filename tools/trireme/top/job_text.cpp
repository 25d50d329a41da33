#include "top/job_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace tri::tools {
namespace {

using nlohmann::json;

constexpr int json_version = 1;

const char* kind_of(const job_facts& job) { return job.kind == live::job_kind::mpi ? "mpi" : "objects"; }
const char* word_for_rows(const job_facts& job) { return job.kind == live::job_kind::mpi ? "rank" : "PE"; }

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

std::string hosts_of(const job_figures& figures) {
  const job_facts& job = figures.facts;
  const int missing = job.processes - static_cast<int>(figures.processes.size());
  std::string text = fmt::format("{} process{}", job.processes, job.processes == 1 ? "" : "es");
  if (job.hosts > 1) text += fmt::format(" on {} hosts", job.hosts);
  if (missing > 0) text += fmt::format(", {} of them on other machines", missing);
  return text;
}

// Of hosts whose figures are not here.
std::string describe_lost(const host_figures& host) {
  if (host.is_lost) return fmt::format("host {} is lost, with {} processes", host.name, host.processes);
  return fmt::format("host {} does not answer: nothing was heard of it for {:.1f} s, nor of its {} processes",
                     host.name, host.silent_s, host.processes);
}

json matrix_of(const job_figures& figures) {
  json made = json::array();
  for (const auto& [pair, rate] : figures.messages)
    made.push_back({{"from", pair.first}, {"to", pair.second}, {"per_s", rate}});
  return made;
}

json json_of(const job_facts& job, std::size_t processes_here) {
  return {{"number", job.number},
          {"kind", kind_of(job)},
          {"program", job.program},
          {"processes", job.processes},
          {"processes_here", processes_here},
          {"hosts", job.hosts},
          {"rows", job.rows},
          {"age_s", job.age_s}};
}

json hosts_json(const std::vector<host_figures>& hosts) {
  json made = json::array();
  for (const host_figures& each : hosts)
    made.push_back({{"name", each.name},
                    {"state", each.is_lost   ? "lost"
                              : each.answers ? "answers"
                                             : "silent"},
                    {"silent_s", each.silent_s},
                    {"first_process", each.first_process},
                    {"processes", each.processes}});
  return made;
}

}  // namespace

job_view view_of(const job_figures& figures, bool busiest_first) {
  job_view view;
  const job_facts& job = figures.facts;
  const bool is_mpi = job.kind == live::job_kind::mpi;
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
  view.heading.push_back(fmt::format("job {}  {}: {}, {} {}s, running for {}", job.number, job.program,
                                     hosts_of(figures), job.rows, word_for_rows(job), duration_of(job.age_s)));
  view.heading.push_back(fmt::format(
      "busy {:.0f} %, busiest {:.2f} of the mean, {} messages/s, {} resident, {} of it arena{}",
      figures.rows.empty() ? 0 : 100 * busy / static_cast<double>(figures.rows.size()), figures.imbalance(),
      short_number(sent), short_bytes(static_cast<double>(resident)), short_bytes(static_cast<double>(arena)),
      figures.ended_processes > 0 ? fmt::format(", {} processes have ended", figures.ended_processes) : ""));
  for (const host_figures& each : figures.hosts)
    if (!each.answers) view.heading.push_back(describe_lost(each));
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
    view.rows.push_back(fmt::format(
        "{:>5} {:>4} {:<20} {:>5.1f} {:>5} {:>5.1f} {:>8} {:>8} {:>9} {:>8} {:>8} {:>9}", each.number, each.process,
        bar_of(each), 100 * each.busy, is_mpi ? "" : fmt::format("{:.1f}", 100 * each.overhead), 100 * each.idle,
        short_number(each.sent), short_number(each.received), short_bytes(each.bytes), short_number(each.steals),
        is_mpi ? "" : std::to_string(each.queue),
        migrated == each.totals.end() ? "" : short_number(static_cast<double>(migrated->second))));
  }
  return view;
}

std::string to_text(const job_figures& figures) {
  const job_view view = view_of(figures, false);
  std::string text;
  for (const std::vector<std::string>& part : {view.heading, view.rows})
    for (const std::string& line : part) text += line + "\n";
  return text;
}

json to_json(const job_figures& figures) {
  json rows = json::array();
  for (const row_figures& each : figures.rows)
    rows.push_back({{"number", each.number},
                    {"process", each.process},
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
  std::size_t known = 0;
  for (const process_figures& each : figures.processes) {
    known += each.is_lost ? 0 : 1;
    processes.push_back({{"process", each.process},
                         {"pid", each.pid},
                         {"host", each.host},
                         {"resident_bytes", each.resident_bytes},
                         {"arena_bytes", each.arena_bytes},
                         {"arena_limit_bytes", each.arena_limit_bytes},
                         {"cpus", each.cpus},
                         {"has_ended", each.has_ended},
                         {"is_lost", each.is_lost}});
  }
  return {{"version", json_version},
          {"job", json_of(figures.facts, known)},
          {"interval_s", figures.seconds},
          {"imbalance", figures.imbalance()},
          {"rows", rows},
          {"process_figures", processes},
          {"hosts", hosts_json(figures.hosts)},
          {"messages", matrix_of(figures)}};
}

namespace {

row_figures row_of(const json& from) {
  return {.number = from.at("number"),
          .process = from.at("process"),
          .is_idle = from.at("state") == "idle",
          .busy = from.at("busy"),
          .idle = from.at("idle"),
          .overhead = from.at("overhead"),
          .sent = from.at("sent_per_s"),
          .received = from.at("received_per_s"),
          .bytes = from.at("bytes_per_s"),
          .steals = from.at("steals_per_s"),
          .migrations = from.at("migrations_per_s"),
          .queue = from.at("queue"),
          .busy_since_start = from.at("busy_since_start"),
          .totals = from.at("totals").get<std::map<std::string, std::uint64_t>>()};
}

process_figures process_of(const json& from) {
  return {.process = from.at("process"),
          .pid = from.at("pid"),
          .host = from.at("host"),
          .arena_bytes = from.at("arena_bytes"),
          .arena_limit_bytes = from.at("arena_limit_bytes"),
          .resident_bytes = from.at("resident_bytes"),
          .cpus = from.at("cpus"),
          .has_ended = from.at("has_ended"),
          .is_lost = false};
}

}  // namespace

bool add_json(const json& figures, job_figures& all) try {
  const json& job = figures.at("job");
  job_figures more = all;
  more.facts = {.number = all.facts.number != 0 ? all.facts.number : job.at("number").get<pid_t>(),
                .kind = job.at("kind") == "mpi" ? live::job_kind::mpi : live::job_kind::objects,
                .program = job.at("program"),
                .processes = job.at("processes"),
                .hosts = job.at("hosts"),
                .rows = job.at("rows"),
                .age_s = std::max(all.facts.age_s, job.at("age_s").get<double>())};
  more.seconds = std::max(all.seconds, figures.at("interval_s").get<double>());
  for (const json& each : figures.at("rows")) more.rows.push_back(row_of(each));
  for (const json& each : figures.at("process_figures")) {
    more.processes.push_back(process_of(each));
    more.ended_processes += more.processes.back().has_ended ? 1 : 0;
  }
  for (const json& each : figures.at("messages"))
    more.messages[{each.at("from").get<std::int32_t>(), each.at("to").get<std::int32_t>()}] +=
        each.at("per_s").get<double>();
  all = std::move(more);
  return true;
} catch (const json::exception&) {
  return false;
}

std::string list_of(const std::vector<live_job>& jobs) {
  std::string text =
      fmt::format("{:>8} {:<8} {:>9} {:>6} {:>12}  {}\n", "JOB", "kind", "processes", "PEs", "running", "program");
  for (const live_job& each : jobs) {
    const job_facts job = facts_of(each);
    text += fmt::format("{:>8} {:<8} {:>9} {:>6} {:>12}  {}\n", job.number, kind_of(job), job.processes, job.rows,
                        duration_of(job.age_s), job.program);
  }
  return text;
}

json list_as_json(const std::vector<live_job>& jobs) {
  json made = json::array();
  for (const live_job& each : jobs) made.push_back(json_of(facts_of(each), each.processes.size()));
  return made;
}

}  // namespace tri::tools
