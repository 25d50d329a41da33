// Counts of messages and rounds against formulas and a table made by another program (the study of the published
// algorithms); times against sums by hand, and what follows from them: fewer rounds pay, large data change the choice.
#include "coll/cost_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "coll/generators/host_tree.hpp"
#include "coll/plan_builder.hpp"
#include "requests.hpp"

namespace tri::coll {
namespace {

using ::testing::DoubleEq;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

plan_counts counts_of(collective what, std::string_view name, int hosts, int ranks, int root = 0,
                      std::uint64_t count = 2) {
  const request asked = request_of(what, shape::uniform(hosts, ranks), count, root);
  return count_of(asked, generate_all(algorithm_of(asked, name), asked));
}

plan_cost estimated(collective what, std::string_view name, int hosts, int ranks, std::uint64_t count,
                    const cost_parameters& costs) {
  const request asked = request_of(what, shape::uniform(hosts, ranks), count);
  return cost_of(asked, generate_all(algorithm_of(asked, name), asked), costs);
}

TEST(rounds, of_many_senders_are_the_logarithm_of_base_ranks_plus_one) {
  const std::pair<collective, const char*> multi_object[] = {
      {collective::broadcast, "multi_object"},       {collective::scatter, "multi_object"},
      {collective::gather, "multi_object"},          {collective::reduce, "multi_object"},
      {collective::reduce, "multi_object_parts"},    {collective::allgather, "multi_object_bruck"},
      {collective::allreduce, "multi_object_bruck"}, {collective::scan, "multi_object"},
      {collective::exscan, "multi_object"},          {collective::barrier, "multi_object"}};
  for (const auto& [what, name] : multi_object)
    for (int hosts = 1; hosts <= 64; ++hosts)
      for (const int ranks : {1, 2, 3, 4, 8}) {
        ASSERT_EQ(counts_of(what, name, hosts, ranks).rounds, rounds_of_radix(hosts, ranks + 1))
            << name_of(what) << ' ' << hosts << ' ' << ranks;
      }
  EXPECT_EQ(counts_of(collective::allreduce, "multi_object_tree", 9, 2).rounds, 4u) << "there and back";
}

TEST(rounds, of_one_sender_are_the_logarithm_of_base_two) {
  for (const int hosts : {1, 2, 3, 8, 9, 33}) {
    EXPECT_EQ(counts_of(collective::allgather, "single_leader_bruck", hosts, 3).rounds, rounds_of_radix(hosts, 2));
    EXPECT_EQ(counts_of(collective::scatter, "single_leader", hosts, 3).rounds, rounds_of_radix(hosts, 2));
  }
}

// A round is one message of a rank.
TEST(rounds, have_one_message_of_each_rank) {
  for (const algorithm& by : all_algorithms()) {
    for (const auto& [hosts, ranks] : {std::pair{13, 2}, {23, 3}, {16, 3}, {7, 1}}) {
      const request asked = request_of(by.what, shape::uniform(hosts, ranks), 2);
      std::map<std::tuple<int, std::uint32_t, bool>, int> of_round;
      for (const plan& each : generate_all(by, asked))
        for (const step& one : each.steps)
          if (one.is_message()) ++of_round[{each.rank, one.round, one.kind == step_kind::send}];
      for (const auto& [of, messages] : of_round) ASSERT_EQ(messages, 1) << text_of(asked, by);
    }
  }
}

TEST(messages, are_those_of_the_study) {
  struct row {
    int hosts, ranks;
    std::uint64_t scatter, allgather, blocks, allreduce, payloads;
  };
  for (const row& each : {row{2, 2, 1, 2, 2, 2, 2}, row{3, 2, 2, 6, 6, 6, 6}, row{4, 2, 3, 12, 12, 12, 12},
                          row{4, 3, 3, 12, 12, 12, 12}, row{5, 2, 4, 15, 20, 15, 15}, row{7, 2, 6, 28, 42, 28, 28},
                          row{9, 2, 8, 36, 72, 36, 36}, row{10, 3, 9, 50, 90, 50, 50}, row{16, 3, 15, 96, 240, 96, 96},
                          row{23, 3, 22, 161, 506, 161, 184}, row{64, 18, 63, 1344, 4032, 1344, 1344}}) {
    SCOPED_TRACE(std::to_string(each.hosts) + " hosts of " + std::to_string(each.ranks));
    for (const int root : {0, each.hosts * each.ranks - 1})
      EXPECT_EQ(counts_of(collective::scatter, "multi_object", each.hosts, each.ranks, root).between_hosts.messages,
                each.scatter);
    const plan_counts allgather = counts_of(collective::allgather, "multi_object_bruck", each.hosts, each.ranks);
    EXPECT_EQ(allgather.between_hosts.messages, each.allgather);
    EXPECT_EQ(allgather.between_hosts.bytes, each.blocks * static_cast<std::uint64_t>(each.ranks) * 8);
    const plan_counts allreduce = counts_of(collective::allreduce, "multi_object_bruck", each.hosts, each.ranks);
    EXPECT_EQ(allreduce.between_hosts.messages, each.allreduce);
    EXPECT_EQ(allreduce.between_hosts.bytes, each.payloads * 8) << "the rest travels with the sum";
  }
}

TEST(messages, of_a_ring_are_those_of_all_ranks) {
  for (const auto& [hosts, ranks] : {std::pair{2, 3}, {6, 2}, {5, 1}}) {
    const plan_counts found = counts_of(collective::allgather, "multi_object_ring", hosts, ranks);
    EXPECT_EQ(found.between_hosts.messages, static_cast<std::uint64_t>(hosts * (hosts - 1) * ranks));
    EXPECT_EQ(found.between_hosts.bytes, found.between_hosts.received);
    EXPECT_EQ(found.of_ranks.front().messages, static_cast<std::uint64_t>(hosts - 1));
  }
}

TEST(messages, of_a_gather_inside_a_host_are_copies_one_of_each_rank) {
  const plan_counts found = counts_of(collective::gather, "multi_object", 1, 6);
  EXPECT_EQ(found.between_hosts, traffic{});
  EXPECT_EQ(found.inside_hosts, traffic{});
  EXPECT_EQ(found.copied_bytes, 6u * 8);
}

TEST(messages, of_a_scatter_copy_each_block_once_on_the_host_of_the_root) {
  const request asked = request_of(collective::scatter, shape::uniform(3, 2), 2, 1);
  const std::vector<plan> plans = generate_all(algorithm_of(asked, "multi_object"), asked);
  for (const int rank : {0, 1}) {
    EXPECT_EQ(plans[static_cast<std::size_t>(rank)].scratch_bytes, 0u) << "nothing is staged";
    // The copy depends on what its send depends on, so it happens beside it.
    const plan& of = plans[static_cast<std::size_t>(rank)];
    std::vector<std::uint32_t> waited_for[2];
    for (std::size_t i = 0; i < of.steps.size(); ++i) {
      const auto dependencies = of.dependencies_of(i);
      if (of.steps[i].kind == step_kind::copy) waited_for[0].assign(dependencies.begin(), dependencies.end());
      if (of.steps[i].kind == step_kind::send) waited_for[1].assign(dependencies.begin(), dependencies.end());
    }
    EXPECT_EQ(waited_for[0], waited_for[1]);
  }
}

const cost_parameters by_hand{.latency = 1000,
                              .overhead = 10,
                              .gap = 50,
                              .per_byte = 1,
                              .host_latency = 100,
                              .signal = 7,
                              .copy_start = 3,
                              .copy_per_byte = 0.5,
                              .reduce_per_byte = 2};

TEST(cost, of_one_message) {
  // o + 40 bytes + L + o
  EXPECT_THAT(estimated(collective::broadcast, "binomial", 2, 1, 10, by_hand).time, DoubleEq(10 + 40 + 1000 + 10));
  // inside a host: o + its latency + a copy
  EXPECT_THAT(estimated(collective::broadcast, "binomial", 1, 2, 10, by_hand).time, DoubleEq(10 + 100 + 3 + 20));
}

TEST(cost, of_a_copy_through_shared_memory) {  // a signal, the copy, a signal back
  EXPECT_THAT(estimated(collective::broadcast, "multi_object", 1, 2, 10, by_hand).time, DoubleEq(7 + (3 + 20) + 7));
  // staged: the root copies, signals; the other copies, and signals nothing
  EXPECT_THAT(estimated(collective::broadcast, "multi_object_staged", 1, 2, 10, by_hand).time,
              DoubleEq((3 + 20) + 7 + (3 + 20)));
}

TEST(cost, gap_is_of_a_rank_and_bandwidth_of_a_host) {
  // Three hosts, one sender: its second message begins g after the first; two senders: both at once, but for the bytes.
  const double one = estimated(collective::alltoall, "pairwise", 3, 1, 1, by_hand).time;
  EXPECT_THAT(one, DoubleEq(5 + 50 + 10 + 4 + 1000 + 10)) << "its own block is copied first";
  const request asked = request_of(collective::alltoall, shape::uniform(3, 2), 1);
  std::vector<plan> plans;
  for (int rank = 0; rank < 6; ++rank) {
    plan_builder to(asked, asked.hosts, rank);
    if (rank < 2) to.send(2 + 2 * rank, 0, to.own(buffer::input), 24, {});
    if (rank == 2 || rank == 4) to.receive((rank - 2) / 2, 0, to.own(buffer::output), 24, {});
    plans.push_back(to.finish());
  }
  const plan_cost two = cost_of(asked, plans, by_hand);
  EXPECT_THAT(two.of_ranks[2], DoubleEq(10 + 24 + 1000 + 10));
  EXPECT_THAT(two.of_ranks[4], DoubleEq(10 + 24 + 24 + 1000 + 10));
}

TEST(cost, critical_path_is_without_gaps_from_the_beginning_to_the_end) {
  for (const algorithm& by : all_algorithms()) {
    const request asked = request_of(by.what, shape::uniform(5, 3), 20, 2);
    const std::vector<plan> plans = generate_all(by, asked);
    const plan_cost found = cost_of(asked, plans, {});
    ASSERT_FALSE(found.critical_path.empty()) << by.name;
    EXPECT_EQ(found.critical_path.back().end, found.time) << by.name;
    double before = 0.0;
    for (const timed_step& each : found.critical_path) {
      EXPECT_GE(each.end, before) << by.name;
      before = each.end;
    }
    EXPECT_EQ(found.critical_path.front().begin, 0.0) << by.name;
    for (std::size_t rank = 0; rank < plans.size(); ++rank)
      for (const timed_step& each : found.steps[rank]) {
        ASSERT_GE(each.begin, 0.0);
        ASSERT_LE(each.begin, each.end);
        for (const std::uint32_t dependency : plans[rank].dependencies_of(each.index))
          ASSERT_LE(found.steps[rank][dependency].end, each.begin) << by.name;
      }
  }
}

TEST(cost, plans_that_block_have_none) {
  const request asked = request_of(collective::broadcast, shape::uniform(1, 2), 1);
  std::vector<plan> plans;
  for (int rank = 0; rank < 2; ++rank) {
    plan_builder to(asked, asked.hosts, rank);
    to.wait(0, to.new_counter(), 1, {});
    plans.push_back(to.finish());
  }
  EXPECT_THAT([&] { cost_of(asked, plans, {}); }, ThrowsMessage<std::invalid_argument>(HasSubstr("block")));
}

// 16 hosts of 3 ranks and 5 ms: two rounds instead of four.
TEST(choice, fewer_rounds_pay_under_latency) {
  const cost_parameters slow{.latency = 5e6};
  const double many = estimated(collective::allgather, "multi_object_bruck", 16, 3, 2, slow).time;
  const double one = estimated(collective::allgather, "single_leader_bruck", 16, 3, 2, slow).time;
  EXPECT_GT(one / many, 1.9);
  EXPECT_LT(many, 2.1 * slow.latency);
}

TEST(choice, goes_from_rounds_to_rings_with_the_size) {
  for (const auto& [what, small, large] :
       {std::tuple{collective::allgather, "multi_object_bruck", "multi_object_ring"},
        std::tuple{collective::allreduce, "multi_object_gathered", "multi_object_ring"}}) {
    bool is_large = false;
    for (std::uint64_t count = 2; count <= 1 << 20; count *= 8) {
      const request asked = request_of(what, shape::uniform(8, 4), count);
      const std::vector<algorithm_cost> found = compare(asked, {});
      ASSERT_EQ(found.size(), algorithms_for(asked).size());
      double by_small = 0;
      double by_large = 0;
      for (const algorithm_cost& each : found) {
        if (each.by->name == small) by_small = each.time;
        if (each.by->name == large) by_large = each.time;
        ASSERT_GE(each.time, found.front().time);
      }
      if (by_large < by_small) is_large = true;
      EXPECT_EQ(is_large, by_large < by_small) << "there is one switch; " << count;
      EXPECT_TRUE(count > 2 || found.front().by->name == small) << name_of(what);
    }
    EXPECT_TRUE(is_large) << name_of(what);
  }
}

}  // namespace
}  // namespace tri::coll
