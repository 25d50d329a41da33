#include "loops/loop_reporter.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "config/suggestion.hpp"
#include "os/clock.hpp"
#include "os/output_file.hpp"

namespace tri::loops {
namespace {

struct site_list {
  std::mutex mutex;
  std::deque<site_times> sites;  // they do not move
  std::atomic<std::uint64_t> without_record{0};
};
// Never destroyed.
site_list& all_sites() {
  static site_list* const list = new site_list;
  return *list;
}

double ticks_between(std::uint64_t begin, std::uint64_t end) {
  return end > begin ? static_cast<double>(end - begin) : 0.0;
}

std::string short_name(const std::string& file) { return std::filesystem::path(file).filename().string(); }

// The report at process exit. Set once, before the first loop.
struct ending_report {
  pid_t owner = 0;  // a child forked later does not report
  bool prints = false;
  bool in_detail = false;
  std::string file;
};
ending_report& at_end() {
  static ending_report* const wish = new ending_report;
  return *wish;
}

std::string program_name() {
  std::error_code none;
  return std::filesystem::read_symlink("/proc/self/exe", none).string();
}

void print_report(const std::vector<loop_site_report>& rows, bool in_detail) {
  std::string text = fmt::format("trireme loops: {} (process {})\n{}", program_name(), getpid(), to_text(rows));
  if (in_detail) text += to_detailed_text(rows);
  const std::uint64_t others = all_sites().without_record.load(std::memory_order_relaxed);  // relaxed: a count
  if (others > 0) {
    text += fmt::format(
        "{} executions of loops whose body is a function pointer or a std::function were not measured: give them a "
        "loop_record\n",
        others);
  }
  std::fputs(text.c_str(), stderr);
}

void write_report(const std::vector<loop_site_report>& rows, const std::string& name) {
  nlohmann::json loops = nlohmann::json::array();
  for (const loop_site_report& each : rows) {
    nlohmann::json participants = nlohmann::json::array();
    for (const loop_participant_report& own : each.by_participant) {
      participants.push_back({{"chunks", own.chunks},
                              {"from_pool", own.from_pool},
                              {"stolen", own.stolen},
                              {"steal_distance", own.steal_distance},
                              {"iterations", own.iterations},
                              {"moved_iterations", own.moved_iterations},
                              {"seconds", own.seconds}});
    }
    loops.push_back({{"file", each.file},
                     {"line", each.line},
                     {"function", each.function},
                     {"schedule", each.schedule},
                     {"executions", each.executions},
                     {"one_core_runs", each.one_core_runs},
                     {"unmeasured", each.unmeasured},
                     {"iterations", each.iterations},
                     {"claims", each.claims},
                     {"participants", each.participants},
                     {"total_s", each.total},
                     {"compute_s", each.compute},
                     {"idle_s", each.idle},
                     {"synchronisation_s", each.synchronisation},
                     {"data_movement_s", each.data_movement ? nlohmann::json(*each.data_movement) : nullptr},
                     {"imbalance", each.imbalance},
                     {"features", each.features},
                     {"dynamic_iterations", each.dynamic_iterations},
                     {"dynamic_in_sequence", each.dynamic_in_sequence},
                     {"moved_iterations", each.moved_iterations},
                     {"participants_detail", participants},
                     {"steps_s", each.steps}});
  }
  try {
    os::write_output_file(name, nlohmann::json{{"program", program_name()}, {"loops", loops}}.dump(2) + '\n');
  } catch (const std::runtime_error& problem) {
    fmt::print(stderr, "trireme loops: {}; this would have been the report\n", problem.what());
  }
}

void report_at_end(bool prints, bool in_detail, const std::string& file) {
  at_end().prints |= prints;
  at_end().in_detail |= in_detail;
  if (!file.empty()) at_end().file = file;
  if (at_end().owner != 0) return;
  at_end().owner = getpid();
  std::atexit([] {
    const ending_report& wish = at_end();
    if (getpid() != wish.owner) return;
    const std::vector<loop_site_report> rows = loop_report();
    if (wish.prints) print_report(rows, wish.in_detail);
    if (!wish.file.empty()) write_report(rows, wish.file);
  });
}

}  // namespace

void site_times::add(const measured_execution& one, const schedules::schedule& which) {
  const double elapsed = ticks_between(one.began, one.ended);
  double busy = 0.0, idle = 0.0, between = 0.0, longest = 0.0;
  std::uint64_t claims = 0;
  for (const schedules::loop_times::participant_times& each : one.times->participants()) {
    const auto own = static_cast<double>(each.busy);
    claims += each.claims;
    busy += own;
    longest = std::max(longest, own);
    if (each.claims == 0) {
      if (one.participants > 1) idle += elapsed;
      continue;
    }
    idle += ticks_between(one.began, each.first_started) + ticks_between(each.last_end, one.ended);
    between += std::max(0.0, ticks_between(each.first_started, each.last_end) - own);
  }
  const double count = one.participants;
  const std::lock_guard lock(mutex_);
  ++sums_.executions;
  sums_.items += one.times->items();
  sums_.claims += claims;
  sums_.participants = one.participants;
  if (sums_.last_begin != 0 && sums_.steps.size() < most_steps)
    sums_.steps.push_back(static_cast<float>(ticks_between(sums_.last_begin, one.began)));
  sums_.last_begin = one.began;
  sums_.which = which;
  sums_.chunks.add(*one.times, one.layout);
  sums_.elapsed += elapsed;
  sums_.busy += busy / count;
  sums_.idle += idle / count;
  sums_.between += between / count;
  sums_.largest_busy += longest;
  sums_.shared_one_core += static_cast<double>(one.times->items()) / count;
}

void site_times::add_one_core(const measured_execution& one) {
  const std::uint64_t items = one.times->items();
  const auto busy = static_cast<double>(one.times->busy());
  if (items == 0) return;
  const std::lock_guard lock(mutex_);
  const double per_item = busy / static_cast<double>(items);
  sums_.last_begin = 0;
  if (sums_.one_core_runs == 0) {
    sums_.one_core_length = items;
    sums_.one_core_least = per_item;
  }
  sums_.one_length &= items == sums_.one_core_length;
  sums_.one_core_least = std::min(sums_.one_core_least, per_item);
  sums_.one_core_ticks += busy;
  sums_.one_core_items += items;
  ++sums_.one_core_runs;
}

bool site_times::wants_one_core() {
  const std::lock_guard lock(mutex_);
  return sums_.turns++ % one_core_every == 1;
}

loop_site_report site_times::row(double seconds_per_tick) const {
  loop_site_report row;
  row.file = location_.file_name();
  row.line = location_.line();
  row.function = location_.function_name();
  row.unmeasured = unmeasured_.load(std::memory_order_relaxed);  // relaxed: a count
  const std::lock_guard lock(mutex_);
  if (sums_.executions > 0) {
    row.schedule = to_text(sums_.which);
    for (const std::string_view each : features_of(sums_.which)) row.features.emplace_back(each);
  }
  for (const schedules::participant_chunks& each : sums_.chunks.participants()) {
    row.by_participant.push_back(
        {.chunks = each.chunks,
         .from_pool = each.from_pool,
         .stolen = each.stolen,
         .steal_distance =
             each.stolen > 0 ? static_cast<double>(each.steal_distance) / static_cast<double>(each.stolen) : 0.0,
         .iterations = each.iterations,
         .moved_iterations = each.moved,
         .seconds = each.busy * seconds_per_tick});
    row.dynamic_iterations += each.dynamic_iterations;
    row.dynamic_in_sequence += each.in_sequence;
    row.moved_iterations += each.moved;
  }
  row.executions = sums_.executions;
  row.one_core_runs = sums_.one_core_runs;
  row.iterations = sums_.items;
  row.claims = sums_.claims;
  row.participants = sums_.participants;
  row.total = sums_.elapsed * seconds_per_tick;
  row.idle = sums_.idle * seconds_per_tick;
  row.synchronisation = sums_.between * seconds_per_tick;
  row.compute = sums_.busy * seconds_per_tick;
  for (const float step : sums_.steps) row.steps.push_back(static_cast<double>(step) * seconds_per_tick);
  if (sums_.one_core_runs > 0 && sums_.executions > 0) {
    const double per_item =
        sums_.one_length ? sums_.one_core_least : sums_.one_core_ticks / static_cast<double>(sums_.one_core_items);
    const double compute = sums_.shared_one_core * per_item * seconds_per_tick;
    row.data_movement = row.compute - compute;
    row.compute = compute;
  }
  if (sums_.busy > 0.0) row.imbalance = sums_.largest_busy / sums_.busy;
  return row;
}

void site_times::clear() {
  unmeasured_.store(0, std::memory_order_relaxed);  // relaxed: a count
  const std::lock_guard lock(mutex_);
  sums_ = {};
}

site_times& new_site(const std::source_location& location) {
  site_list& list = all_sites();
  const std::lock_guard lock(list.mutex);
  return list.sites.emplace_back(location);
}

void count_loop_without_record() { all_sites().without_record.fetch_add(1, std::memory_order_relaxed); }  // a count

void set_loop_report(std::string_view wish, const std::string& file) {
  const bool off = wish == "off" || wish == "0";
  const bool full = wish == "full";
  if (!off && !full && wish != "on" && wish != "1") {
    throw std::invalid_argument(fmt::format("loops_report is '{}'; {}off, on (or 1) and full are known", wish,
                                            config::did_you_mean(wish, {"off", "on", "full"}, "did you mean ", "? ")));
  }
  if (off && file.empty()) return;
  measure_loops(full ? loop_measuring::with_one_core_runs : loop_measuring::as_is);
  report_at_end(!off, full, file);
}

}  // namespace tri::loops

