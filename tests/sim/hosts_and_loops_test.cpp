// Loops inside methods are shared by the PEs of a host, objects migrate between hosts: each alone, and both together,
// in virtual time (K96). The strategies are those of the run time, the claims of chunks the board's own; objects are
// those of a droplet, whose methods are loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "balance/made_snapshot.hpp"
#include "sim/region_simulator.hpp"
#include "trireme/balance_strategy.hpp"

namespace tri::sim {
namespace {

constexpr int hosts = 4;
constexpr int pes_of_host = 4;
constexpr double iteration_ns = 500.0;
constexpr std::uint32_t chunk = 16;        // iterations of a loop that are claimed together
constexpr double claim_ns = 300.0;         // of a helper: a few cache lines between cores
constexpr std::int64_t mean_ns = 400'000;  // of a method

// Few objects, so that PEs cannot be even without sharing loops.
balancing::snapshot droplet() {
  balancing::snapshot made = balancing::make_snapshot({.what = balancing::snapshot_wish::kind::droplet,
                                                       .objects = 4 * hosts * pes_of_host,
                                                       .pes = hosts * pes_of_host,
                                                       .hosts = hosts,
                                                       .seed = 3});
  std::int64_t sum = 0;
  for (const balancing::object_load& each : made.objects) sum += each.load_ns;
  const double scale =
      static_cast<double>(mean_ns) * static_cast<double>(made.objects.size()) / static_cast<double>(sum);
  for (balancing::object_load& each : made.objects)
    each.load_ns = static_cast<std::int64_t>(static_cast<double>(each.load_ns) * scale);
  return made;
}

std::vector<double> times_of_pes(const balancing::snapshot& of) {
  std::vector<double> times(of.pes.size(), 0.0);
  for (const balancing::object_load& each : of.objects)
    times[static_cast<std::size_t>(each.pe)] += static_cast<double>(each.load_ns);
  return times;
}

// One step of a host whose PEs take part in each other's loops: every PE has the iterations of its objects, in chunks,
// and helps with those of others when it has none left.
double time_of_host_with_loops(const std::vector<double>& times, int host) {
  schedules::loop_layout layout;
  layout.chunk = chunk;
  std::uint32_t first = 0;
  for (int pe = host * pes_of_host; pe < (host + 1) * pes_of_host; ++pe) {
    const auto chunks = static_cast<std::uint32_t>(times[static_cast<std::size_t>(pe)] / (iteration_ns * chunk) + 0.5);
    layout.ranges.push_back({first, first + chunks, 0, 0});
    first += chunks;
  }
  layout.items = std::uint64_t{first} * chunk;
  return simulate({.iteration_time = iteration_ns, .claim_time = claim_ns}, layout).time;
}

/// Time of a step: all wait for the last PE.
double step(const balancing::snapshot& of, bool loops_are_shared) {
  const std::vector<double> times = times_of_pes(of);
  if (!loops_are_shared) return *std::max_element(times.begin(), times.end());
  double longest = 0;
  for (int host = 0; host < hosts; ++host) longest = std::max(longest, time_of_host_with_loops(times, host));
  return longest;
}

/// Relative to the time of PEs that are all equally long at work.
double imbalance(const balancing::snapshot& of, bool loops_are_shared) {
  double sum = 0;
  for (const double time : times_of_pes(of)) sum += time;
  return step(of, loops_are_shared) / (sum / static_cast<double>(of.pes.size()));
}

balancing::snapshot balanced(balancing::snapshot of, const char* strategy) {
  for (const balancing::move& each : balancing::balance(of, balancing::find_strategy(strategy)).moves)
    of.objects[each.object].pe = each.to;
  return of;
}

/// The same with each host as one PE that is as fast as all of its PEs: what differs inside a host is left to loops.
balancing::snapshot with_balanced_hosts(balancing::snapshot of, const char* strategy) {
  balancing::snapshot seen = of;
  seen.pes.assign(hosts, {});
  for (int host = 0; host < hosts; ++host) {
    seen.pes[static_cast<std::size_t>(host)].host = host;
    seen.pes[static_cast<std::size_t>(host)].speed = pes_of_host;
  }
  for (balancing::object_load& each : seen.objects) {
    each.pe /= pes_of_host;
    each.load_ns /= pes_of_host;  // time on its present PE, which is that much faster
  }
  int next = 0;
  for (const balancing::move& each : balancing::balance(seen, balancing::find_strategy(strategy)).moves)
    of.objects[each.object].pe = each.to * pes_of_host + next++ % pes_of_host;
  return of;
}

TEST(hosts_and_loops, both_together_are_nearer_to_the_ideal_than_each_alone) {
  const balancing::snapshot before = droplet();
  const double neither = imbalance(before, false);
  const double loops = imbalance(before, true);
  EXPECT_GT(neither, 2.0);
  EXPECT_LT(loops, 0.95 * neither);
  for (const char* strategy : {"refine", "greedy", "topology", "hierarchy"}) {
    const double migration = imbalance(balanced(before, strategy), false);
    const double both = imbalance(with_balanced_hosts(before, strategy), true);
    EXPECT_LT(migration, neither) << strategy;
    EXPECT_LT(both, 0.95 * migration) << strategy;
    EXPECT_LT(both, 0.95 * loops) << strategy;
    EXPECT_LT(both, 1.2) << strategy;
  }
}

// Loads that have changed since the objects migrated: loops make up for it inside the hosts, at once.
TEST(hosts_and_loops, loops_follow_loads_that_drift_after_a_migration) {
  balancing::snapshot after = with_balanced_hosts(droplet(), "refine");
  std::mt19937 random(11);
  for (balancing::object_load& each : after.objects)
    each.load_ns = each.load_ns * static_cast<std::int64_t>(60 + random() % 81) / 100;
  EXPECT_GT(imbalance(after, false), 1.5);
  EXPECT_LT(imbalance(after, true), 1.3);
}

// Where PEs are even already, helping costs next to nothing.
TEST(hosts_and_loops, nothing_is_lost_where_there_is_nothing_to_gain) {
  balancing::snapshot even = droplet();
  for (balancing::object_load& each : even.objects) each.load_ns = mean_ns;
  for (std::size_t i = 0; i < even.objects.size(); ++i) even.objects[i].pe = static_cast<int>(i % even.pes.size());
  EXPECT_DOUBLE_EQ(imbalance(even, false), 1.0);
  EXPECT_LT(imbalance(even, true), 1.05);
}

}  // namespace
}  // namespace tri::sim
