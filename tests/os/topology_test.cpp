// Topologies from synthetic descriptions, XML and this machine; distances between CPUs.
#include "os/cpu/topology.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hwloc.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "os/cpu/cpu_list.hpp"
#include "os/cpu/pinning.hpp"

namespace tri::os {
namespace {

using ::testing::HasSubstr;

const char* const two_packages = "synthetic:pack:2 numa:1 l3:1 core:4 pu:2";

std::vector<int> numbers(const topology& machine) {
  std::vector<int> all;
  for (const pu& each : machine.pus()) all.push_back(each.number);
  return all;
}

TEST(topology, synthetic_machine) {
  const topology machine = topology::load(two_packages);
  EXPECT_FALSE(machine.is_this_machine());
  EXPECT_EQ(machine.pus().size(), 16u);
  EXPECT_EQ(machine.cores(), 8);
  EXPECT_EQ(machine.caches(), 2);
  EXPECT_EQ(machine.numa_domains(), 2);
  EXPECT_EQ(machine.packages(), 2);
  EXPECT_EQ(machine.useful_cores(), 8);
  EXPECT_EQ(machine.useful_pus(), 16);
  EXPECT_THAT(machine.tree(), HasSubstr("PU"));
}

// As in a container with the CPUs of one NUMA domain and the memory of all.
TEST(topology, caches_without_cpus_are_left_out) {
  const std::string file = ::testing::TempDir() + "caches_without_cpus.xml";
  hwloc_topology_t made = nullptr;
  ASSERT_EQ(hwloc_topology_init(&made), 0);
  ASSERT_EQ(hwloc_topology_set_synthetic(made, "pack:2 numa:2 l3:1 core:4 pu:2"), 0);
  ASSERT_EQ(hwloc_topology_load(made), 0);
  const hwloc_bitmap_t first = hwloc_bitmap_alloc();
  hwloc_bitmap_set_range(first, 0, 7);
  EXPECT_EQ(hwloc_topology_restrict(made, first, 0), 0);
  EXPECT_EQ(hwloc_topology_export_xml(made, file.c_str(), 0), 0);
  hwloc_bitmap_free(first);
  hwloc_topology_destroy(made);
  const topology machine = topology::load(file);
  std::filesystem::remove(file);
  EXPECT_EQ(machine.pus().size(), 8u);
  ASSERT_EQ(machine.all_caches().size(), 1u);
  EXPECT_EQ(machine.all_caches()[0].pus.size(), 8u);
}

TEST(topology, synthetic_machines_that_hwloc_would_never_finish_are_refused) {
  for (const char* const large : {"synthetic:pack:1000 core:1000 pu:1000", "synthetic:4000000000",
                                  "synthetic:300 300 1", "synthetic:core:0xffffff", "synthetic:core:-1 pu:1"}) {
    EXPECT_THAT([&] { topology::load(large); },
                ::testing::ThrowsMessage<topology_error>(HasSubstr("CPUs; at most 8192 can be described; write auto")))
        << large;
  }
  for (const char* const wide : {"synthetic:core:4 pu:2000", "synthetic:1 7272"}) {
    EXPECT_THAT([&] { topology::load(wide); },
                ::testing::ThrowsMessage<topology_error>(HasSubstr("in one place; at most 1024 can be described")))
        << wide;
  }
  EXPECT_EQ(topology::load("synthetic:pack:2(memory=4294967296) core:2 pu:1(indexes=0,1,2,3)").pus().size(), 4u);
}

TEST(topology, distance_classes) {
  const topology machine = topology::load(two_packages);
  EXPECT_EQ(machine.distance(0, 0), distance_class::same_pu);
  EXPECT_EQ(machine.distance(0, 1), distance_class::same_core);
  EXPECT_EQ(machine.distance(0, 2), distance_class::same_cache);
  EXPECT_EQ(machine.distance(6, 1), distance_class::same_cache);
  EXPECT_EQ(machine.distance(0, 8), distance_class::same_host);
}

TEST(topology, numa_domain_with_two_caches) {
  const topology machine = topology::load("synthetic:numa:2 l3:2 core:2 pu:1");
  EXPECT_EQ(machine.distance(0, 1), distance_class::same_cache);
  EXPECT_EQ(machine.distance(0, 2), distance_class::same_numa);
  EXPECT_EQ(machine.distance(0, 4), distance_class::same_host);
}

TEST(topology, without_caches) {
  const topology machine = topology::load("synthetic:pack:2 numa:1 core:4 pu:2");
  EXPECT_EQ(machine.pus()[0].cache, -1);
  EXPECT_EQ(machine.distance(0, 2), distance_class::same_numa);
}

TEST(topology, unknown_cpu_is_named) {
  const topology machine = topology::load("synthetic:core:2 pu:1");
  EXPECT_TRUE(machine.has(1));
  EXPECT_FALSE(machine.has(2));
  try {
    machine.at(2);
    FAIL();
  } catch (const topology_error& problem) {
    EXPECT_STREQ(problem.what(), "CPU 2 is none of the usable ones, 0,1");
  }
}

TEST(topology, wrong_descriptions_are_explained) {
  for (const char* wrong : {"synthetic:pack:x", "/no/such/file.xml", "atuo"}) {
    try {
      topology::load(wrong);
      FAIL() << wrong;
    } catch (const topology_error& problem) {
      EXPECT_THAT(problem.what(), HasSubstr(std::string("topology '") + wrong + "'"));
      EXPECT_THAT(problem.what(), HasSubstr("write auto, the path of an hwloc XML file"));
    }
  }
}

TEST(topology, xml_file) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("trireme-topology-" + std::to_string(getpid()) + ".xml");
  std::ofstream(file) << R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x3" complete_cpuset="0x3" allowed_cpuset="0x3" nodeset="0x1" complete_nodeset="0x1" allowed_nodeset="0x1" gp_index="1">
    <object type="NUMANode" os_index="0" cpuset="0x3" complete_cpuset="0x3" nodeset="0x1" complete_nodeset="0x1" gp_index="2" local_memory="1073741824"/>
    <object type="Core" os_index="0" cpuset="0x3" complete_cpuset="0x3" nodeset="0x1" complete_nodeset="0x1" gp_index="3">
      <object type="PU" os_index="0" cpuset="0x1" complete_cpuset="0x1" nodeset="0x1" complete_nodeset="0x1" gp_index="4"/>
      <object type="PU" os_index="1" cpuset="0x2" complete_cpuset="0x2" nodeset="0x1" complete_nodeset="0x1" gp_index="5"/>
    </object>
  </object>
</topology>
)";
  const topology machine = topology::load(file.string());
  EXPECT_EQ(numbers(machine), (std::vector<int>{0, 1}));
  EXPECT_EQ(machine.distance(0, 1), distance_class::same_core);
  EXPECT_EQ(machine.memory_bytes(), 1073741824u);
  std::filesystem::remove(file);
}

