// How seeds come to a host whose PEs have run out of them: a lifeline graph, after V. Saraswat, P. Kambadur, S. Kodali,
// D. Grove and S. Krishnamoorthy, "Lifeline-based global load balancing" (PPoPP 2011). A state machine without I/O, one
// for each PE, used by its thread.
//
// A PE that starves asks its lifelines, a few PEs of other hosts, once each, and then waits: there is no refusal, and
// nothing to ask again. Whoever was asked keeps the request until it has seeds to spare. So the messages end when the
// seeds do: each request is answered by a seed at most once, and is not repeated before. That is what lets quiescence
// be detected while everybody starves.
//
// A PE that gives has work itself, so its own request to the receiver is void, on both sides: where a request crosses
// the gift, the channel's order decides alike (request first: the gift erases it; gift first: it stands).
// Invariant: where `asked` is set for a lifeline, our request or its gift is in flight, or it keeps the request.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tri::sched {

class seed_requests {
 public:
  explicit seed_requests(const std::vector<int>& lifelines) {
    for (const int pe : lifelines) lifelines_.push_back({pe, false});
    unasked_ = lifelines_.size();
  }

  /// Whether starving() would ask.
  bool may_ask() const { return unasked_ != 0; }
  /// This PE has nothing to do, and no PE of its host has seeds. Calls ask(pe) for each lifeline that is to be asked.
  template <class Ask>
  void starving(Ask&& ask) {
    for (lifeline& each : lifelines_) {
      if (std::exchange(each.asked, true)) continue;
      --unasked_;
      ask(each.pe);
    }
  }
  /// A request of another PE has arrived.
  void asked_by(int pe) {
    if (std::find(askers_.begin(), askers_.end(), pe) == askers_.end()) askers_.push_back(pe);
  }
  bool is_asked() const { return !askers_.empty(); }
  /// Calls give(pe) for each PE that has asked, the one that has waited longest first, as long as it returns that it
  /// has sent seeds there.
  template <class Give>
  void serve(Give&& give) {
    while (!askers_.empty() && give(askers_.front())) {
      forget_request_to(askers_.front());
      askers_.erase(askers_.begin());
    }
  }
  /// How many of so many spare seeds one asker gets: half, as the oldest of a tree stand for more than the others, and
  /// not so many that they are in flight for long.
  static std::int64_t share_of(std::int64_t spare) { return std::min((spare + 1) / 2, most_given); }
  /// A seed came from another PE.
  void arrived_from(int pe) {
    forget_request_to(pe);
    askers_.erase(std::remove(askers_.begin(), askers_.end(), pe), askers_.end());
  }

  /// Hands every number of the state to `put`.
  template <class Put>
  void encode(Put&& put) const {
    for (const lifeline& each : lifelines_) put(each.asked ? 1 : 0);
    put(static_cast<int>(askers_.size()));
    for (const int pe : askers_) put(pe);
  }
  bool has_asked(int pe) const {
    return std::any_of(lifelines_.begin(), lifelines_.end(), [&](const lifeline& l) { return l.pe == pe && l.asked; });
  }
  bool keeps_request_of(int pe) const { return std::find(askers_.begin(), askers_.end(), pe) != askers_.end(); }

 private:
  static constexpr std::int64_t most_given = 32;
  struct lifeline {
    int pe;
    bool asked;
  };
  void forget_request_to(int pe) {
    for (lifeline& each : lifelines_)
      if (each.pe == pe && std::exchange(each.asked, false)) ++unasked_;
  }
  std::vector<lifeline> lifelines_;
  std::vector<int> askers_;  // in order of arrival
  std::size_t unasked_ = 0;
};

/// The lifelines of host `host` of `hosts`: those 1, 2, 4, ... further on, in a circle. Everybody reaches everybody, in
/// at most as many steps as a host has lifelines.
inline std::vector<int> lifeline_hosts(int host, int hosts) {
  std::vector<int> found;
  for (int step = 1; step < hosts; step *= 2) found.push_back((host + step) % hosts);
  return found;
}

}  // namespace tri::sched
