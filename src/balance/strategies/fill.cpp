#include "balance/strategies/fill.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "balance/object_heap.hpp"

namespace tri::balancing {
namespace {

// Of a refinement: steps that gain less than this part of the time are left out, so that it ends.
constexpr double least_gain = 1e-6;

class refinement {
 public:
  refinement(load_bins& bins, std::span<const std::int32_t> among, double tolerance)
      : bins_(bins),
        longest_(static_cast<std::size_t>(bins.size())),
        shortest_(static_cast<std::size_t>(bins.size())),
        sorted_(static_cast<std::size_t>(bins.size())) {
    double work = 0.0, speed = 0.0;
    for (const std::int32_t bin : among) {
      work += bins.load_of(bin);
      speed += bins.speed_of(bin);
      note_time(bin, true);
    }
    limit_ = work / speed * (1.0 + tolerance);
  }

  void run() {
    while (longest_.size() > 1) {
      const auto from = static_cast<std::int32_t>(longest_.top());
      const auto to = static_cast<std::int32_t>(shortest_.top());
      if (bins_.time_of(from) <= limit_) return;
      if (from == to || !improve(from, to)) longest_.remove(longest_.top());  // as good as it gets
    }
  }

 private:
  using by_work = std::set<std::pair<double, std::uint32_t>>;

  void note_time(std::int32_t bin, bool may_be_new = false) {
    const auto item = static_cast<std::uint32_t>(bin);
    if (may_be_new || longest_.contains(item)) longest_.set(item, bins_.time_of(bin));
    shortest_.set(item, -bins_.time_of(bin));
  }
  by_work& sorted(std::int32_t bin) {
    std::optional<by_work>& list = sorted_[static_cast<std::size_t>(bin)];
    if (!list) {
      list.emplace();
      for (const std::uint32_t object : bins_.objects_in(bin)) list->emplace(bins_.work_of(object), object);
    }
    return *list;
  }
  void put(std::uint32_t object, std::int32_t from, std::int32_t to) {
    sorted(from).erase({bins_.work_of(object), object});
    sorted(to).emplace(bins_.work_of(object), object);
    bins_.put(object, to);
  }
  // The longer of both times when so much work goes over.
  double longer_with(std::int32_t from, std::int32_t to, double work) const {
    return std::max(bins_.time_with(from, -work), bins_.time_with(to, work));
  }
  // That is a convex function of the work; here is its minimum.
  double best_work(std::int32_t from, std::int32_t to) const {
    return (bins_.time_of(from) - bins_.time_of(to)) / (1.0 / bins_.speed_of(from) + 1.0 / bins_.speed_of(to));
  }
  // Calls `see` with the objects of `list` next to this work on both sides.
  template <class See>
  static void around(const by_work& list, double work, const See& see) {
    const auto above = list.lower_bound({work, 0});
    if (above != list.end()) see(above->second);
    if (above != list.begin()) see(std::prev(above)->second);
  }

  bool improve(std::int32_t from, std::int32_t to) {
    const double wanted = best_work(from, to);
    const double before = bins_.time_of(from);
    double least = before * (1.0 - least_gain);
    std::optional<std::uint32_t> given, taken;
    around(sorted(from), wanted, [&](std::uint32_t object) {
      const double longer = longer_with(from, to, bins_.work_of(object));
      if (longer >= least) return;
      least = longer;
      given = object;
    });
    if (!given) {
      for (const auto& [work, object] : sorted(from)) {
        around(sorted(to), work - wanted, [&](std::uint32_t other) {
          const double longer = longer_with(from, to, work - bins_.work_of(other));
          if (longer >= least) return;
          least = longer;
          given = object;
          taken = other;
        });
      }
    }
    if (!given) return false;
    put(*given, from, to);
    if (taken) put(*taken, to, from);
    note_time(from);
    note_time(to);
    return true;
  }

  load_bins& bins_;
  object_heap longest_;                         // bins that may still get shorter
  object_heap shortest_;                        // all bins
  std::vector<std::optional<by_work>> sorted_;  // of bins that had part in a step
  double limit_ = 0.0;
};

}  // namespace

void fill_greedily(load_bins& bins, std::vector<std::uint32_t> objects, std::span<const std::int32_t> into,
                   std::span<const std::int32_t> preferred, const std::function<void(double)>& progress) {
  std::sort(objects.begin(), objects.end(), [&](std::uint32_t a, std::uint32_t b) {
    return bins.work_of(a) != bins.work_of(b) ? bins.work_of(a) > bins.work_of(b) : a < b;
  });
  // Of bins with one speed, that with the least time is the best for every object: a queue for each speed.
  using by_time = std::set<std::pair<double, std::int32_t>>;
  std::map<double, by_time, std::greater<>> queues;
  for (const std::int32_t bin : into) queues[bins.speed_of(bin)].emplace(bins.time_of(bin), bin);
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const double work = bins.work_of(objects[i]);
    std::int32_t best = load_bins::no_bin;
    for (const auto& [speed, queue] : queues) {
      const std::int32_t bin = queue.begin()->second;
      if (best == load_bins::no_bin || bins.time_with(bin, work) < bins.time_with(best, work)) best = bin;
    }
    const std::int32_t liked = preferred.empty() ? best : preferred[objects[i]];
    if (liked != best && bins.time_with(liked, work) <= bins.time_with(best, work)) {
      const auto queue = queues.find(bins.speed_of(liked));
      if (queue != queues.end() && queue->second.contains({bins.time_of(liked), liked})) best = liked;
    }
    by_time& queue = queues.at(bins.speed_of(best));
    queue.erase({bins.time_of(best), best});
    bins.put(objects[i], best);
    queue.emplace(bins.time_of(best), best);
    if (progress && i % 4096 == 0) progress(static_cast<double>(i) / static_cast<double>(objects.size()));
  }
}

void refine(load_bins& bins, std::span<const std::int32_t> among, double tolerance) {
  if (among.size() > 1) refinement(bins, among, tolerance).run();
}

}  // namespace tri::balancing
