#include "loops/judging.hpp"

#include <fmt/format.h>

#include <functional>

namespace tri::bench {
namespace {

// A figure can be compared when two threads did the work, and with a build that is meant to be fast.
bool counts_as_peer(const comparison_entry& entry, const std::string& main, bool others_only) {
  if (others_only && entry.name.find('/') == std::string::npos) return false;  // ours have no name of a runtime
  if (entry.name == main || entry.name == "serial" || entry.name.starts_with("steps/")) return false;
  if (entry.name.find("(debug)") != std::string::npos) return false;
  return !entry.shared || *entry.shared > 0.9;
}

}  // namespace

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "; ") + line;
  return text;
}

measurement measurement_of(const comparison_result& result, const std::string& main, double scale,
                           const std::string& unit, const std::vector<std::string>& notes, bool others_only) {
  const comparison_entry& own = result.entry(main);
  measurement made;
  const std::vector<std::size_t> rounds = result.rounds_of({&own});
  for (const std::size_t round : rounds) {
    made.samples.operation_ns.push_back(own.rounds[round].loop_ns * scale);
    made.samples.handoff_ns.push_back(result.handoff_ns()[round]);
  }
  made.samples.disturbed = own.rounds.size() - rounds.size();
  std::vector<std::string> alone;
  const comparison_entry* best = nullptr;
  for (const comparison_entry& entry : result.entries()) {
    if (entry.name != main) made.peers[entry.name] = nanoseconds_in_unit(result.median_ns(entry) * scale, unit);
    if (entry.shared && *entry.shared <= 0.9)
      alone.push_back(fmt::format("{} ({:.0f} %)", entry.name, 100 * *entry.shared));
    if (counts_as_peer(entry, main, others_only) &&
        (best == nullptr || result.median_ns(entry) < result.median_ns(*best)))
      best = &entry;
  }
  if (best != nullptr) made.best_peer = comparison{best->name, result.pairs(own, *best, std::divides<>())};
  made.note = joined(notes);
  if (!alone.empty()) {
    std::string names;
    for (const std::string& each : alone) names += (names.empty() ? "" : ", ") + each;
    made.note += (made.note.empty() ? "" : "; ") + ("shared only sometimes, so no peers: " + names);
  }
  return made;
}

void judge_by(measurement& made, const comparison_result& result, const std::string& main, const std::string& reference,
              double factor, const std::string& name) {
  made.samples.handoff_ns.clear();
  made.reference =
      comparison{name, result.pairs(result.entry(main), result.entry(reference),
                                    [factor](double own, double other) { return own / (other * factor); })};
}

void judge_by_best_peer(measurement& made) {
  made.samples.handoff_ns.clear();
  if (!made.best_peer) return;
  made.reference = comparison{fmt::format("the best peer, {}", made.best_peer->name), made.best_peer->ratios};
  made.best_peer.reset();
}

}  // namespace tri::bench
