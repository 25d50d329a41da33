// Refinement by contention (Mei 2012, Algorithms 2 and 3, repaired): PEs that share a cache are a group; objects change
// places between the group with the most of a counter (accesses to that cache, say) and that with the least, until
// groups have their share of it. Time stays the first metric: no PE leaves the range that times had before.
//
// The printed algorithm sorts groups by time, names the heavy group in both parts of its test, and stops after one
// exchange. Here groups go by the counter, both PEs are tested, and after each exchange the next pair of groups
// follows; an object changes places once.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <stdexcept>

#include "balance/strategies/strategies.hpp"

namespace tri::balancing {
namespace {

// Pairs of objects that are tried for one pair of groups.
constexpr std::size_t most_tries = 10'000;

class contention_refinement {
 public:
  contention_refinement(placement& placed, std::size_t counter, const strategy_options& options)
      : placed_(placed), bins_(placed.bins()), counter_(counter) {
    const snapshot& of = placed.of();
    std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> numbers;
    for (std::size_t pe = 0; pe < of.pes.size(); ++pe) {
      const auto [at, is_new] = numbers.try_emplace({of.pes[pe].host, of.pes[pe].cache}, groups_.size());
      if (is_new) groups_.emplace_back();
      group_of_pe_.push_back(at->second);
      const double time = bins_.time_of(static_cast<std::int32_t>(pe));
      lowest_ = pe == 0 ? time : std::min(lowest_, time);
      ++groups_[at->second].pes;
    }
    highest_ = bins_.longest_time();
    for (std::uint32_t object = 0; object < of.objects.size(); ++object) {
      group& its = groups_[group_of_pe_[static_cast<std::size_t>(of.objects[object].pe)]];
      its.sum += value_of(object);
      if (of.objects[object].is_migratable) its.objects.push_back(object);
      total_ += value_of(object);
    }
    for (group& each : groups_) {
      each.share = total_ * static_cast<double>(each.pes) / static_cast<double>(of.pes.size());
      each.tolerance = options.counter_tolerance * each.share;
      std::sort(each.objects.begin(), each.objects.end(), [&](std::uint32_t a, std::uint32_t b) {
        return value_of(a) != value_of(b) ? value_of(a) < value_of(b) : a < b;
      });
    }
  }

  void run() {
    // Pairs of groups between which nothing helped, until one of them changes.
    std::set<std::pair<std::size_t, std::size_t>> useless;
    for (;;) {
      std::vector<std::size_t> order(groups_.size());
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::stable_sort(order.begin(), order.end(),
                       [&](std::size_t a, std::size_t b) { return groups_[a].excess() > groups_[b].excess(); });
      const auto pair = next_pair(order, useless);
      if (!pair) return;
      if (!exchange_between(groups_[pair->first], groups_[pair->second])) {
        useless.insert(*pair);
        continue;
      }
      std::erase_if(useless, [&](const auto& each) {
        return each.first == pair->first || each.second == pair->second || each.first == pair->second ||
               each.second == pair->first;
      });
    }
  }

 private:
  struct group {
    std::vector<std::uint32_t> objects;  // that did not change places, by the counter, least first
    double sum = 0.0;
    double share = 0.0;
    double tolerance = 0.0;
    std::size_t pes = 0;
    double excess() const { return sum - share; }
    bool is_on_target() const { return std::abs(excess()) <= tolerance; }
  };

  double value_of(std::uint32_t object) const { return placed_.of().counter_of(object, counter_); }

  std::optional<std::pair<std::size_t, std::size_t>> next_pair(
      const std::vector<std::size_t>& order, const std::set<std::pair<std::size_t, std::size_t>>& useless) const {
    for (const std::size_t heavy : order) {
      if (groups_[heavy].excess() <= groups_[heavy].tolerance) break;
      for (auto light = order.rbegin(); light != order.rend() && groups_[*light].excess() < 0.0; ++light)
        if (!groups_[*light].is_on_target() && !useless.contains({heavy, *light})) return std::pair(heavy, *light);
    }
    return std::nullopt;
  }

  bool is_in_range(std::int32_t pe, double change) const {
    const double time = bins_.time_with(pe, change);
    return time <= highest_ && time >= lowest_;
  }
  bool try_exchange(group& heavy, group& light, std::uint32_t h, std::uint32_t l) {
    const double change = value_of(h) - value_of(l);
    const double before = std::max(std::abs(heavy.excess()), std::abs(light.excess()));
    const double after = std::max(std::abs(heavy.excess() - change), std::abs(light.excess() + change));
    if (change <= 0.0 || after >= before) return false;
    const std::int32_t from = bins_.bin_of(h), to = bins_.bin_of(l);
    const double work = bins_.work_of(h) - bins_.work_of(l);
    if (!is_in_range(from, -work) || !is_in_range(to, work)) return false;
    bins_.put(h, to);
    bins_.put(l, from);
    heavy.sum -= change;
    light.sum += change;
    return true;
  }

  // The pair with the largest difference first, then the next lighter or the next heavier object.
  bool exchange_between(group& heavy, group& light) {
    if (heavy.objects.empty() || light.objects.empty()) return false;
    struct candidate {
      double difference;
      std::size_t h, l;  // positions from the heavy and from the light end
      bool operator<(const candidate& other) const {
        return difference != other.difference ? difference < other.difference
                                              : std::pair(h, l) > std::pair(other.h, other.l);
      }
    };
    const auto heavy_at = [&](std::size_t h) { return heavy.objects[heavy.objects.size() - 1 - h]; };
    std::priority_queue<candidate> queue;
    std::set<std::pair<std::size_t, std::size_t>> seen;
    const auto add = [&](std::size_t h, std::size_t l) {
      if (h < heavy.objects.size() && l < light.objects.size() && seen.emplace(h, l).second)
        queue.push({value_of(heavy_at(h)) - value_of(light.objects[l]), h, l});
    };
    add(0, 0);
    for (std::size_t tries = 0; !queue.empty() && tries < most_tries; ++tries) {
      const candidate best = queue.top();
      queue.pop();
      if (try_exchange(heavy, light, heavy_at(best.h), light.objects[best.l])) {
        heavy.objects.erase(heavy.objects.end() - 1 - static_cast<std::ptrdiff_t>(best.h));
        light.objects.erase(light.objects.begin() + static_cast<std::ptrdiff_t>(best.l));
        return true;
      }
      add(best.h, best.l + 1);
      add(best.h + 1, best.l);
    }
    return false;
  }

  placement& placed_;
  load_bins& bins_;
  std::size_t counter_;
  std::vector<group> groups_;
  std::vector<std::size_t> group_of_pe_;
  double total_ = 0.0;
  double lowest_ = 0.0, highest_ = 0.0;
};

std::size_t counter_for(const snapshot& of, const std::string& name) {
  if (of.counters.empty())
    throw std::invalid_argument("strategy 'contention' needs a counter, and the snapshot has none");
  if (name.empty()) return 0;
  const auto found = std::find(of.counters.begin(), of.counters.end(), name);
  if (found == of.counters.end())
    throw std::invalid_argument(fmt::format("strategy 'contention': there is no counter '{}'; the snapshot has {}",
                                            name, fmt::join(of.counters, ", ")));
  return static_cast<std::size_t>(found - of.counters.begin());
}

}  // namespace

decided_moves decide_by_contention(const snapshot& of, const strategy_options& options) {
  const std::size_t counter = counter_for(of, options.counter);
  placement placed(of);
  contention_refinement(placed, counter, options).run();
  return placed.moves();
}

}  // namespace tri::balancing
