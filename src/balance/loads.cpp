#include "trireme/detail/balance/loads.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace tri::balancing {
namespace {

std::vector<double> speeds_of(const snapshot& of) {
  std::vector<double> speeds;
  speeds.reserve(of.pes.size());
  for (const pe_load& each : of.pes) speeds.push_back(each.speed);
  return speeds;
}

// Background load and what cannot migrate.
std::vector<double> fixed_works_of(const snapshot& of, std::span<const double> works) {
  std::vector<double> fixed;
  fixed.reserve(of.pes.size());
  for (const pe_load& each : of.pes) fixed.push_back(std::round(static_cast<double>(each.background_ns) * each.speed));
  for (std::size_t object = 0; object < of.objects.size(); ++object)
    if (!of.objects[object].is_migratable) fixed[static_cast<std::size_t>(of.objects[object].pe)] += works[object];
  return fixed;
}

// No assignment has a shorter makespan: some PE has each object, at best a fastest one.
double shortest_possible(const placement& placed) {
  const load_bins& bins = placed.bins();
  double fastest = 0.0, largest = 0.0;
  for (std::int32_t pe = 0; pe < bins.size(); ++pe) fastest = std::max(fastest, bins.speed_of(pe));
  for (std::size_t object = 0; object < placed.works().size(); ++object)
    if (placed.of().objects[object].is_migratable) largest = std::max(largest, placed.works()[object]);
  return std::max(bins.level(), largest / fastest);
}

}  // namespace

std::vector<double> works_of(const snapshot& of) {
  std::vector<double> works;
  works.reserve(of.objects.size());
  for (const object_load& each : of.objects)
    works.push_back(std::round(static_cast<double>(each.load_ns) * of.pes[static_cast<std::size_t>(each.pe)].speed));
  return works;
}

load_bins::load_bins(std::vector<double> speeds, std::vector<double> fixed_work, std::span<const double> works)
    : speeds_(std::move(speeds)),
      loads_(fixed_work),
      fixed_(std::move(fixed_work)),
      works_(works),
      bins_(works.size(), no_bin),
      slots_(works.size()),
      objects_(speeds_.size()) {}

void load_bins::put(std::uint32_t object, std::int32_t bin) {
  const std::int32_t from = bins_[object];
  if (from == bin) return;
  if (from != no_bin) {
    std::vector<std::uint32_t>& list = objects_[index(from)];
    list[slots_[object]] = list.back();
    slots_[list.back()] = slots_[object];
    list.pop_back();
    loads_[index(from)] -= works_[object];
  }
  bins_[object] = bin;
  if (bin == no_bin) return;
  slots_[object] = static_cast<std::uint32_t>(objects_[index(bin)].size());
  objects_[index(bin)].push_back(object);
  loads_[index(bin)] += works_[object];
}

void load_bins::add_fixed(std::int32_t bin, double work) {
  loads_[index(bin)] += work;
  fixed_[index(bin)] += work;
}

double load_bins::longest_time() const {
  double longest = 0.0;
  for (std::int32_t bin = 0; bin < size(); ++bin) longest = std::max(longest, time_of(bin));
  return longest;
}

double load_bins::level() const {
  std::vector<std::size_t> order(speeds_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto fixed_time = [&](std::size_t bin) { return fixed_[bin] / speeds_[bin]; };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return fixed_time(a) < fixed_time(b); });
  // Work that can move fills the bins like water, those with the least fixed work first.
  double work = 0.0, speed = 0.0;
  for (std::size_t bin = 0; bin < loads_.size(); ++bin) work += loads_[bin] - fixed_[bin];
  for (std::size_t i = 0; i < order.size(); ++i) {
    work += fixed_[order[i]];
    speed += speeds_[order[i]];
    if (i + 1 == order.size() || work <= fixed_time(order[i + 1]) * speed)
      return std::max(work / speed, fixed_time(order.back()));
  }
  return 0.0;
}

placement::placement(const snapshot& of)
    : of_(of), works_(works_of(of)), bins_(speeds_of(of), fixed_works_of(of, works_), works_) {
  for (std::uint32_t object = 0; object < of.objects.size(); ++object)
    if (of.objects[object].is_migratable) bins_.put(object, of.objects[object].pe);
}

std::int32_t placement::pe_of(std::uint32_t object) const {
  return of_.objects[object].is_migratable ? bins_.bin_of(object) : of_.objects[object].pe;
}

std::vector<move> placement::moves() const {
  std::vector<move> all;
  for (std::uint32_t object = 0; object < of_.objects.size(); ++object)
    if (pe_of(object) != of_.objects[object].pe) all.push_back({object, of_.objects[object].pe, pe_of(object)});
  return all;
}

quality quality_of(const snapshot& of, std::span<const move> moves) {
  placement placed(of);
  quality found;
  for (const move& each : moves) {
    placed.bins().put(each.object, each.to);
    ++found.moved_objects;
    found.moved_bytes += of.objects[each.object].bytes;
  }
  found.longest_ns = placed.bins().longest_time();
  found.level_ns = shortest_possible(placed);
  const auto host_of = [&](std::uint32_t object) {
    return of.pes[static_cast<std::size_t>(placed.pe_of(object))].host;
  };
  for (const pair_traffic& each : of.traffic) {
    if (host_of(each.from) == host_of(each.to)) continue;
    found.messages_between_hosts += each.messages;
    found.bytes_between_hosts += each.bytes;
  }
  return found;
}

std::vector<double> times_of(const snapshot& of, std::span<const move> moves) {
  placement placed(of);
  for (const move& each : moves) placed.bins().put(each.object, each.to);
  std::vector<double> times;
  for (std::int32_t pe = 0; pe < placed.bins().size(); ++pe) times.push_back(placed.bins().time_of(pe));
  return times;
}

std::vector<std::int32_t> pes_by_place(const snapshot& of) {
  std::vector<std::int32_t> order(of.pes.size());
  std::iota(order.begin(), order.end(), 0);
  const auto place = [&](std::int32_t pe) {
    const pe_load& each = of.pes[static_cast<std::size_t>(pe)];
    return std::tuple(each.host, each.numa_node, each.cache, pe);
  };
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return place(a) < place(b); });
  return order;
}

}  // namespace tri::balancing
