#include "trace/program_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "duration.hpp"

namespace tri::tools {
namespace {

using trace::event;

std::string length(std::int64_t ns) { return format_duration(static_cast<double>(ns)); }

struct mark_profile {
  std::uint64_t times = 0;
  double sum = 0;
  double least = std::numeric_limits<double>::infinity();
  double largest = -std::numeric_limits<double>::infinity();
};

}  // namespace

std::map<std::string, phase_profile> phases_of(const trace_folder& trace) {
  std::map<std::string, phase_profile> phases;
  for (const trace_row& row : trace.rows) {
    std::map<std::uint32_t, std::vector<std::int64_t>> begun;  // by name
    for (const trace_event& one : row.events) {
      if (one.what == event::enter) begun[one.handler].push_back(one.ns);
      if (one.what == event::on || one.what == event::off) begun.clear();
      if (one.what != event::leave || begun[one.handler].empty()) continue;
      const std::int64_t took = one.ns - begun[one.handler].back();
      begun[one.handler].pop_back();
      phase_profile& phase = phases[row.name_of_program(one.handler)];
      ++phase.times;
      phase.total += took;
      phase.by_pe[row.pe] += took;
      if (took < phase.longest) continue;
      phase.longest = took;
      phase.longest_pe = row.pe;
    }
  }
  return phases;
}

std::vector<balancing_step> balancing_steps_of(const trace_folder& trace) {
  std::map<std::uint32_t, balancing_step> steps;
  for (const trace_row& row : trace.rows)
    for (const trace_event& one : row.events) {
      if (one.what != event::load && one.what != event::expected) continue;
      balancing_step& step =
          steps.try_emplace(one.peer, balancing_step{.number = one.peer, .ns = one.ns, .before = {}, .after = {}})
              .first->second;
      step.ns = std::min(step.ns, one.ns);
      (one.what == event::load ? step.before : step.after)[static_cast<int>(one.bytes)] =
          static_cast<std::int64_t>(one.number);
    }
  std::vector<balancing_step> made;
  for (auto& [number, step] : steps) made.push_back(std::move(step));
  return made;
}

double imbalance_of(const std::map<int, std::int64_t>& loads) {
  double sum = 0;
  double largest = 0;
  for (const auto& [pe, load] : loads) {
    sum += static_cast<double>(load);
    largest = std::max(largest, static_cast<double>(load));
  }
  return sum > 0 ? largest * static_cast<double>(loads.size()) / sum : 1;
}

std::string text_of_phases(const trace_folder& trace) {
  const std::map<std::string, phase_profile> phases = phases_of(trace);
  if (phases.empty()) return {};
  std::string text =
      fmt::format("phases: {:>8}{:>12}{:>12}{:>26}  name\n", "times", "total", "longest", "largest over mean of PEs");
  for (const auto& [name, phase] : phases)
    text += fmt::format("        {:>8}{:>12}{:>12}{:>26.2f}  {} (longest on PE {})\n", phase.times, length(phase.total),
                        length(phase.longest), imbalance_of(phase.by_pe), name, phase.longest_pe);
  return text;
}

std::string text_of_marks(const trace_folder& trace) {
  std::map<std::string, mark_profile> marks;
  for (const trace_row& row : trace.rows)
    for (const trace_event& one : row.events) {
      if (one.what != event::mark) continue;
      const auto value = std::bit_cast<double>(one.number);
      mark_profile& mark = marks[row.name_of_program(one.handler)];
      ++mark.times;
      mark.sum += value;
      mark.least = std::min(mark.least, value);
      mark.largest = std::max(mark.largest, value);
    }
  if (marks.empty()) return {};
  std::string text = fmt::format("marks:  {:>8}{:>14}{:>14}{:>14}  name\n", "times", "least", "mean", "largest");
  for (const auto& [name, mark] : marks)
    text += fmt::format("        {:>8}{:>14.6g}{:>14.6g}{:>14.6g}  {}\n", mark.times, mark.least,
                        mark.sum / static_cast<double>(mark.times), mark.largest, name);
  return text;
}

std::string text_of_balancing(const trace_folder& trace) {
  const std::vector<balancing_step> steps = balancing_steps_of(trace);
  if (steps.empty()) return {};
  const auto line_of = [](const char* what, const std::map<int, std::int64_t>& loads) {
    std::int64_t largest = 0;
    for (const auto& [pe, load] : loads) largest = std::max(largest, load);
    return fmt::format("{:>10} largest {:>10}, {:.2f} of the mean", what, length(largest), imbalance_of(loads));
  };
  std::string text = "balancing steps: load of the PEs\n";
  for (const balancing_step& step : steps)
    text += fmt::format("{:>6} at {:>10}: {};{}\n", step.number, length(step.ns), line_of("before", step.before),
                        line_of("expected", step.after));
  return text;
}

}  // namespace tri::tools
