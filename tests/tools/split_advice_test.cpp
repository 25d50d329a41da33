// How a host is split into processes, for machines of all kinds (M78).
#include "advice/split_advice.hpp"

#include <gmock/gmock.h>

#include <set>
#include <stdexcept>

#include "config/configuration.hpp"
#include "config/placement.hpp"
#include "os/cpu/cpu_list.hpp"
#include "os/cpu/topology.hpp"

namespace tri::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

os::topology machine(const std::string& description) { return os::topology::load("synthetic:" + description); }

// What holds of each advice: no process spans domains, no CPU is used twice, and the options in the command give just
// those CPUs.
void expect_sound(const os::topology& of, const split_advice& advice) {
  std::set<int> cores;
  std::vector<int> in_order;
  for (const advised_process& each : advice.processes) {
    EXPECT_EQ(each.cpus.size(), static_cast<std::size_t>(advice.pes_per_process));
    std::vector<int> all = each.cpus;
    in_order.insert(in_order.end(), all.begin(), all.end());
    if (each.comm_cpu >= 0) all.push_back(each.comm_cpu);
    for (const int cpu : all) {
      EXPECT_EQ(of.at(cpu).numa, each.numa);
      EXPECT_TRUE(cores.insert(of.at(cpu).core).second) << "two on one core";
    }
  }
  config::configuration values;
  if (!advice.affinity.empty()) values.affinity = advice.affinity;
  const int processes = static_cast<int>(advice.processes.size());
  EXPECT_EQ(config::assign_cpus(values, of, 0, processes, advice.pes_per_process).all_cpus, in_order);
}

TEST(split_advice, one_process_for_each_numa_domain) {
  const os::topology two = machine("pack:2 numa:1 l3:1 core:8 pu:2");
  const split_advice advice = advise_split(two, {});
  expect_sound(two, advice);
  EXPECT_EQ(advice.processes.size(), 2u);
  EXPECT_EQ(advice.pes_per_process, 8);
  EXPECT_EQ(advice.unused_cores, 0);
  EXPECT_THAT(advice.affinity, IsEmpty());
  EXPECT_EQ(advice.commands.front(), "trireme run -n 2 --pes 8 ./app");
  EXPECT_THAT(advice.reasons.front(), HasSubstr("2 NUMA domains"));
  const os::topology four = machine("pack:1 numa:4 core:4 pu:1");
  EXPECT_EQ(advise_split(four, {}).processes.size(), 4u);
  expect_sound(four, advise_split(four, {}));
}

TEST(split_advice, one_process_where_memory_is_equally_near) {
  const os::topology one = machine("pack:1 numa:1 core:16 pu:1");
  const split_advice advice = advise_split(one, {});
  EXPECT_EQ(advice.processes.size(), 1u);
  EXPECT_EQ(advice.pes_per_process, 16);
  EXPECT_EQ(advise_split(machine("core:1 pu:1"), {}).pes_per_process, 1);
}

TEST(split_advice, the_communication_thread_gets_a_core_of_each_process) {
  const os::topology two = machine("pack:2 numa:1 core:8 pu:1");
  const split_advice advice = advise_split(two, {.hosts = 2, .comm_thread = true});
  expect_sound(two, advice);
  EXPECT_EQ(advice.processes.size(), 2u);
  EXPECT_EQ(advice.pes_per_process, 7);
  EXPECT_EQ(advice.processes[1].comm_cpu, 15);
  EXPECT_EQ(advice.affinity, "0-6,8-14") << "by themselves the PEs of process 1 would begin on CPU 7";
  EXPECT_EQ(advice.commands.front(),
            "trireme run -n 4 --pes 7 --affinity 0-6,8-14 --tri-comm-thread=on --hosts a,b ./app");
  EXPECT_THAT(to_text(advice, two, {.hosts = 2, .comm_thread = true}), HasSubstr("communication thread on CPU 7"));
}

TEST(split_advice, what_cannot_be_is_refused) {
  EXPECT_THROW(advise_split(machine("core:4 pu:1"), {.hosts = 0}), std::invalid_argument);
  EXPECT_THROW(advise_split(machine("core:1 pu:2"), {.comm_thread = true}), std::invalid_argument);
  EXPECT_THROW(advise_split(machine("numa:2 core:1 pu:1"), {.comm_thread = true}), std::invalid_argument);
}

TEST(split_advice, a_process_has_at_most_256_pes) {
  const os::topology large = machine("pack:1 numa:1 core:384 pu:1");
  const split_advice advice = advise_split(large, {});
  expect_sound(large, advice);
  EXPECT_EQ(advice.pes_per_process, 192);
  EXPECT_EQ(advice.processes.size(), 2u);
}

// Every machine of up to four domains and 24 cores in each.
TEST(split_advice, is_sound_for_all_regular_machines) {
  for (int domains = 1; domains <= 4; ++domains) {
    for (int cores = 1; cores <= 24; ++cores) {
      for (const bool comm_thread : {false, true}) {
        const os::topology of = machine("numa:" + std::to_string(domains) + " core:" + std::to_string(cores) + " pu:2");
        SCOPED_TRACE(of.description());
        if (comm_thread && cores == 1) continue;
        const split_advice advice = advise_split(of, {.comm_thread = comm_thread});
        expect_sound(of, advice);
        EXPECT_EQ(advice.processes.size(), static_cast<std::size_t>(domains));
        EXPECT_EQ(advice.unused_cores, 0);
      }
    }
  }
}

}  // namespace
}  // namespace tri::tools
