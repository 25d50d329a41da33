// Aligns the clocks of a trace's hosts. The offset of two clocks is half the difference of the shortest message times
// there and back, as in NTP; clocks without messages between them are reached through others, the most certain pair
// first.
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include "trace/trace_folder.hpp"

namespace tri::tools {
namespace {

struct way {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();  // arrival by its clock less departure by the other
  std::uint64_t messages = 0;
};

// Clocks count from the start of their machine.
constexpr std::int64_t farthest_ns = std::int64_t{20} * 365 * 86'400 * 1'000'000'000;

}  // namespace

void bring_clocks_together(trace_folder& trace) {
  std::vector<std::string> names;
  std::vector<int> host_of_clock;
  std::vector<std::size_t> clock_of_row;
  for (const trace_row& row : trace.rows) {
    const auto known = std::find(names.begin(), names.end(), row.clock);
    clock_of_row.push_back(static_cast<std::size_t>(known - names.begin()));
    if (known != names.end()) continue;
    names.push_back(row.clock);
    host_of_clock.push_back(row.host);
  }
  if (names.size() < 2) return;

  std::map<std::pair<std::uint32_t, std::uint64_t>, std::pair<std::size_t, std::int64_t>> departures;
  for (std::size_t i = 0; i < trace.rows.size(); ++i)
    for (const trace_event& one : trace.rows[i].events)
      if (one.what == trace::event::left) departures[{one.peer, one.number}] = {clock_of_row[i], one.ns};
  std::map<std::pair<std::size_t, std::size_t>, way> ways;
  for (std::size_t i = 0; i < trace.rows.size(); ++i)
    for (const trace_event& one : trace.rows[i].events) {
      if (one.what != trace::event::arrived) continue;
      const auto from = departures.find({one.peer, one.number});
      if (from == departures.end() || from->second.first == clock_of_row[i]) continue;
      way& taken = ways[{from->second.first, clock_of_row[i]}];
      taken.least = std::min(taken.least, one.ns - from->second.second);
      ++taken.messages;
    }

  // From the first clock along pairs with messages both ways, the most certain pair first.
  std::vector<clock_correction> found(names.size());
  std::vector<bool> known(names.size(), false);
  known[0] = true;
  for (;;) {
    std::size_t best = 0;
    clock_correction next;
    for (const auto& [ends, there] : ways) {
      const auto& [from, to] = ends;
      const auto back = ways.find({to, from});
      if (!known[from] || known[to] || back == ways.end()) continue;
      const std::int64_t apart = (there.least - back->second.least) / 2;
      const std::int64_t uncertain = std::max<std::int64_t>((there.least + back->second.least) / 2, 0);
      if (best != 0 && found[from].uncertain_ns + uncertain >= next.uncertain_ns) continue;
      if (std::abs(found[from].ns + apart) > farthest_ns || found[from].uncertain_ns + uncertain > farthest_ns) {
        throw std::runtime_error(
            "the clocks of '" + names[from] + "' and '" + names[to] +
            "' are more than twenty years apart by the messages between them: these traces are not of one job");
      }
      best = to;
      next.ns = found[from].ns + apart;
      next.uncertain_ns = found[from].uncertain_ns + uncertain;
      next.messages = there.messages + back->second.messages;
    }
    if (best == 0) break;
    found[best] = next;
    known[best] = true;
  }
  for (std::size_t i = 1; i < names.size(); ++i) {
    found[i].clock = names[i];
    found[i].host = host_of_clock[i];
    trace.clocks.push_back(found[i]);
  }
  for (std::size_t i = 0; i < trace.rows.size(); ++i)
    for (trace_event& one : trace.rows[i].events) one.ns -= found[clock_of_row[i]].ns;
}

}  // namespace tri::tools
