// Which CPUs the PEs are bound to, the default number of PEs, and their victim orders, on synthetic machines.
#include "config/placement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "config/configuration.hpp"
#include "os/cpu/topology.hpp"

namespace tri::config {
namespace {

using cpus = std::vector<int>;

const os::topology& eight_cores() { return os::topology::shared("synthetic:pack:2 numa:1 l3:1 core:4 pu:2"); }

TEST(placement, cores_before_second_hardware_threads) {
  const configuration values;
  EXPECT_EQ(assign_cpus(values, eight_cores(), 0, 1, 4).cpus, (cpus{0, 2, 4, 6}));
  EXPECT_EQ(assign_cpus(values, eight_cores(), 1, 2, 4).cpus, (cpus{8, 10, 12, 14}));
  const placement full = assign_cpus(values, eight_cores(), 1, 2, 8);
  EXPECT_EQ(full.cpus, (cpus{1, 3, 5, 7, 9, 11, 13, 15}));
  EXPECT_EQ(full.all_cpus.size(), 16u);
  EXPECT_FALSE(full.oversubscribed);
}

TEST(placement, more_pes_than_pus_are_spread_and_not_bound) {
  const os::topology machine = os::topology::load("auto");
  const int pus = static_cast<int>(machine.pus().size());
  const placement many = assign_cpus({}, machine, 1, 2, pus);
  EXPECT_TRUE(many.oversubscribed);
  EXPECT_FALSE(many.pinned);
  EXPECT_EQ(std::set<int>(many.cpus.begin(), many.cpus.end()).size(), static_cast<std::size_t>(pus));
  const placement fitting = assign_cpus({}, machine, 0, 1, pus);
  EXPECT_EQ(fitting.oversubscribed, machine.useful_pus() < pus);
  EXPECT_TRUE(fitting.pinned);
}

TEST(placement, fake_machines_and_none_are_not_bound) {
  configuration values;
  EXPECT_FALSE(assign_cpus(values, eight_cores(), 0, 1, 2).pinned);
  values.affinity = "none";
  const placement none = assign_cpus(values, os::topology::load("auto"), 0, 1, 1);
  EXPECT_FALSE(none.pinned);
  EXPECT_FALSE(none.oversubscribed);
}

TEST(placement, a_list_gives_entry_i_to_pe_i_of_the_host) {
  configuration values;
  values.affinity = "8,0-6:2,0";
  EXPECT_EQ(assign_cpus(values, eight_cores(), 0, 2, 2).cpus, (cpus{8, 0}));
  EXPECT_EQ(assign_cpus(values, eight_cores(), 1, 2, 2).cpus, (cpus{2, 4}));
  EXPECT_FALSE(assign_cpus(values, eight_cores(), 1, 2, 2).oversubscribed);
  EXPECT_TRUE(assign_cpus(values, eight_cores(), 0, 6, 1).oversubscribed);  // CPU 0 twice
}

TEST(placement, a_list_that_does_not_fit_is_explained) {
  configuration values;
  values.affinity = "0,2-4:2";
  try {
    assign_cpus(values, eight_cores(), 0, 2, 2);
    FAIL();
  } catch (const configuration_error& problem) {
    EXPECT_STREQ(problem.what(),
                 "affinity '0,2-4:2' has CPUs for 3 PEs, but the host has 4 PEs; list 4 CPUs, or use auto");
  }
  values.affinity = "0,16";
  try {
    assign_cpus(values, eight_cores(), 0, 1, 2);
    FAIL();
  } catch (const configuration_error& problem) {
    EXPECT_STREQ(problem.what(), "affinity '0,16' has CPU 16, which this process may not use; it may use 0-15");
  }
  values.affinity = "atuo";
  EXPECT_THROW(assign_cpus(values, eight_cores(), 0, 1, 1), configuration_error);
}

TEST(placement, default_number_of_pes_is_the_cores_of_each_process) {
  configuration values;
  values.topology = "synthetic:pack:2 numa:1 l3:1 core:4 pu:2";
  EXPECT_EQ(resolve_pes(values, 1), 8);
  EXPECT_EQ(resolve_pes(values, 2), 4);
  EXPECT_EQ(resolve_pes(values, 3), 2);
  EXPECT_EQ(resolve_pes(values, 100), 1);
  values.pes = 5;
  EXPECT_EQ(resolve_pes(values, 2), 5);
}

TEST(placement, victims_near_ones_first_and_staggered) {
  const cpus placed{0, 1, 2, 4, 8, 10};  // two on a core, two more of the package, two of the other package
  EXPECT_EQ(victim_order(eight_cores(), placed, 0), (cpus{1, 2, 3, 4, 5}));
  EXPECT_EQ(victim_order(eight_cores(), placed, 1), (cpus{0, 2, 3, 4, 5}));
  EXPECT_EQ(victim_order(eight_cores(), placed, 2), (cpus{3, 0, 1, 4, 5}));
  EXPECT_EQ(victim_order(eight_cores(), placed, 3), (cpus{0, 1, 2, 4, 5}));
  EXPECT_EQ(victim_order(eight_cores(), placed, 4), (cpus{5, 0, 1, 2, 3}));
  EXPECT_TRUE(victim_order(eight_cores(), cpus{3}, 0).empty());
}

TEST(placement, victim_orders_are_permutations_with_growing_distance) {
  const os::topology& machine = eight_cores();
  const cpus placed = assign_cpus({}, machine, 0, 1, 16).cpus;
  std::set<int> first_victims;
  for (int self = 0; self < 16; ++self) {
    const cpus order = victim_order(machine, placed, self);
    EXPECT_EQ(std::set<int>(order.begin(), order.end()).size(), 15u);
    EXPECT_EQ(std::count(order.begin(), order.end(), self), 0);
    const auto far = [&](int victim) {
      return machine.distance(placed[static_cast<std::size_t>(self)], placed[static_cast<std::size_t>(victim)]);
    };
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end(), [&](int a, int b) { return far(a) < far(b); }));
    first_victims.insert(order[0]);
  }
  EXPECT_EQ(first_victims.size(), 16u);  // nobody is everybody's first choice
}

}  // namespace
}  // namespace tri::config
