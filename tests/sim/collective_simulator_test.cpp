// The simulator of collectives against the cost model, which has all plans in memory, and against the counts of plans.
#include "sim/collective_simulator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "../coll/requests.hpp"
#include "coll/cost_model.hpp"

namespace tri::sim {
namespace {

using coll::algorithm;
using coll::collective;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

simulated_collective wanted_of(collective what, std::string_view name, coll::shape hosts, std::uint64_t count) {
  simulated_collective made;
  made.asked = coll::request_of(what, std::move(hosts), count);
  made.by = &coll::algorithm_of(made.asked, name);
  return made;
}

void expect_same(const collective_run& one, const collective_run& other) {
  EXPECT_EQ(one.time, other.time);
  EXPECT_EQ(one.steps, other.steps);
  EXPECT_EQ(one.most_received_by_host, other.most_received_by_host);
  ASSERT_EQ(one.rounds.size(), other.rounds.size());
  for (std::size_t i = 0; i < one.rounds.size(); ++i) {
    EXPECT_EQ(one.rounds[i].begin, other.rounds[i].begin);
    EXPECT_EQ(one.rounds[i].end, other.rounds[i].end);
  }
}

void compare_with_plans(const algorithm& by, const coll::request& asked) {
  const std::vector<coll::plan> plans = coll::generate_all(by, asked);
  const coll::plan_counts counts = coll::count_of(asked, plans);
  simulated_collective wanted;
  wanted.asked = asked;
  wanted.by = &by;
  const double time = coll::cost_of(asked, plans, wanted.costs).time;
  std::size_t steps = 0;
  for (const coll::plan& each : plans) {
    steps += each.steps.size();
    EXPECT_EQ(coll::count_steps(by, asked, each.rank), each.steps.size());
  }
  for (const std::uint64_t bound : {std::numeric_limits<std::uint64_t>::max(), std::uint64_t{0}}) {
    wanted.most_plan_bytes = bound;
    const collective_run found = simulate_collective(wanted);
    EXPECT_EQ(found.time, time);
    EXPECT_EQ(found.steps, steps);
    EXPECT_EQ(found.between_hosts.messages, counts.between_hosts.messages);
    EXPECT_EQ(found.between_hosts.bytes, counts.between_hosts.bytes);
    EXPECT_EQ(found.inside_hosts.messages, counts.inside_hosts.messages);
    EXPECT_EQ(found.inside_hosts.bytes, counts.inside_hosts.bytes);
    std::uint64_t most_sent = 0;
    for (const coll::traffic& each : counts.of_hosts) most_sent = std::max(most_sent, each.messages);
    EXPECT_EQ(found.most_sent_by_host, most_sent);
    EXPECT_LE(found.most_hosts_with_plans, bound == 0 ? 1u : static_cast<unsigned>(asked.hosts.hosts()));
  }
}

TEST(collective_simulator, agrees_with_the_cost_model_of_all_algorithms) {
  for (const algorithm& by : coll::all_algorithms())
    for (int hosts = 1; hosts <= 6; ++hosts)
      for (int ranks = 1; ranks <= 3; ++ranks)
        for (const std::uint64_t count : {0, 2, 5000}) {
          const coll::request asked =
              coll::request_of(by.what, coll::shape::uniform(hosts, ranks), count,
                               coll::has_root(by.what) ? hosts * ranks / 2 : 0, by.commutative_only);
          SCOPED_TRACE(coll::text_of(asked, by));
          compare_with_plans(by, asked);
          if (::testing::Test::HasFailure()) return;
        }
  const std::vector<int> uneven{3, 1, 2};
  for (const algorithm& by : coll::all_algorithms())
    compare_with_plans(by, coll::request_of(by.what, coll::shape::of_table(uneven), 10));
}

TEST(collective_simulator, without_latency_all_ends_too) {
  for (const algorithm& by : coll::all_algorithms()) {
    simulated_collective wanted;
    wanted.asked = coll::request_of(by.what, coll::shape::uniform(5, 2), 3);
    wanted.by = &by;
    wanted.costs = {.latency = 0,
                    .overhead = 0,
                    .gap = 0,
                    .per_byte = 0,
                    .host_latency = 0,
                    .signal = 0,
                    .copy_start = 0,
                    .copy_per_byte = 0,
                    .reduce_per_byte = 0};
    EXPECT_EQ(simulate_collective(wanted).time, 0.0) << by.name;
  }
}

TEST(collective_simulator, noise_follows_from_its_seed_and_from_nothing_else) {
  for (const algorithm& by : coll::all_algorithms()) {
    simulated_collective wanted;
    wanted.asked = coll::request_of(by.what, coll::shape::uniform(7, 3), 200);
    wanted.by = &by;
    const double quiet = simulate_collective(wanted).time;
    wanted.hit_chance = 0.2;
    wanted.longest_hit = 30'000;
    wanted.longest_jitter = 4'000;
    const collective_run noisy = simulate_collective(wanted);
    EXPECT_GT(noisy.time, quiet) << by.name;
    wanted.most_plan_bytes = 20'000;
    expect_same(simulate_collective(wanted), noisy);
    wanted.seed = 2;
    EXPECT_NE(simulate_collective(wanted).time, noisy.time) << by.name;
  }
}

TEST(collective_simulator, plans_in_memory_are_bounded) {
  simulated_collective wanted = wanted_of(collective::allreduce, "multi_object_bruck", coll::shape::uniform(500, 4), 2);
  const collective_run all = simulate_collective(wanted);
  EXPECT_EQ(all.most_hosts_with_plans, 500u);
  EXPECT_EQ(all.generated_hosts, 500u) << "each once";
  const std::uint64_t of_host = all.peak_plan_bytes / 500;
  wanted.most_plan_bytes = 20 * of_host;
  const collective_run bounded = simulate_collective(wanted);
  EXPECT_LE(bounded.peak_plan_bytes, wanted.most_plan_bytes + 2 * of_host) << "and the host whose turn it is";
  EXPECT_LE(bounded.most_hosts_with_plans, 22u);
  EXPECT_GT(bounded.generated_hosts, 500u);
  EXPECT_LT(bounded.peak_bytes, all.peak_bytes);
  expect_same(bounded, all);
}

TEST(collective_simulator, plans_of_ranks_that_have_ended_are_dropped) {
  // A chain of rounds outwards: the root's host ends first.
  simulated_collective wanted = wanted_of(collective::broadcast, "multi_object_staged", coll::shape::uniform(64, 1), 2);
  EXPECT_LT(simulate_collective(wanted).most_hosts_with_plans, 65u);
  wanted.asked.hosts = coll::shape::uniform(1000, 1);
  wanted.most_plan_bytes = 0;
  const collective_run found = simulate_collective(wanted);
  EXPECT_EQ(found.most_hosts_with_plans, 1u);
  EXPECT_LE(found.generated_hosts, 3 * 1000u) << "at the beginning, when its message comes, when its sends have ended";
}

TEST(collective_simulator, too_many_steps_are_refused_with_what_would_do) {
  const auto simulate = [](const simulated_collective& wanted) { return [&] { simulate_collective(wanted); }; };
  const simulated_collective ring = wanted_of(collective::allreduce, "ring", coll::shape::uniform(65'536, 64), 2);
  EXPECT_THAT(simulate(ring),
              ThrowsMessage<std::invalid_argument>(
                  AllOf(HasSubstr("ring of allreduce has about"), HasSubstr("on 4194304 ranks"),
                        HasSubstr("up to 1,000,000,000 steps"), HasSubstr("Fewer: multi_object_bruck (about "))));
  simulated_collective small = wanted_of(collective::alltoall, "pairwise", coll::shape::uniform(8, 1), 2);
  small.most_steps = 10;
  EXPECT_THAT(simulate(small), ThrowsMessage<std::invalid_argument>(HasSubstr("No algorithm has so few")));
  small.most_steps = 8 * 15;
  EXPECT_EQ(simulate_collective(small).steps, 8 * 15u);
}

TEST(collective_simulator, wrong_values_are_refused) {
  simulated_collective wanted = wanted_of(collective::barrier, "dissemination", coll::shape::uniform(2, 1), 1);
  wanted.longest_jitter = -1;
  EXPECT_THAT([&] { simulate_collective(wanted); }, ThrowsMessage<std::invalid_argument>(HasSubstr("jitter is -1 ns")));
  wanted.longest_jitter = 0;
  wanted.hit_chance = 2;
  wanted.longest_hit = 1;
  EXPECT_THAT([&] { simulate_collective(wanted); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("must lie between 0 and 1")));
}

TEST(collective_simulator, tells_how_far_it_is) {
  const simulated_collective wanted =
      wanted_of(collective::allgather, "multi_object_bruck", coll::shape::uniform(100, 2), 1);
  std::vector<double> told;
  simulate_collective(wanted, [&](double part) { told.push_back(part); });
  ASSERT_GT(told.size(), 10u);
  EXPECT_TRUE(std::ranges::is_sorted(told));
  EXPECT_LE(told.back(), 1.0);
}

// Noise costs more where a collective has more rounds, or more steps one after the other.
TEST(collective_simulator, jitter_adds_up_over_rounds) {
  simulated_collective many = wanted_of(collective::barrier, "multi_object", coll::shape::uniform(81, 8), 1);
  simulated_collective one = wanted_of(collective::barrier, "single_leader", coll::shape::uniform(81, 8), 1);
  const double quiet = simulate_collective(one).time - simulate_collective(many).time;
  many.longest_jitter = one.longest_jitter = 50'000;
  EXPECT_GT(simulate_collective(one).time - simulate_collective(many).time, quiet);
}

}  // namespace
}  // namespace tri::sim
