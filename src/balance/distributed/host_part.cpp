#include "balance/distributed/host_part.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "balance/strategies/fill.hpp"

namespace tri::balancing {

std::vector<host_part::contents> host_part::contents_of(const snapshot& of) {
  const placement placed(of);
  std::map<std::int32_t, contents> hosts;
  std::vector<std::int32_t> place_of_pe(of.pes.size());
  for (std::size_t pe = 0; pe < of.pes.size(); ++pe) {
    contents& host = hosts[of.pes[pe].host];
    place_of_pe[pe] = static_cast<std::int32_t>(host.pes.size());
    host.pes.push_back(static_cast<std::int32_t>(pe));
    host.speeds.push_back(of.pes[pe].speed);
    double fixed = placed.bins().load_of(static_cast<std::int32_t>(pe));
    for (const std::uint32_t object : placed.bins().objects_in(static_cast<std::int32_t>(pe)))
      fixed -= placed.bins().work_of(object);
    host.fixed.push_back(fixed);
  }
  for (std::uint32_t object = 0; object < of.objects.size(); ++object) {
    if (!of.objects[object].is_migratable) continue;
    const auto pe = static_cast<std::size_t>(of.objects[object].pe);
    contents& host = hosts[of.pes[pe].host];
    host.objects.push_back(object);
    host.works.push_back(placed.works()[object]);
    host.present.push_back(place_of_pe[pe]);
  }
  std::vector<contents> list;
  for (auto& [number, host] : hosts) {
    host.host = static_cast<std::int32_t>(list.size());
    list.push_back(std::move(host));
  }
  return list;
}

std::vector<host_part> host_part::of_hosts(const snapshot& of) {
  std::vector<host_part> parts;
  for (contents& host : contents_of(of)) parts.push_back(host_part(std::make_shared<const contents>(std::move(host))));
  return parts;
}

host_part host_part::of_host(const snapshot& of, std::int32_t host, std::int32_t first_pe) {
  contents one = std::move(contents_of(of).front());
  one.host = host;
  for (std::int32_t& pe : one.pes) pe += first_pe;
  return host_part(std::make_shared<const contents>(std::move(one)));
}

host_part::host_part(std::shared_ptr<const contents> of)
    : of_(std::move(of)), bins_(of_->speeds, of_->fixed, of_->works) {
  for (std::uint32_t i = 0; i < of_->objects.size(); ++i) bins_.put(i, of_->present[i]);
}

std::uint32_t host_part::index_of(std::uint32_t object) const {
  return static_cast<std::uint32_t>(std::lower_bound(of_->objects.begin(), of_->objects.end(), object) -
                                    of_->objects.begin());
}

double host_part::work() const {
  double sum = 0.0;
  for (std::int32_t pe = 0; pe < bins_.size(); ++pe) sum += bins_.load_of(pe);
  return sum;
}

double host_part::speed() const { return std::accumulate(of_->speeds.begin(), of_->speeds.end(), 0.0); }

void host_part::refine(double tolerance) {
  std::vector<std::int32_t> all(of_->pes.size());
  std::iota(all.begin(), all.end(), 0);
  balancing::refine(bins_, all, tolerance);
}

std::vector<offered_object> host_part::surplus(double limit, double level) const {
  std::vector<offered_object> list;
  for (std::int32_t pe = 0; pe < bins_.size(); ++pe) {
    if (bins_.time_of(pe) <= limit) continue;
    std::vector<std::uint32_t> objects(bins_.objects_in(pe).begin(), bins_.objects_in(pe).end());
    std::sort(objects.begin(), objects.end(), [&](std::uint32_t a, std::uint32_t b) {
      return bins_.work_of(a) != bins_.work_of(b) ? bins_.work_of(a) > bins_.work_of(b) : a < b;
    });
    double gone = 0.0;
    const auto offer = [&](std::uint32_t object) {
      list.push_back({of_->objects[object], of_->host, bins_.work_of(object), bins_.time_with(pe, -gone)});
      gone += bins_.work_of(object);
    };
    std::optional<std::uint32_t> smallest_kept;
    for (const std::uint32_t object : objects) {
      const double too_much = bins_.load_of(pe) - gone - level * bins_.speed_of(pe);
      if (bins_.work_of(object) <= too_much)
        offer(object);
      else if (bins_.work_of(object) > 0.0)
        smallest_kept = object;
    }
    // All that is left is more than what is too much; the smallest may still do better elsewhere.
    if (bins_.time_with(pe, -gone) > limit && smallest_kept) offer(*smallest_kept);
  }
  return list;
}

void host_part::give(std::uint32_t object, std::int32_t pe) {
  bins_.put(index_of(object), load_bins::no_bin);
  given_.push_back({object, of_->host, pe});
}

std::optional<std::int32_t> host_part::admit(double work, double latest) {
  std::int32_t best = 0;
  for (std::int32_t pe = 1; pe < bins_.size(); ++pe)
    if (bins_.time_with(pe, work) < bins_.time_with(best, work)) best = pe;
  if (bins_.time_with(best, work) > latest) return std::nullopt;
  bins_.add_fixed(best, work);
  return of_->pes[static_cast<std::size_t>(best)];
}

std::vector<host_part::room> host_part::rooms(double level) const {
  std::vector<room> list;
  for (std::int32_t pe = 0; pe < bins_.size(); ++pe)
    if (bins_.time_of(pe) < level)
      list.push_back({of_->pes[static_cast<std::size_t>(pe)], bins_.load_of(pe), bins_.speed_of(pe)});
  return list;
}

double host_part::free_work(double level) const {
  double sum = 0.0;
  for (const room& each : rooms(level)) sum += level * each.speed - each.load;
  return sum;
}

std::vector<accepted_object> host_part::placed() const {
  std::vector<accepted_object> list = given_;
  for (std::int32_t pe = 0; pe < bins_.size(); ++pe)
    for (const std::uint32_t object : bins_.objects_in(pe))
      list.push_back({of_->objects[object], of_->host, of_->pes[static_cast<std::size_t>(pe)]});
  std::sort(list.begin(), list.end(),
            [](const accepted_object& a, const accepted_object& b) { return a.object < b.object; });
  return list;
}

}  // namespace tri::balancing