namespace tri {

void measure_loops(loop_measuring how) {
  loops::current_measuring.store(how, std::memory_order_relaxed);  // relaxed: as declared
}

std::vector<loop_site_report> loop_report() {
  loops::site_list& list = loops::all_sites();
  std::vector<loop_site_report> rows;
  {
    const double seconds_per_tick = os::ns_per_tick() * 1e-9;
    const std::lock_guard lock(list.mutex);
    for (const loops::site_times& each : list.sites) {
      loop_site_report row = each.row(seconds_per_tick);
      if (row.executions + row.one_core_runs + row.unmeasured > 0) rows.push_back(std::move(row));
    }
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const loop_site_report& a, const loop_site_report& b) { return a.total > b.total; });
  return rows;
}

void clear_loop_report() {
  loops::site_list& list = loops::all_sites();
  list.without_record.store(0, std::memory_order_relaxed);  // relaxed: a count
  const std::lock_guard lock(list.mutex);
  for (loops::site_times& each : list.sites) each.clear();
}

std::string to_text(std::span<const loop_site_report> loops) {
  if (loops.empty()) return "no parallel loop ran\n";
  std::string text = fmt::format("{:>11} {:>9} {:>7} {:>7} {:>7} {:>9} {:>10} {:>9}  {}\n", "total ms", "compute %",
                                 "idle %", "sync %", "data %", "runs", "chunks/run", "imbalance", "loop");
  bool incomplete = false;
  for (const loop_site_report& each : loops) {
    const auto percent = [&](double part) { return each.total > 0.0 ? part / each.total * 100.0 : 0.0; };
    const std::string data =
        each.data_movement.has_value() ? fmt::format("{:.1f}", percent(*each.data_movement)) : std::string("-");
    incomplete |= !each.data_movement.has_value();
    text += fmt::format(
        "{:>11.3f} {:>9.1f} {:>7.1f} {:>7.1f} {:>7} {:>9} {:>10.1f} {:>9.3f}  {}:{} {}{}\n", each.total * 1e3,
        percent(each.compute), percent(each.idle), percent(each.synchronisation), data, each.executions,
        each.executions > 0 ? static_cast<double>(each.claims) / static_cast<double>(each.executions) : 0.0,
        each.imbalance, loops::short_name(each.file), each.line, each.schedule,
        each.unmeasured > 0 ? fmt::format(", {} not measured", each.unmeasured) : std::string());
  }
  if (incomplete)
    text += "data -: moving data is part of compute; TRIREME_LOOPS_REPORT=full separates it, by runs on one core\n";
  return text;
}

