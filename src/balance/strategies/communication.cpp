// Refinement by communication (Mei 2012, Algorithm 1, repaired): the object with the most expensive messages looks for
// a partner on the host that it talks to most; both change places where fewer messages then cross between hosts. The
// printed algorithm sorts partners by their messages with the object, of which there are none; here all objects of that
// host are partners, by how many messages the exchange saves. A PE with room may also take the object alone.
#include <algorithm>
#include <map>
#include <vector>

#include "balance/object_heap.hpp"
#include "balance/strategies/strategies.hpp"
#include "balance/traffic_graph.hpp"

namespace tri::balancing {
namespace {

class communication_refinement {
 public:
  communication_refinement(placement& placed, const strategy_options& options)
      : placed_(placed),
        bins_(placed.bins()),
        graph_(placed.of()),
        options_(options),
        heap_(placed.of().objects.size()) {
    const snapshot& of = placed.of();
    for (std::int32_t pe = 0; pe < bins_.size(); ++pe) {
      pes_of_host_[host_of_pe(pe)].push_back(pe);
      lowest_ = pe == 0 ? bins_.time_of(pe) : std::min(lowest_, bins_.time_of(pe));
    }
    highest_ = bins_.longest_time();
    for (std::uint32_t object = 0; object < of.objects.size(); ++object)
      if (of.objects[object].is_migratable) heap_.set(object, cost_of(object));
  }

  void run() {
    const double all = static_cast<double>(std::max<std::size_t>(heap_.size(), 1));
    for (std::size_t turn = 0; !heap_.empty(); ++turn) {
      const std::uint32_t object = heap_.pop();
      if (options_.progress && turn % 1024 == 0) options_.progress(1.0 - static_cast<double>(heap_.size()) / all);
      improve(object);
    }
  }

 private:
  struct exchange {
    double saved;               // messages that no longer cross between hosts
    std::int32_t pe;            // where the object goes
    std::int64_t partner = -1;  // what comes back; -1: nothing
  };

  std::int32_t host_of_pe(std::int32_t pe) const { return placed_.of().pes[static_cast<std::size_t>(pe)].host; }
  std::int32_t host_of(std::uint32_t object) const { return host_of_pe(placed_.pe_of(object)); }
  double messages_with(std::uint32_t object, std::int32_t host) const {
    double sum = 0.0;
    for (const traffic_graph::partner& each : graph_.partners_of(object))
      if (host_of(each.object) == host) sum += each.weight;
    return sum;
  }
  double cost_of(std::uint32_t object) const {
    double cost = 0.0;
    const std::int32_t host = host_of(object);
    for (const traffic_graph::partner& each : graph_.partners_of(object))
      cost += each.weight * (host_of(each.object) == host ? 1.0 : options_.alpha);
    return cost;
  }
  bool is_in_range(std::int32_t pe, double change) const {
    const double time = bins_.time_with(pe, change);
    return time <= highest_ && (change >= 0.0 || time >= lowest_);
  }

  // The other host where the object's messages would cost least.
  std::int32_t best_host(std::uint32_t object, std::int32_t own) const {
    std::map<std::int32_t, double> messages;
    for (const traffic_graph::partner& each : graph_.partners_of(object)) messages[host_of(each.object)] += each.weight;
    std::int32_t best = -1;
    double most = 0.0;
    for (const auto& [host, sum] : messages) {
      if (host == own || sum <= most) continue;
      most = sum;
      best = host;
    }
    return best;
  }

  void improve(std::uint32_t object) {
    const std::int32_t own = host_of(object), other = best_host(object, own);
    if (other < 0) return;  // all that it talks to is here
    const double gain = messages_with(object, other) - messages_with(object, own);
    std::vector<exchange> possible;
    for (const std::int32_t pe : pes_of_host_.at(other)) {
      if (gain > 0.0) possible.push_back({gain, pe});
      for (const std::uint32_t partner : bins_.objects_in(pe)) {
        double saved = gain;
        for (const traffic_graph::partner& each : graph_.partners_of(partner)) {
          const std::int32_t host = host_of(each.object);
          if (each.object == object) saved -= each.weight;  // crosses before and after
          if (host == own) saved += each.weight;
          if (host == other) saved -= each.weight;
          if (each.object == object) saved -= each.weight;
        }
        if (saved > 0.0) possible.push_back({saved, pe, partner});
      }
    }
    std::stable_sort(possible.begin(), possible.end(),
                     [](const exchange& a, const exchange& b) { return a.saved > b.saved; });
    for (const exchange& each : possible)
      if (apply(object, each)) return;
  }

  bool apply(std::uint32_t object, const exchange& what) {
    const std::int32_t from = bins_.bin_of(object);
    const double back = what.partner < 0 ? 0.0 : bins_.work_of(static_cast<std::uint32_t>(what.partner));
    const double change = bins_.work_of(object) - back;
    if (!is_in_range(from, -change) || !is_in_range(what.pe, change)) return false;
    bins_.put(object, what.pe);
    update_partners(object);
    if (what.partner < 0) return true;
    const auto partner = static_cast<std::uint32_t>(what.partner);
    bins_.put(partner, from);
    heap_.remove(partner);
    update_partners(partner);
    return true;
  }
  void update_partners(std::uint32_t of) {
    for (const traffic_graph::partner& each : graph_.partners_of(of))
      if (heap_.contains(each.object)) heap_.set(each.object, cost_of(each.object));
  }

  placement& placed_;
  load_bins& bins_;
  traffic_graph graph_;
  const strategy_options& options_;
  object_heap heap_;
  std::map<std::int32_t, std::vector<std::int32_t>> pes_of_host_;
  double lowest_ = 0.0, highest_ = 0.0;  // the range that loads stay in
};

}  // namespace

decided_moves decide_by_communication(const snapshot& of, const strategy_options& options) {
  placement placed(of);
  communication_refinement(placed, options).run();
  return placed.moves();
}

}  // namespace tri::balancing
