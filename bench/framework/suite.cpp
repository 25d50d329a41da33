#include "framework/suite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <stdexcept>
#include <utility>

#include "config/suggestion.hpp"

namespace tri::bench {
namespace {

[[noreturn]] void throw_unknown(std::string_view kind, std::string_view name, const std::vector<std::string>& known) {
  throw std::invalid_argument(fmt::format("there is no {} '{}'; {}`trireme bench --list` shows all", kind, name,
                                          config::did_you_mean(name, known, "did you mean '", "'? ")));
}

}  // namespace

void registry::add(suite added) {
  std::vector<std::string> taken;
  for (const suite& present : suites_) {
    if (present.name == added.name) throw std::logic_error(fmt::format("suite '{}' is registered twice", added.name));
    for (const row_definition& row : present.rows) taken.push_back(row.name);
  }
  for (const row_definition& row : added.rows) {
    if (row.name.empty() || row.unit.empty() || !row.measure) {
      throw std::logic_error(fmt::format("row '{}' of suite '{}' lacks name, unit or function", row.name, added.name));
    }
    for (const std::string& other : taken) {
      if (other == row.name) throw std::logic_error(fmt::format("row '{}' is registered twice", row.name));
    }
    taken.push_back(row.name);
  }
  suites_.push_back(std::move(added));
}

const suite& registry::find_suite(std::string_view name) const {
  std::vector<std::string> known;
  for (const suite& candidate : suites_) {
    if (candidate.name == name) return candidate;
    known.push_back(candidate.name);
  }
  throw_unknown("suite", name, known);
}

const row_definition& registry::find_row(std::string_view name) const {
  std::vector<std::string> known;
  for (const suite& candidate : suites_) {
    for (const row_definition& row : candidate.rows) {
      if (row.name == name) return row;
      known.push_back(row.name);
    }
  }
  throw_unknown("row", name, known);
}

const suite& registry::suite_of(const row_definition& row) const {
  for (const suite& candidate : suites_) {
    for (const row_definition& own : candidate.rows) {
      if (&own == &row) return candidate;
    }
  }
  throw std::logic_error(fmt::format("row '{}' is not of this registry", row.name));
}

row make_row(const row_definition& definition, const measurement& measured) {
  row made;
  made.name = definition.name;
  made.unit = definition.unit;
  made.direction = definition.direction;
  made.target = definition.target;
  made.target_ratio = definition.target_ratio;
  made.peers = measured.peers;
  made.counts = measured.counts;
  made.note = measured.note;
  made.disturbed = measured.samples.disturbed;
  made.limit = measured.limit;
  made.not_available = measured.not_available;
  if (!made.not_available.empty()) return made;
  if (measured.best_peer)
    made.best_peer = compared_row{measured.best_peer->name, summarize(measured.best_peer->ratios)};
  if (!measured.values.empty()) {
    made.figure = summarize(measured.values);
    return made;
  }
  std::vector<double> figures;
  for (double ns : measured.samples.operation_ns) figures.push_back(nanoseconds_in_unit(ns, definition.unit));
  made.figure = summarize(figures);

  if (measured.reference) {
    made.reference = measured.reference->name;
    made.ratio = summarize(measured.reference->ratios);
    // The reference's time by the ratio of the same batches: the figure then meets the target if, and only if, the
    // ratio does.
    if (made.target_ratio) made.target = made.figure.median / made.ratio->median * *made.target_ratio;
    return made;
  }
  const std::vector<double>& handoffs = measured.samples.handoff_ns;
  if (handoffs.empty()) return made;
  std::vector<double> ratios;
  for (std::size_t batch = 0; batch < handoffs.size(); ++batch) {
    ratios.push_back(measured.samples.operation_ns[batch] / handoffs[batch]);
  }
  made.handoff_ns = summarize(handoffs).median;
  if (definition.handoffs > 0 && !made.limit) {
    made.limit = nanoseconds_in_unit(*made.handoff_ns * definition.handoffs, definition.unit);
  }
  made.ratio = summarize(ratios);
  return made;
}

void add_peers(row& made, const peer_figures& found) {
  if (!found.note.empty()) made.note += (made.note.empty() ? "" : "; ") + found.note;
  made.peers.insert(found.medians.begin(), found.medians.end());
  if (found.medians.empty() || made.best_peer || !made.error.empty() || !made.not_available.empty()) return;
  const auto best = std::min_element(found.medians.begin(), found.medians.end(), [&](const auto& a, const auto& b) {
    return made.direction == better::lower ? a.second < b.second : a.second > b.second;
  });
  if (!(best->second > 0)) return;
  made.best_peer = compared_row{best->first,
                                {.median = made.figure.median / best->second,
                                 .p10 = made.figure.p10 / best->second,
                                 .p90 = made.figure.p90 / best->second,
                                 .batches = made.figure.batches}};
}

row unavailable_row(const row_definition& definition, const std::string& why) {
  measurement none;
  none.not_available = why;
  return make_row(definition, none);
}

row failed_row(const row_definition& definition, std::string error) {
  row failed;
  failed.name = definition.name;
  failed.unit = definition.unit;
  failed.error = std::move(error);
  return failed;
}

row measure_here(const row_definition& definition, context& tools) {
  try {
    return make_row(definition, definition.measure(tools));
  } catch (const std::exception& failure) {
    return failed_row(definition, failure.what());
  }
}

}  // namespace tri::bench
