// `trireme model`: waits by message and by closed form, and the messages of broadcasts (M54, M56).
#include <gmock/gmock.h>

#include <stdexcept>
#include <vector>

#include "model/broadcast_tree.hpp"
#include "model/waiting_time.hpp"

namespace tri::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// By hand: sends of 2 and receives of 10 in turns of one, a change costs 1.
TEST(waiting, of_a_few_messages) {
  const waits found = simulate_waits({2, 2, 2, 10, 1}, first_served::sends, 1, 1);
  // sends begin at 0 and 2 + 1 + 10 + 1 = 14, receives at 3 and 14 + 2 + 1 = 17
  EXPECT_DOUBLE_EQ(found.of_sends, 14);
  EXPECT_DOUBLE_EQ(found.of_receives, 20);
  EXPECT_DOUBLE_EQ(found.longest, 17);
}

TEST(waiting, of_what_is_left_when_the_other_kind_has_ended) {
  // sends at 0, 3, 4: the third without a change, since nothing else is left
  const waits found = simulate_waits({3, 1, 1, 0, 1}, first_served::sends, 1, 1);
  EXPECT_DOUBLE_EQ(found.of_sends, 0 + 3 + 4);
  EXPECT_DOUBLE_EQ(found.of_receives, 2);
  const waits no_sends = simulate_waits({0, 3, 1, 5, 9}, first_served::sends, 1, 1);
  EXPECT_DOUBLE_EQ(no_sends.of_receives, 15) << "no change is charged before the first turn";
}

TEST(waiting, closed_form_is_the_simulation) {
  int compared = 0;
  for (const std::int64_t sends : {6, 12, 60})
    for (const std::int64_t receives : {6, 12, 60, 120})
      for (const double send_cost : {0.5, 1.0, 4.0})
        for (const double receive_cost : {0.5, 1.0, 5.0})
          for (const double switch_cost : {0.0, 0.3, 2.0})
            for (const first_served first : {first_served::sends, first_served::receives})
              for (const std::int64_t rounds : {1, 2, 3, 6}) {
                const pending_messages pending{sends, receives, send_cost, receive_cost, switch_cost};
                const waits found = simulate_waits(pending, first, sends / rounds, receives / rounds);
                ASSERT_NEAR(total_wait(pending, first, static_cast<double>(rounds)), found.total(),
                            1e-6 * found.total())
                    << sends << ' ' << receives << ' ' << rounds;
                ++compared;
              }
  EXPECT_EQ(compared, 2592);
}

TEST(waiting, best_number_of_rounds_is_the_best_of_all) {
  for (const double receive_cost : {0.5, 2.0, 5.0, 50.0})
    for (const double switch_cost : {0.01, 0.3, 2.0, 1000.0})
      for (const first_served first : {first_served::sends, first_served::receives}) {
        const pending_messages pending{60, 120, 1, receive_cost, switch_cost};
        const std::int64_t best = best_rounds(pending, first);
        for (std::int64_t rounds = 1; rounds <= 60; ++rounds)
          EXPECT_LE(total_wait(pending, first, static_cast<double>(best)),
                    total_wait(pending, first, static_cast<double>(rounds)) * (1 + 1e-12))
              << best << " and " << rounds;
        if (first == first_served::sends && receive_cost >= 1) {
          EXPECT_EQ(best, 1) << "the cheap kind first: all of it";
        }
      }
  // sqrt(60 * 60 * 4 / (2 * 120 * 0.3)) = 14.1
  EXPECT_EQ(best_rounds({60, 60, 1, 5, 0.3}, first_served::receives), 14);
  EXPECT_EQ(best_rounds({60, 60, 1, 5, 0}, first_served::receives), 60) << "changes cost nothing";
}

// The source's example: serving the cheap kind first has the smaller sum.
TEST(waiting, cheap_messages_first) {
  const pending_messages pending{60, 60, 1, 5, 0.3};
  EXPECT_NEAR(total_wait(pending, first_served::sends, 1), 14238, 0.5);
  EXPECT_NEAR(simulate_waits(pending, first_served::receives, 4, 4).total(), 22422, 0.5);
}

// Mei 2012, table of broadcasts: binomial and with 2 or 4 children over PEs, and once to each host.
TEST(broadcast, counts_are_those_of_the_source) {
  struct row {
    int hosts, pes;
    std::int64_t binomial_between, binomial_inside, children_between, children_inside, hosts_between, hosts_inside;
  };
  const std::vector<row> rows{
      {128, 7, 303, 592, 889, 6, 127, 768},       {128, 11, 343, 1064, 1397, 10, 127, 1280},
      {128, 15, 375, 1544, 1905, 14, 127, 1792},  {256, 7, 607, 1184, 1785, 6, 255, 1536},
      {256, 11, 687, 2128, 2805, 10, 255, 2560},  {256, 15, 751, 3088, 3825, 14, 255, 3584},
      {512, 7, 1215, 2368, 3577, 6, 511, 3072},   {512, 11, 1375, 4256, 5621, 10, 511, 5120},
      {512, 15, 1503, 6176, 7665, 14, 511, 7168},
  };
  for (const row& each : rows) {
    const auto expect = [&](const char* tree, std::int64_t between, std::int64_t inside) {
      const broadcast_messages found = count_messages(parse_broadcast_tree(tree), each.hosts, each.pes);
      EXPECT_EQ(found.between_hosts, between) << tree << ' ' << each.hosts << ' ' << each.pes;
      EXPECT_EQ(found.inside_hosts, inside) << tree << ' ' << each.hosts << ' ' << each.pes;
    };
    expect("binomial", each.binomial_between, each.binomial_inside);
    expect("children,2", each.children_between, each.children_inside);
    expect("children,4", each.children_between, each.children_inside);
    expect("hosts,2", each.hosts_between, each.hosts_inside);
    expect("hosts", each.hosts_between, each.hosts_inside);
  }
}

TEST(broadcast, longest_way_and_busiest_pe) {
  const broadcast_messages binomial = count_messages(parse_broadcast_tree("binomial"), 16, 1);
  EXPECT_EQ(binomial.steps_between_hosts, 4);
  EXPECT_EQ(binomial.most_between_hosts, 4);
  const broadcast_messages hosts = count_messages(parse_broadcast_tree("hosts,4"), 21, 3);  // 1 + 4 + 16
  EXPECT_EQ(hosts.steps_between_hosts, 2);
  EXPECT_EQ(hosts.most_between_hosts, 4);
  const broadcast_messages alone = count_messages(parse_broadcast_tree("hosts,4"), 1, 1);
  EXPECT_EQ(alone.between_hosts + alone.inside_hosts, 0);
}

TEST(broadcast, unknown_trees_are_refused) {
  for (const char* wrong :
       {"", "k-ary", "binomial,2", "children,0", "hosts,", "hosts,2x", "hosts,-1", "children,99999999999"})
    EXPECT_THAT([&] { parse_broadcast_tree(wrong); },
                ThrowsMessage<std::invalid_argument>(HasSubstr("there are binomial, children,C and hosts,C")))
        << wrong;
  EXPECT_EQ(name_of(parse_broadcast_tree("hosts")), "hosts,4");
  EXPECT_EQ(name_of(parse_broadcast_tree("children,3")), "children,3");
}

}  // namespace
}  // namespace tri::tools