TEST(topology, this_machine_has_the_cpus_of_the_affinity_mask) {
  const std::vector<int> before = cpus_of_this_thread();
  std::vector<int> usable = numbers(topology::load("auto"));
  std::sort(usable.begin(), usable.end());
  EXPECT_EQ(usable, before);
  pin_this_thread(before.back());
  EXPECT_EQ(numbers(topology::load("auto")), std::vector<int>{before.back()});
  pin_this_thread(before);
}

std::set<int> listed(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  if (!(file >> text)) return {};
  const std::vector<int> list = parse_cpu_list(text);
  return {list.begin(), list.end()};
}

// The operating system's own view, independent of hwloc.
TEST(topology, same_core_and_same_cache_are_what_the_system_says) {
  const topology machine = topology::load("auto");
  for (const pu& each : machine.pus()) {
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(each.number);
    const std::set<int> siblings = listed(folder + "/topology/thread_siblings_list");
    std::set<int> sharing;  // the outermost cache is shared by most
    for (int index = 0; index < 8; ++index) {
      const std::set<int> cache = listed(folder + "/cache/index" + std::to_string(index) + "/shared_cpu_list");
      if (cache.size() > sharing.size()) sharing = cache;
    }
    if (siblings.empty() || sharing.empty()) GTEST_SKIP() << "the system does not say";
    for (const pu& other : machine.pus()) {
      EXPECT_EQ(machine.distance(each.number, other.number) <= distance_class::same_core,
                siblings.contains(other.number));
      EXPECT_EQ(machine.distance(each.number, other.number) <= distance_class::same_cache,
                sharing.contains(other.number));
    }
  }
}

}  // namespace
}  // namespace tri::os
