#include "top/job_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <type_traits>

namespace tri::tools {
namespace {

using nlohmann::json;

constexpr int json_version = 1;

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

// ---- the fields by their names, once for writing and reading

template <class Figures, class Of>
concept possibly_const = std::same_as<std::remove_const_t<Figures>, Of>;

template <possibly_const<row_figures> Row, class Visit>
void visit_fields(Row& row, const Visit& visit) {
  visit("number", row.number);
  visit("process", row.process);
  visit.state("state", row.is_idle, "idle", "busy");
  visit("busy", row.busy);
  visit("idle", row.idle);
  visit("overhead", row.overhead);
  visit("busy_since_start", row.busy_since_start);
  visit("sent_per_s", row.sent);
  visit("received_per_s", row.received);
  visit("bytes_per_s", row.bytes);
  visit("steals_per_s", row.steals);
  visit("migrations_per_s", row.migrations);
  visit("queue", row.queue);
  visit("totals", row.totals);
}

template <possibly_const<process_figures> Process, class Visit>
void visit_fields(Process& process, const Visit& visit) {
  visit("process", process.process);
  visit("pid", process.pid);
  visit("host", process.host);
  visit("resident_bytes", process.resident_bytes);
  visit("arena_bytes", process.arena_bytes);
  visit("arena_limit_bytes", process.arena_limit_bytes);
  visit("cpus", process.cpus);
  visit("has_ended", process.has_ended);
  visit("is_lost", process.is_lost);
}

template <possibly_const<job_facts> Job, class Visit>
void visit_fields(Job& job, const Visit& visit) {
  visit("number", job.number);
  visit("kind", job.kind);
  visit("program", job.program);
  visit("processes", job.processes);
  visit("hosts", job.hosts);
  visit("rows", job.rows);
  visit("age_s", job.age_s);
}

struct json_writer {
  json& to;
  template <class Field>
  void operator()(const char* name, const Field& field) const {
    to[name] = field;
  }
  void operator()(const char* name, live::job_kind kind) const { to[name] = name_of(kind); }
  void state(const char* name, bool field, const char* if_true, const char* if_false) const {
    to[name] = field ? if_true : if_false;
  }
};
template <class Figures>
json json_of(const Figures& figures) {
  json made;
  visit_fields(figures, json_writer{made});
  return made;
}

// Throws json::exception where a field is missing, or of another type.
struct json_reader {
  const json& from;
  template <class Field>
  void operator()(const char* name, Field& field) const {
    from.at(name).get_to(field);
  }
  void operator()(const char* name, live::job_kind& kind) const {
    kind = kind_named(from.at(name).get<std::string>()).value_or(live::job_kind::objects);
  }
  void state(const char* name, bool& field, const char* if_true, const char*) const {
    field = from.at(name) == if_true;
  }
};
template <class Figures>
Figures read_from(const json& from) {
  Figures read;
  visit_fields(read, json_reader{from});
  return read;
}

json matrix_of(const job_figures& figures) {
  json made = json::array();
  for (const auto& [pair, rate] : figures.messages)
    made.push_back({{"from", pair.first}, {"to", pair.second}, {"per_s", rate}});
  return made;
}

json json_of(const job_facts& job, std::size_t processes_here) {
  json made = json_of(job);
  made["processes_here"] = processes_here;
  return made;
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
  for (const row_figures& each : figures.rows) rows.push_back(json_of(each));
  json processes = json::array();
  std::size_t known = 0;
  for (const process_figures& each : figures.processes) {
    known += each.is_lost ? 0 : 1;
    processes.push_back(json_of(each));
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

bool add_json(const json& figures, job_figures& all) try {
  job_figures more = all;
  more.facts = read_from<job_facts>(figures.at("job"));
  if (all.facts.number != 0) more.facts.number = all.facts.number;
  more.facts.age_s = std::max(all.facts.age_s, more.facts.age_s);
  more.seconds = std::max(all.seconds, figures.at("interval_s").get<double>());
  for (const json& each : figures.at("rows")) more.rows.push_back(read_from<row_figures>(each));
  for (const json& each : figures.at("process_figures")) {
    more.processes.push_back(read_from<process_figures>(each));
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
    text += fmt::format("{:>8} {:<8} {:>9} {:>6} {:>12}  {}\n", job.number, name_of(job.kind), job.processes, job.rows,
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