std::string to_detailed_text(std::span<const loop_site_report> loops) {
  std::string text;
  for (const loop_site_report& each : loops) {
    if (each.executions == 0) continue;
    const auto percent = [](double part, double whole) { return whole > 0.0 ? 100.0 * part / whole : 0.0; };
    const auto number = [](std::uint64_t value) { return static_cast<double>(value); };
    text += fmt::format("{}:{} {} consists of: {}\n", loops::short_name(each.file), each.line, each.schedule,
                        fmt::join(each.features, ", "));
    text += fmt::format(
        "  idle {:.1f} %, synchronisation {:.1f} %; of the iterations {:.1f} % were run by their owner; of the "
        "others "
        "{:.1f} % beside the chunk before; {:.2f} % ran elsewhere than the time before\n",
        percent(each.idle, each.total), percent(each.synchronisation, each.total),
        percent(number(each.iterations - std::min(each.iterations, each.dynamic_iterations)), number(each.iterations)),
        percent(number(each.dynamic_in_sequence), number(each.dynamic_iterations)),
        percent(number(each.moved_iterations), number(each.iterations)));
    text += fmt::format("  {:>11} {:>10} {:>10} {:>10} {:>9} {:>12} {:>12} {:>11}\n", "participant", "chunks",
                        "from pool", "stolen", "distance", "iterations", "moved", "busy ms");
    for (std::size_t index = 0; index < each.by_participant.size(); ++index) {
      const loop_participant_report& own = each.by_participant[index];
      text += fmt::format("  {:>11} {:>10} {:>10} {:>10} {:>9.2f} {:>12} {:>12} {:>11.3f}\n", index, own.chunks,
                          own.from_pool, own.stolen, own.steal_distance, own.iterations, own.moved_iterations,
                          own.seconds * 1e3);
    }
  }
  return text;
}

}  // namespace tri
