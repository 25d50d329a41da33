#include "top/job_figures.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <optional>
#include <string_view>

#include "live/idle_word.hpp"
#include "os/clock.hpp"
#include "os/text_file.hpp"

namespace tri::tools {
namespace {

// Ticks are those of the job: both processes run on one machine.
row_reading read_row(const live_process& process, const live::row& row) {
  row_reading made;
  made.ticks = os::ticks();
  for (const live::figure& figure : process.figures()) {
    const std::uint64_t value = process.read(row, figure);
    if (figure.kind == live::figure_kind::idle) made.idle_word = value;
    made.values[figure.name] = figure.kind == live::figure_kind::idle ? live::idle_ticks(value, made.ticks) : value;
  }
  made.tickets = process.tickets(row);
  made.consumed = process.consumed(row);
  return made;
}

// Who sent what came since: the cells of the ring still have it, unless they were used again. Then those that are there
// stand for the others.
void attribute(const live_process& process, const live::row& row, std::uint64_t from, row_reading& to) {
  const std::uint64_t came = to.tickets - from;
  if (row.inbox.capacity == 0 || came == 0 || to.tickets < from) return;
  const std::uint64_t seen = std::min<std::uint64_t>(came, row.inbox.capacity);
  std::uint64_t known = 0;
  std::map<std::int32_t, std::uint64_t> senders;
  for (std::uint64_t ticket = to.tickets - seen; ticket < to.tickets; ++ticket)
    if (const std::optional<std::int32_t> source = process.source_of(row, ticket);
        source && *source >= 0 && *source < process.page().rows_of_job) {
      ++senders[*source];
      ++known;
    }
  for (const auto& [source, count] : senders) to.senders[source] = count * came / known;
}

process_reading read_process(const live_process& process) {
  process_reading made{.ns = os::now_ns(), .arena_bytes = process.arena_bytes()};
  std::string line;
  unsigned long pages = 0;
  if (os::text_file(fmt::format("/proc/{}/statm", process.pid())).next_line(line) &&
      std::sscanf(line.c_str(), "%*u %lu", &pages) == 1)
    made.resident_bytes = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  unsigned long user = 0;
  unsigned long system = 0;
  if (os::text_file(fmt::format("/proc/{}/stat", process.pid())).next_line(line)) {
    const std::size_t name_end = line.rfind(')');  // a name may contain anything
    if (name_end != std::string::npos &&
        std::sscanf(line.c_str() + name_end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
                    &system) == 2)
      made.cpu_s = static_cast<double>(user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  }
  return made;
}

std::uint64_t value_of(const row_reading& reading, std::string_view name) {
  const auto at = reading.values.find(std::string(name));
  return at == reading.values.end() ? 0 : at->second;
}

// Figures that a kind of job has together make up what is shown.
struct shown_sums {
  std::vector<const char*> sent, received, bytes, steals, migrations;
};
const shown_sums& sums_of(live::job_kind kind) {
  static const shown_sums objects{
      {"sent"}, {"processed"}, {"bytes_copied"}, {"board_portions", "seeds_stolen"}, {"migrations"}};
  static const shown_sums mpi{{"inlined", "eager", "rendezvous", "offers"},
                              {"received_by_itself", "received_by_others"},
                              {"bytes_copied", "bytes_helped"},
                              {"chunks_helped", "received_for_others"},
                              {}};
  return kind == live::job_kind::mpi ? mpi : objects;
}

class between {
 public:
  between(const row_reading& before, const row_reading& after, double ns_per_tick)
      : before_(before),
        after_(after),
        ticks_(static_cast<double>(after.ticks - before.ticks)),
        seconds_(ticks_ * ns_per_tick * 1e-9) {}
  double grown(std::string_view name) const {
    const std::uint64_t from = value_of(before_, name);
    const std::uint64_t to = value_of(after_, name);
    return to > from ? static_cast<double>(to - from) : 0;
  }
  double per_second(const std::vector<const char*>& names) const {
    double sum = 0;
    for (const char* const name : names) sum += grown(name);
    return per_second(sum);
  }
  double per_second(double count) const { return seconds_ > 0 ? count / seconds_ : 0; }
  double part(std::string_view name) const { return ticks_ > 0 ? std::clamp(grown(name) / ticks_, 0.0, 1.0) : 0; }

 private:
  const row_reading& before_;
  const row_reading& after_;
  double ticks_;
  double seconds_;
};

row_figures figures_of(const live_process& process, const live::row& row, const between& step,
                       const row_reading& after) {
  const shown_sums& sums = sums_of(process.page().kind);
  row_figures made;
  made.number = row.number;
  made.is_idle = live::is_idle(after.idle_word);
  made.idle = step.part("idle");
  made.overhead = std::min(step.part("overhead"), 1 - made.idle);  // an estimate
  made.busy = 1 - made.idle - made.overhead;
  made.sent = step.per_second(sums.sent);
  made.received = step.per_second(sums.received);
  made.bytes = step.per_second(sums.bytes);
  made.steals = step.per_second(sums.steals);
  made.migrations = step.per_second(sums.migrations);
  // An idle row has nothing.
  const std::uint64_t in_ring = after.tickets > after.consumed ? after.tickets - after.consumed : 0;
  made.queue = made.is_idle ? 0 : in_ring + value_of(after, "own_queue");
  const double all = static_cast<double>(after.ticks - process.page().began_ticks);
  if (all > 0)
    made.busy_since_start =
        std::clamp(1 - static_cast<double>(value_of(after, "idle") + value_of(after, "overhead")) / all, 0.0, 1.0);
  made.totals = after.values;
  return made;
}

// What was taken out of an inbox is published now and then only. But no more can wait than are in flight in all.
void bound_queues(job_figures& all) {
  if (static_cast<int>(all.rows.size()) < all.facts.rows) return;
  std::uint64_t sent = 0;
  std::uint64_t processed = 0;
  for (const row_figures& each : all.rows) {
    const auto of = [&](const char* name) {
      const auto found = each.totals.find(name);
      return found == each.totals.end() ? 0 : found->second;
    };
    sent += of("sent");
    processed += of("processed");
  }
  const std::uint64_t in_flight = sent > processed ? sent - processed : 0;  // not all were read at once
  for (row_figures& each : all.rows) each.queue = std::min(each.queue, in_flight);
}

}  // namespace

job_reading job_reading::take(const live_job& job, const job_reading* before) {
  job_reading made;
  made.ns = os::now_ns();
  for (std::size_t i = 0; i < job.processes.size(); ++i) {
    const live_process& process = *job.processes[i];
    const bool had_ended = process.has_ended();
    std::vector<row_reading>& rows = made.rows.emplace_back();
    for (std::size_t j = 0; j < process.rows().size(); ++j) {
      rows.push_back(read_row(process, process.rows()[j]));
      if (before != nullptr && !before->rows[i].empty())
        attribute(process, process.rows()[j], before->rows[i][j].tickets, rows.back());
    }
    made.processes.push_back(read_process(process));
    made.processes.back().has_ended = had_ended;
  }
  return made;
}

void job_reading::add_unknown(std::size_t place) {
  rows.emplace(rows.begin() + static_cast<std::ptrdiff_t>(place));
  processes.emplace(processes.begin() + static_cast<std::ptrdiff_t>(place));
}

job_facts facts_of(const live_job& job) {
  const live::page& page = job.page();
  return {.number = job.number(),
          .kind = page.kind,
          .program = job.program(),
          .processes = page.processes,
          .hosts = page.hosts,
          .rows = page.rows_of_job,
          .age_s = job.age_s()};
}

job_figures figures_between(const live_job& job, const job_reading& before, const job_reading& after) {
  job_figures made;
  made.seconds = static_cast<double>(after.ns - before.ns) * 1e-9;
  made.facts = facts_of(job);
  for (std::size_t i = 0; i < job.processes.size(); ++i) {
    const live_process& process = *job.processes[i];
    const process_reading& then = before.processes[i];
    const process_reading& now = after.processes[i];
    if (now.has_ended) ++made.ended_processes;
    for (std::size_t j = 0; j < process.rows().size(); ++j) {
      const row_reading& read = after.rows[i][j];
      const between step(then.ns == 0 ? read : before.rows[i][j], read, process.page().ns_per_tick);
      row_figures row = figures_of(process, process.rows()[j], step, read);
      row.process = process.page().process;
      for (const auto& [source, count] : read.senders)
        made.messages[{source, row.number}] += step.per_second(static_cast<double>(count));
      made.rows.push_back(std::move(row));
    }
    const double seconds = then.ns == 0 ? 0 : static_cast<double>(now.ns - then.ns) * 1e-9;
    const double cpus = seconds > 0 ? (now.cpu_s - then.cpu_s) / seconds : 0;
    made.processes.push_back({.process = process.page().process,
                              .pid = process.pid(),
                              .host = process.page().host,
                              .arena_bytes = now.arena_bytes,
                              .arena_limit_bytes = process.arena_limit_bytes(),
                              .resident_bytes = now.resident_bytes,
                              .cpus = std::max(cpus, 0.0),
                              .has_ended = now.has_ended,
                              .is_lost = false});
  }
  finish_added(made);
  return made;
}

void finish_added(job_figures& all) {
  bound_queues(all);
  std::sort(all.rows.begin(), all.rows.end(),
            [](const row_figures& one, const row_figures& other) { return one.number < other.number; });
  std::sort(all.processes.begin(), all.processes.end(),
            [](const process_figures& one, const process_figures& other) { return one.process < other.process; });
}

double job_figures::imbalance() const {
  double largest = 0;
  double sum = 0;
  for (const row_figures& each : rows) {
    largest = std::max(largest, each.busy);
    sum += each.busy;
  }
  return sum > 0 ? largest * static_cast<double>(rows.size()) / sum : 1;
}

bool has_ended(const live_job& job) {
  return std::all_of(job.processes.begin(), job.processes.end(), [](const auto& each) { return each->has_ended(); });
}

}  // namespace tri::tools
