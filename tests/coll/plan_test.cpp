// The data that plans are made of: shapes, blocks, the ready set, and what the builder writes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "coll/generators/host_tree.hpp"
#include "coll/plan_builder.hpp"
#include "coll/plan_text.hpp"
#include "coll/ready_steps.hpp"
#include "requests.hpp"

namespace tri::coll {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

TEST(shape, numbers_ranks_host_by_host) {
  const shape even = shape::uniform(3, 4);
  EXPECT_EQ(even.ranks(), 12);
  EXPECT_EQ(even.first_rank(2), 8);
  EXPECT_EQ(even.host_of(7), 1);
  EXPECT_EQ(even.least_ranks(), 4);
  const shape uneven = shape::of_table(std::vector{2, 1, 4});
  EXPECT_EQ(uneven.ranks(), 7);
  EXPECT_EQ(uneven.ranks_of(2), 4);
  EXPECT_EQ(uneven.least_ranks(), 1);
  for (int host = 0; host < 3; ++host)
    for (int rank = uneven.first_rank(host); rank < uneven.first_rank(host + 1); ++rank)
      EXPECT_EQ(uneven.host_of(rank), host);
}

TEST(shape, refuses_numbers_below_one) {
  EXPECT_THAT([] { shape::uniform(0, 1); }, ThrowsMessage<std::invalid_argument>("0 hosts; it must be 1 or more"));
  EXPECT_THAT([] { shape::uniform(2, -1); },
              ThrowsMessage<std::invalid_argument>("-1 ranks on each host; it must be 1 or more"));
  EXPECT_THAT(
      [] {
        shape::of_table(std::vector{2, 0});
      },
      ThrowsMessage<std::invalid_argument>("a host with 0 ranks; it must be 1 or more"));
  EXPECT_THAT([] { shape::of_table({}); }, ThrowsMessage<std::invalid_argument>(HasSubstr("is empty")));
  EXPECT_THAT([] { shape::uniform(1 << 20, 1 << 20); }, ThrowsMessage<std::invalid_argument>(HasSubstr("more ranks")));
}

TEST(request, names_the_value_that_is_wrong) {
  const auto problem = [](const request& asked) {
    try {
      asked.check();
    } catch (const std::invalid_argument& wrong) {
      return std::string(wrong.what());
    }
    return std::string();
  };
  request asked = request_of(collective::gather, shape::uniform(2, 2), 8, 3);
  EXPECT_THAT(problem(asked), IsEmpty());
  asked.root = 4;
  EXPECT_EQ(problem(asked), "root 4 of 4 ranks; it must be 0 to 3");
  asked.root = 0;
  asked.extent = 0;
  EXPECT_EQ(problem(asked), "elements of 0 bytes; it must be 1 or more");
  asked.extent = 8;
  asked.blocks = block_layout::of_table(std::vector<std::uint64_t>{1, 2, 3});
  EXPECT_EQ(problem(asked), "blocks of 3 ranks are given; there are 4");
  asked.blocks = block_layout::of_table(std::vector<std::uint64_t>{1, 2, 3, 0});
  EXPECT_THAT(problem(asked), IsEmpty());
  asked.what = collective::allreduce;
  EXPECT_EQ(problem(asked), "allreduce takes one count, not one for each rank");
  asked.blocks = block_layout::uniform(std::uint64_t{1} << 60);
  EXPECT_THAT(problem(asked), HasSubstr("are more than"));
}

// A byte of the part is the same byte of the whole.
TEST(request, in_place_a_part_of_one_buffer_is_the_other) {
  request asked = request_of(collective::allgather, shape::uniform(2, 2), 3);
  asked.in_place = true;
  EXPECT_EQ(asked.real_place({2, buffer::input, 4}), (place{2, buffer::output, 28}));
  EXPECT_EQ(asked.real_place({2, buffer::output, 4}), (place{2, buffer::output, 4}));
  EXPECT_EQ(asked.real_place({2, buffer::scratch, 4}), (place{2, buffer::scratch, 4}));
  asked.what = collective::reduce_scatter;
  EXPECT_EQ(asked.real_place({2, buffer::output, 4}), (place{2, buffer::input, 4}));
  asked.what = collective::gather;
  asked.root = 1;
  EXPECT_EQ(asked.real_place({1, buffer::input, 0}), (place{1, buffer::output, 12}));
  EXPECT_EQ(asked.real_place({2, buffer::input, 0}), (place{2, buffer::input, 0})) << "only at the root";
}

TEST(request, names_are_read_as_they_are_written) {
  for (const collective each : all_collectives()) EXPECT_EQ(collective_of(name_of(each)), each);
  EXPECT_THAT(
      [] { collective_of("gossip"); },
      ThrowsMessage<std::invalid_argument>(HasSubstr("there is no collective 'gossip'; there are broadcast, ")));
}

TEST(algorithms, a_name_that_is_not_there_is_refused_with_those_that_are) {
  const request asked = request_of(collective::allreduce, shape::uniform(2, 2), 1, 0, false);
  EXPECT_EQ(algorithm_of(asked, "rabenseifner").name, "rabenseifner");
  EXPECT_THAT(
      [&] { algorithm_of(asked, "star"); },
      ThrowsMessage<std::invalid_argument>(HasSubstr("no algorithm 'star' of allreduce; there are multi_object_")));
  EXPECT_THAT([&] { algorithm_of(asked, "ring"); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("only for commutative operations")));
  request in_place = request_of(collective::alltoall, shape::uniform(2, 2), 1);
  in_place.in_place = true;
  EXPECT_THAT([&] { algorithm_of(in_place, "pairwise"); },
              ThrowsMessage<std::invalid_argument>("pairwise of alltoall does not work in place"));
}

TEST(parts, of_elements_cover_all_and_split_none) {
  for (const std::uint64_t elements : {0, 1, 2, 7, 64, 1000})
    for (const int parts : {1, 2, 3, 16, 100}) {
      std::uint64_t at = 0;
      for (int i = 0; i < parts; ++i) {
        const byte_range part = part_of(elements * 12, 12, i, parts);
        ASSERT_EQ(part.begin, at);
        ASSERT_EQ(part.bytes() % 12, 0u);
        ASSERT_LE(part.bytes() / 12, elements / static_cast<std::uint64_t>(parts) + 1);
        at = part.end;
      }
      ASSERT_EQ(at, elements * 12);
    }
}

TEST(ready_steps, begin_when_all_that_they_depend_on_has_ended) {
  const request asked = request_of(collective::broadcast, shape::uniform(1, 1), 1);
  plan_builder to(asked, asked.hosts, 0);
  const step_id a = to.copy(to.own(buffer::input), to.own(buffer::scratch), 4, {});
  const step_id b = to.copy(to.own(buffer::input), to.own(buffer::scratch, 4), 4, no_step);
  const step_id c = to.join({a, b});
  to.signal(0, to.new_counter(), {c, a});
  const plan made = to.finish();
  ready_steps progress(made);
  std::vector<std::uint32_t> ready;
  progress.begin(ready);
  EXPECT_THAT(ready, ElementsAre(0, 1));
  ready.clear();
  progress.ended(1, ready);
  EXPECT_THAT(ready, IsEmpty());
  progress.ended(0, ready);
  EXPECT_THAT(ready, ElementsAre(2));
  progress.ended(2, ready);
  EXPECT_THAT(ready, ElementsAre(2, 3));
  EXPECT_FALSE(progress.all_ended());
  progress.ended(3, ready);
  EXPECT_TRUE(progress.all_ended());
}

TEST(plan_builder, joins_only_where_there_is_more_than_one_step) {
  const request asked = request_of(collective::barrier, shape::uniform(1, 1), 0);
  plan_builder to(asked, asked.hosts, 0);
  EXPECT_EQ(to.join({}), no_step);
  const step_id a = to.signal(0, to.new_counter(), {});
  EXPECT_EQ(to.join({no_step, a, a}), a);
  EXPECT_EQ(to.host_barrier(a), a) << "of one rank";
  EXPECT_EQ(to.finish().steps.size(), 1u);
}

TEST(plan_text, says_whose_buffer_it_is_where_it_is_not_the_ranks_own) {
  const request asked = request_of(collective::gather, shape::uniform(1, 2), 2);
  plan_builder to(asked, asked.hosts, 1);
  const step_id a = to.copy(to.own(buffer::input), to.leaders(buffer::output, 8), 8, {});
  to.reduce(step_kind::reduce_left, to.leaders(buffer::output), to.own(buffer::scratch), 8, a);
  const plan made = to.finish();
  EXPECT_EQ(text_of(made, 0), "copy 8 bytes of input 0 to output 8 of rank 0");
  EXPECT_EQ(text_of(made, 1), "reduce 8 bytes: scratch 0 = output 0 of rank 0 op it");
}

// Every host is reached once, from a host that has been reached before, and ranges become smaller by the radix.
TEST(host_tree, reaches_every_host_in_the_least_rounds) {
  for (int hosts = 1; hosts <= 70; ++hosts)
    for (const int senders : {1, 2, 3, 5, 16})
      for (const int head : {0, hosts / 3, hosts - 1}) {
        std::vector<int> reached_at(static_cast<std::size_t>(hosts), -1);
        int edges = 0;
        for (int host = 0; host < hosts; ++host) {
          const tree_position here = position_in_tree(hosts, head, host, senders);
          ASSERT_EQ(here.has_parent, host != head);
          ASSERT_EQ(here.levels, rounds_of_radix(hosts, senders + 1));
          if (here.has_parent) reached_at[static_cast<std::size_t>(host)] = static_cast<int>(here.parent.level);
          for (const tree_edge& each : here.children) {
            ++edges;
            ASSERT_LT(each.level, here.levels);
            ASSERT_LT(each.sender, senders);
            const tree_position child = position_in_tree(hosts, head, each.child, senders);
            ASSERT_EQ(child.parent.parent, host);
            ASSERT_EQ(child.parent.sender, each.sender);
            ASSERT_EQ(child.parent.first, each.first);
            ASSERT_EQ(child.parent.last, each.last);
          }
        }
        ASSERT_EQ(edges, hosts - 1);
        for (int host = 0; host < hosts; ++host)
          if (host != head) {
            const int parent = position_in_tree(hosts, head, host, senders).parent.parent;
            ASSERT_LT(reached_at[static_cast<std::size_t>(parent)], reached_at[static_cast<std::size_t>(host)]);
          }
      }
}

}  // namespace
}  // namespace tri::coll
