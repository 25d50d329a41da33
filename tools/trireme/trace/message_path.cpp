#include "trace/message_path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "duration.hpp"

namespace tri::tools {
namespace {

using trace::event;

struct send {
  const trace_event* what;
  std::uint32_t source;
};

// Sender, handler, tag and, unless any PE of a process may run it, the receiver (by process: -1 - its number).
using send_key = std::tuple<std::uint32_t, std::uint32_t, std::uint8_t, std::int64_t>;
using name = std::pair<std::uint32_t, std::uint64_t>;  // a sender, and the number of the send

std::map<name, std::int64_t> times_on_wires(const trace_folder& trace, event what) {
  std::map<name, std::int64_t> times;
  for (const trace_row& row : trace.rows)
    for (const trace_event& one : row.events)
      if (one.what == what) times[{one.peer, one.number}] = one.ns;
  return times;
}

std::string length(std::int64_t ns) { return format_duration(static_cast<double>(ns)); }

}  // namespace

std::vector<message_path> paths_of(const trace_folder& trace) {
  std::map<send_key, std::deque<send>> sends;
  struct begin {
    const trace_event* what;
    const trace_row* row;
    std::int64_t on_since;
  };
  std::vector<begin> begins;
  for (const trace_row& row : trace.rows) {
    if (row.pe < 0) continue;
    const auto source = static_cast<std::uint32_t>(row.pe);
    std::int64_t on_since = 0;
    for (const trace_event& one : row.events) {
      if (one.what == event::on) on_since = one.ns;
      if (one.what == event::begin && one.tag != 0) begins.push_back({&one, &row, on_since});
      if (one.what != event::send || one.to == trace::target::other_hosts) continue;
      const std::int64_t to = one.to == trace::target::pe ? std::int64_t{one.peer} : -1 - std::int64_t{one.peer};
      sends[{source, one.handler, trace::tag_of(one.number), to}].push_back({&one, source});
    }
  }
  std::stable_sort(begins.begin(), begins.end(),
                   [](const begin& a, const begin& b) { return a.what->ns < b.what->ns; });

  const auto left = times_on_wires(trace, event::left);
  const auto arrived = times_on_wires(trace, event::arrived);
  std::vector<message_path> paths;
  for (const begin& one : begins) {
    // Messages of one sender to one receiver run in the order of their sends, unless they have priorities; the tag
    // distinguishes those. A message that ran while the receiver's trace was off leaves its send behind: it is older
    // than the trace.
    std::deque<send>* from = nullptr;
    for (const std::int64_t to : {std::int64_t{one.row->pe}, std::int64_t{-1} - one.row->process}) {
      const auto found = sends.find({one.what->peer, one.what->handler, one.what->tag, to});
      if (found == sends.end()) continue;
      std::deque<send>& waiting = found->second;
      while (waiting.size() > 1 && waiting[0].what->ns < one.on_since && waiting[1].what->ns <= one.what->ns)
        waiting.pop_front();
      if (!waiting.empty()) {
        from = &waiting;
        break;
      }
    }
    if (from == nullptr) continue;
    const send its = from->front();
    const auto departure = left.find({its.source, its.what->number & 0xffff'ffff});
    const auto arrival = arrived.find({its.source, its.what->number & 0xffff'ffff});
    const bool crossed = departure != left.end() && arrival != arrived.end();
    // By one clock nothing runs before it was sent: then this begin is of a send that was not traced.
    if (!crossed && its.what->ns > one.what->ns) continue;
    from->pop_front();
    paths.push_back({.source = static_cast<int>(its.source),
                     .destination = one.row->pe,
                     .number = its.what->number,
                     .handler = its.what->handler,
                     .bytes = its.what->bytes,
                     .sent = its.what->ns,
                     .begun = one.what->ns,
                     .between_hosts = crossed,
                     .left = crossed ? departure->second : 0,
                     .arrived = crossed ? arrival->second : 0});
  }
  std::stable_sort(paths.begin(), paths.end(),
                   [](const message_path& a, const message_path& b) { return a.sent < b.sent; });
  return paths;
}

std::string text_of_segments(const trace_folder& trace, const std::vector<message_path>& paths, std::size_t most) {
  std::vector<const message_path*> crossed;
  for (const message_path& path : paths)
    if (path.between_hosts) crossed.push_back(&path);
  std::string text = fmt::format("messages between hosts that were followed: {}\n", crossed.size());
  for (const clock_correction& clock : trace.clocks) {
    if (clock.messages == 0)
      text += fmt::format("  clock of host {}: no messages both ways, so its times do not compare with others\n",
                          clock.host);
    else
      text += fmt::format("  clock of host {}: {} ahead, give or take {}, from {} messages\n", clock.host,
                          length(clock.ns), length(clock.uncertain_ns), clock.messages);
  }
  if (crossed.empty()) return text;

  using part = std::int64_t (message_path::*)() const;
  constexpr std::array<std::pair<const char*, part>, 4> parts{{{"worker to wire", &message_path::to_wire},
                                                               {"wire to wire", &message_path::on_wire},
                                                               {"wire to worker", &message_path::to_method},
                                                               {"all", &message_path::total}}};
  text += fmt::format("  {:<16} {:>10} {:>10} {:>10}\n", "segment", "median", "mean", "longest");
  for (const auto& [label, value] : parts) {
    std::vector<std::int64_t> values;
    double sum = 0;
    for (const message_path* const path : crossed) {
      values.push_back((path->*value)());
      sum += static_cast<double>(values.back());
    }
    std::sort(values.begin(), values.end());
    text += fmt::format("  {:<16} {:>10} {:>10} {:>10}\n", label, length(values[values.size() / 2]),
                        format_duration(sum / static_cast<double>(values.size())), length(values.back()));
  }
  std::stable_sort(crossed.begin(), crossed.end(),
                   [](const message_path* a, const message_path* b) { return a->total() > b->total(); });
  for (std::size_t i = 0; i < std::min(most, crossed.size()); ++i) {
    const message_path& path = *crossed[i];
    text += fmt::format("  {} -> {}, {} bytes at {}: {} + {} + {} = {} ns  {}\n", trace.row_of_pe(path.source)->label(),
                        trace.row_of_pe(path.destination)->label(), path.bytes, length(path.sent), path.to_wire(),
                        path.on_wire(), path.to_method(), path.total(), trace.name_of(path.handler));
  }
  return text;
}

}  // namespace tri::tools
