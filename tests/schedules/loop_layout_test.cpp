// Layouts of loops, each run with the board's own claiming code in an order that the test says.
#include "schedules/loop_layout.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <stdexcept>

#include "layout_runner.hpp"

namespace tri::schedules {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

loop_layout laid_out(const char* text, std::uint64_t items, std::uint32_t participants,
                     const layout_inputs& known = {}) {
  return layout_of(parse_schedule(text), items, participants, known);
}
std::uint64_t sum_of(const std::vector<std::uint64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}
std::vector<std::uint64_t> after(const std::vector<std::uint64_t>& values, std::ptrdiff_t count) {
  return {values.begin() + count, values.end()};
}
bool falls(const std::vector<std::uint64_t>& values) { return std::is_sorted(values.rbegin(), values.rend()); }

// Every kind and parameter, any participants, items and order of events: each iteration once, and the board agrees.
TEST(layout, every_iteration_exactly_once) {  // K02
  const char* const texts[] = {"static",
                               "static,1",
                               "static,16",
                               "dynamic",
                               "dynamic,3",
                               "guided",
                               "guided,5",
                               "trapezoid",
                               "trapezoid,4",
                               "factoring",
                               "factoring,2",
                               "hybrid,0",
                               "hybrid,0.3",
                               "hybrid,0.9,3",
                               "hybrid,1",
                               "hybrid,0.5,sizes=skewed",
                               "hybrid,0.7,weights=on",
                               "tasklets,0.5",
                               "tasklets,0,count=5,sizes=skewed",
                               "tasklets,1",
                               "tasklets,0.5,tags=off,queues=2",
                               "tasklets,0.2,tags=off,queues=64",
                               "weighted",
                               "weighted-tasklets,0.5",
                               "staggered,0",
                               "staggered,0.3,3",
                               "staggered,1",
                               "staggered,0.5,keep=0.5",
                               "staggered,0.5,keep=1",
                               "staggered,0.5,ends=clip",
                               "staggered,0.5,weights=on,sizes=skewed",
                               "static-hybrid",
                               "slack",
                               "slack,sizes=skewed,count=100",
                               "combined",
                               "combined,weights=on,chunk=2",
                               "automatic"};
  std::mt19937 engine(2);
  const auto random = [&] { return static_cast<std::uint32_t>(engine()); };
  int layouts = 0;
  for (const char* text : texts) {
    for (const std::uint32_t participants : {1u, 2u, 3u, 4u, 6u, 7u, 16u}) {
      for (const std::uint64_t items : {0u, 1u, 2u, 5u, 15u, 100u, 1001u}) {
        std::vector<double> weights(participants);
        for (double& weight : weights) weight = static_cast<double>(random() % 5);
        std::vector<std::uint32_t> owners(32);
        for (std::uint32_t& owner : owners) owner = random() % 5 == 0 ? no_owner : random() % (participants + 2);
        layout_inputs known;
        known.dynamic_fraction = static_cast<double>(random() % 11) / 10;
        if (random() % 3 != 0) known.weights = weights;
        if (random() % 3 != 0) known.last_owners = owners;
        const loop_layout layout = laid_out(text, items, participants, known);
        for (const bool owners_come : {true, false}) {
          layout_runner runner(layout, owners_come);
          const std::uint32_t absent = owners_come ? participants : random() % participants;
          for (int step = 0; step < 20; ++step) {
            if (const std::uint32_t who = random() % participants; who != absent) runner.step(who);
          }
          // A participant that came takes all that it may; one that never comes leaves its range to the others.
          for (std::uint32_t who = 0; who < participants; ++who) {
            if (who != absent) runner.finish(who);
          }
          if (absent < participants && participants == 1) {
            runner.finish(absent);
          }
          ASSERT_THAT(runner.runs(), Each(1))
              << text << " of " << items << " by " << participants << " without " << absent;
          ++layouts;
        }
      }
    }
  }
  EXPECT_EQ(layouts, static_cast<int>(std::size(texts)) * 7 * 7 * 2);
}

TEST(layout, static_blocks_are_contiguous_and_differ_by_one) {  // K03
  for (const std::uint32_t participants : {1u, 2u, 3u, 7u, 64u}) {
    for (const std::uint64_t items : {0u, 1u, 63u, 64u, 1001u}) {
      const loop_layout layout = laid_out("static", items, participants);
      layout_runner first(layout);
      first.in_turn();
      layout_runner again(layout);
      for (std::uint32_t index = participants; index-- > 0;) again.finish(index);
      EXPECT_EQ(first.owners(), again.owners()) << "the same map whoever comes first";
      EXPECT_EQ(first.claims, std::min<std::uint64_t>(items, participants)) << "one claim each";
      const std::vector<std::uint32_t> owners = first.owners();
      EXPECT_TRUE(std::is_sorted(owners.begin(), owners.end()));
      for (const std::uint64_t length : first.lengths()) {
        EXPECT_TRUE(length == items / participants || length == items / participants + 1);
      }
    }
  }
}

TEST(layout, static_with_a_chunk_is_dealt_out_in_turn) {  // K03
  const loop_layout layout = laid_out("static,10", 75, 3);
  layout_runner dealt(layout);
  dealt.in_turn();
  EXPECT_THAT(dealt.blocks, ElementsAre(executed_block{0, 0, 10}, executed_block{0, 30, 40}, executed_block{0, 60, 70},
                                        executed_block{1, 10, 20}, executed_block{1, 40, 50}, executed_block{1, 70, 75},
                                        executed_block{2, 20, 30}, executed_block{2, 50, 60}));
  EXPECT_EQ(dealt.claims, 3u);
  EXPECT_THAT(layout.order, IsEmpty()) << "computed, so that long loops need no table";
  const loop_layout single = laid_out("static,10", 75, 1);
  layout_runner alone(single);
  alone.in_turn();
  EXPECT_THAT(alone.blocks, ElementsAre(executed_block{0, 0, 75}));
}

TEST(layout, dynamic_takes_items_by_chunk_claims) {  // K04
  for (const std::uint64_t chunk : {1u, 3u, 7u, 1000u, 5000u}) {
    const loop_layout layout = layout_of(parse_schedule("dynamic," + std::to_string(chunk)), 1000, 4);
    layout_runner runner(layout);
    runner.in_turn();
    EXPECT_EQ(runner.claims, (1000 + chunk - 1) / chunk);
    EXPECT_THAT(runner.runs(), Each(1));
  }
  EXPECT_EQ(laid_out("dynamic", 12800, 2).pool_step, 100u) << "n / (64 p)";
  EXPECT_EQ(laid_out("dynamic", 5, 2).pool_step, 1u);
}

TEST(layout, guided_trapezoid_and_factoring_shrink) {  // K04
  EXPECT_THAT(guided_sizes(100, 4, 1), ElementsAre(25, 19, 14, 11, 8, 6, 5, 3, 3, 2, 1, 1, 1, 1));
  EXPECT_THAT(guided_sizes(100, 4, 10), ElementsAre(25, 19, 14, 11, 10, 10, 10, 1));
  EXPECT_THAT(factoring_sizes(100, 2, 1), ElementsAre(25, 25, 13, 13, 6, 6, 3, 3, 2, 2, 1, 1));
  EXPECT_THAT(trapezoid_sizes(100, 2, 1), ElementsAre(25, 22, 19, 15, 12, 7));
  for (const auto rule : {guided_sizes, trapezoid_sizes, factoring_sizes}) {
    for (const std::uint32_t participants : {1u, 2u, 5u, 64u}) {
      for (const std::uint64_t items :
           {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{999}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
        for (const std::uint64_t least : {std::uint64_t{1}, std::uint64_t{10}, items / 3 + 1, items + (items == 0)}) {
          const std::vector<std::uint64_t> sizes = rule(items, participants, least);
          ASSERT_EQ(sum_of(sizes), items);
          ASSERT_TRUE(falls(sizes)) << items << " by " << participants << " least " << least;
          for (std::size_t index = 0; index + 1 < sizes.size(); ++index) ASSERT_GE(sizes[index], least);
        }
      }
    }
  }
  const loop_layout layout = laid_out("guided", 100, 4);
  layout_runner runner(layout);
  runner.in_turn();
  EXPECT_THAT(runner.lengths(), ElementsAreArray(guided_sizes(100, 4, 1))) << "claims in this order, whoever comes";
  EXPECT_EQ(runner.claims, 14u);
}

TEST(layout, hybrid_splits_by_the_fraction) {  // K05, K08
  const loop_layout layout = laid_out("hybrid,0.7,1", 1000, 4);
  layout_runner runner(layout);
  runner.in_turn();
  std::uint64_t dealt_out = 0;
  for (std::uint32_t index = 0; index < 4; ++index) {
    EXPECT_EQ(runner.blocks[index], (executed_block{index, index * 175u, (index + 1) * 175u}));
    dealt_out += runner.blocks[index].last - runner.blocks[index].first;
  }
  EXPECT_EQ(dealt_out, 700u);
  EXPECT_EQ(runner.claims, 4 + 300u);
  const std::vector<std::uint32_t> owners = runner.owners();
  for (std::uint64_t item = 0; item < 700; ++item) ASSERT_EQ(owners[item], item / 175);
  EXPECT_EQ(laid_out("half", 1000, 4).pool, (board::chunk_span{500, 1000}));
}

TEST(layout, no_barrier_between_the_parts) {  // K06
  const loop_layout layout = laid_out("hybrid,0.5,10", 100, 2);
  layout_runner runner(layout);
  runner.step(0);    // participant 0 is inside its static part ...
  runner.finish(1);  // ... and 1 runs its own and all of the rest
  EXPECT_EQ(runner.items_by(0), 25u);
  EXPECT_EQ(runner.items_by(1), 75u);
  EXPECT_FALSE(runner.step(0));
}

TEST(layout, tasklets_are_visible_with_range_and_owner) {  // K14, K17
  for (const std::uint32_t count : {16u, 32u, 64u, 128u}) {
    const loop_layout layout = layout_of(parse_schedule("tasklets,0.5,count=" + std::to_string(count)), 1024, 4);
    EXPECT_EQ(layout.tasklets, count);
    EXPECT_EQ(layout.first_tasklet, 4u);
    for (std::uint32_t task = 0; task < count; ++task) {
      const std::uint32_t chunk = layout.first_tasklet + task;
      EXPECT_EQ(layout.first_item(chunk), 512 + task * (512 / count));
      EXPECT_EQ(layout.last_item(chunk), 512 + (task + 1) * (512 / count));
    }
    layout_runner runner(layout);
    runner.in_turn();
    EXPECT_EQ(runner.claims, 4 + count);
  }
  EXPECT_EQ(laid_out("tasklets,0.5,count=64", 20, 4).tasklets, 10u) << "never an empty one";
}

TEST(layout, skewed_tasklets) {  // K18
  EXPECT_THAT(skewed_sizes(192, 28),
              ElementsAre(16, 16, 16, 16, 8, 8, 8, 8, 8, 8, 8, 8, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4));
  EXPECT_EQ(skewed_sizes(192, 32), skewed_sizes(192, 28)) << "as many levels as fit";
  for (const std::uint64_t items : {0u, 1u, 3u, 17u, 191u, 1000u, 100003u}) {
    for (const std::uint32_t count : {1u, 3u, 4u, 12u, 28u, 60u, 1000u}) {
      const std::vector<std::uint64_t> sizes = skewed_sizes(items, count);
      EXPECT_EQ(sum_of(sizes), items);
      EXPECT_TRUE(falls(sizes)) << items << " in " << count;
      EXPECT_LE(sizes.size(), std::min<std::uint64_t>(items, count));
      EXPECT_TRUE(sizes.empty() || sizes.back() > 0);
    }
  }
  const loop_layout layout = laid_out("tasklets,0.5,sizes=skewed,count=28", 384, 4);
  layout_runner runner(layout);
  runner.in_turn();
  EXPECT_EQ(after(runner.lengths(), 4), skewed_sizes(192, 28)) << "the pool hands out the big ones first";
}

// Twelve steps with jittered starts; with tags the owners of one step are the tags of the next.
double retained(bool tags) {
  std::mt19937 random(15);
  std::vector<std::uint32_t> last(32, no_owner);
  int same = 0;
  int counted = 0;
  for (int step = 0; step < 12; ++step) {
    layout_inputs known;
    if (tags) known.last_owners = last;
    const loop_layout layout = laid_out(tags ? "tasklets,0" : "tasklets,0,tags=off", 320, 4, known);
    layout_runner runner(layout);
    std::vector<double> clock(4);
    for (double& time : clock) time = static_cast<double>(random() % 100) / 100.0;  // late by up to one tasklet
    for (std::vector<bool> out(4);;) {
      std::uint32_t who = 4;
      for (std::uint32_t index = 0; index < 4; ++index) {
        if (!out[index] && (who == 4 || clock[index] < clock[who])) who = index;
      }
      if (who == 4) break;
      out[who] = !runner.step(who);
      clock[who] += 1.0 + static_cast<double>(random() % 100) / 2000.0;
    }
    const std::vector<std::uint32_t> owners = runner.owners();
    for (std::uint32_t task = 0; task < 32; ++task) {
      const std::uint32_t owner = owners[layout.first_item(layout.first_tasklet + task)];
      if (step > 0) {
        ++counted;
        same += last[task] == owner;
      }
      last[task] = owner;
    }
  }
  return static_cast<double>(same) / counted;
}

TEST(layout, tags_keep_tasklets_where_they_were) {  // K15
  EXPECT_GT(retained(true), 0.8);
  EXPECT_LT(retained(false), 0.6);
}

TEST(layout, tagged_tasklets_of_a_delayed_participant_go_to_others) {  // K16
  std::vector<std::uint32_t> owners(32);
  for (std::uint32_t task = 0; task < 32; ++task) owners[task] = task % 4;
  layout_inputs known;
  known.last_owners = owners;
  const loop_layout layout = laid_out("tasklets,0.5", 640, 4, known);
  EXPECT_TRUE(layout.pool.empty());
  layout_runner runner(layout);
  runner.step(2);  // is held in its static part
  for (const std::uint32_t who : {0u, 1u, 3u}) {
    for (int step = 0; step < 9; ++step) runner.step(who);  // its block and its eight tasklets
    EXPECT_EQ(runner.items_by(who), 80u + 80u);
  }
  runner.finish(0);
  EXPECT_EQ(runner.items_by(2), 80u);
  EXPECT_THAT(runner.runs(), Each(1));
  const std::vector<std::uint32_t> ran = runner.owners();
  for (std::uint32_t task = 0; task < 32; ++task) EXPECT_EQ(ran[320 + task * 10], task % 4 == 2 ? 0 : task % 4);
}

TEST(layout, tags_of_unknown_participants_or_of_another_cut_mean_nothing) {  // K16, K99 (layout)
  const std::vector<std::uint32_t> owners(32, 9);
  layout_inputs known;
  known.last_owners = owners;
  EXPECT_EQ(laid_out("tasklets,0", 320, 4, known).pool.count(), 32u);
  const std::vector<std::uint32_t> other(16, 1);
  known.last_owners = other;
  EXPECT_EQ(laid_out("tasklets,0", 320, 4, known).pool.count(), 32u);
}

TEST(layout, two_queues_are_both_drained) {  // K19
  const loop_layout layout = laid_out("tasklets,0.5,count=32,tags=off,queues=2", 640, 4);
  std::vector<std::uint32_t> held;
  for (const board::participant_range& range : layout.ranges) held.push_back(range.last - range.first - range.kept);
  EXPECT_THAT(held, ElementsAre(0, 16, 0, 16));
  layout_runner runner(layout);
  runner.in_turn();
  EXPECT_EQ(runner.claims, 4 + 32u);
  EXPECT_THAT(runner.runs(), Each(1));
  layout_runner nearest(layout);
  for (const std::uint32_t who : {0u, 2u}) {
    nearest.step(who);
    nearest.step(who);
  }
  EXPECT_EQ(nearest.blocks[1].first, 320u + 15 * 10) << "participant 0 takes from its neighbour 1";
}

TEST(layout, weighted_blocks) {  // K39 (layout)
  const std::vector weights{1.0, 1.0, 1.0, 0.5};
  layout_inputs known;
  known.weights = weights;
  const loop_layout layout = laid_out("weighted", 1000, 4, known);
  layout_runner runner(layout);
  runner.in_turn();
  EXPECT_THAT(runner.lengths(), ElementsAre(286, 286, 285, 143));
  const loop_layout both = laid_out("weighted-tasklets,0.7", 1000, 4, known);
  layout_runner second(both);
  for (std::uint32_t who = 0; who < 4; ++who) second.step(who);
  EXPECT_THAT(second.lengths(), ElementsAre(200, 200, 200, 100));
  EXPECT_EQ(both.tasklets, 32u);
}

TEST(layout, staggered_bands) {  // K67
  for (const std::uint32_t participants : {1u, 2u, 3u, 7u}) {
    for (const double fraction : {0.0, 0.3, 0.5, 1.0}) {
      const std::uint64_t items = 1001;
      schedule which = parse_schedule("staggered,chunk=4");
      which.static_fraction = fraction;
      const loop_layout layout = layout_of(which, items, participants);
      for (std::uint32_t index = 0; index < participants; ++index) {
        const board::participant_range& range = layout.ranges[index];
        EXPECT_EQ(range.first, items * index / participants);
        EXPECT_EQ(range.last, items * (index + 1) / participants);
        EXPECT_EQ(range.static_share,
                  static_cast<std::uint32_t>(std::llround(static_cast<double>(range.last - range.first) * fraction)));
        EXPECT_EQ(range.kept, range.static_share);
      }
      EXPECT_TRUE(layout.pool.empty());
      EXPECT_EQ(layout.owner.step, 4u);
    }
  }
  const loop_layout layout = laid_out("staggered,0.5,chunk=4", 32, 2);
  layout_runner runner(layout);
  runner.finish(0);
  EXPECT_THAT(std::vector(runner.blocks.begin(), runner.blocks.begin() + 3),
              ElementsAre(executed_block{0, 0, 8}, executed_block{0, 8, 12}, executed_block{0, 12, 16}))
      << "block, then the own dynamic part";
}

TEST(layout, staggered_in_lock_step_is_static) {  // K68
  const loop_layout bands = laid_out("staggered,0.5,chunk=4", 1000, 4);
  const loop_layout blocks = laid_out("static", 1000, 4);
  layout_runner first(bands);
  first.in_turn();
  layout_runner second(blocks);
  second.in_turn();
  EXPECT_EQ(first.owners(), second.owners());
}

// Whose band each theft came from, in order, by a thief whose own band is empty.
std::vector<std::uint32_t> victims(std::uint32_t thief, const std::vector<double>& weights, const char* text,
                                   std::uint64_t items) {
  layout_inputs known;
  known.weights = weights;
  const loop_layout layout = laid_out(text, items, static_cast<std::uint32_t>(weights.size()), known);
  layout_runner runner(layout);
  runner.finish(thief);
  std::vector<std::uint32_t> result;
  for (const executed_block& block : runner.blocks) {
    for (std::uint32_t index = 0; index < weights.size(); ++index) {
      if (block.first >= layout.ranges[index].first && block.first < layout.ranges[index].last) result.push_back(index);
    }
  }
  return result;
}

TEST(layout, neighbours_outward_the_fuller_one_first) {  // K70
  EXPECT_THAT(victims(2, {1, 1, 0, 1, 1, 1}, "staggered,0,chunk=1,weights=on", 5), ElementsAre(1, 3, 0, 4, 5));
  EXPECT_THAT(victims(2, {1, 1, 0, 2, 1, 1}, "staggered,0,chunk=1,weights=on", 6), ElementsAre(3, 1, 3, 0, 4, 5));
}

TEST(layout, neighbours_round_the_ring_or_clipped) {  // K71
  EXPECT_THAT(victims(0, {0, 1, 1, 1, 1, 1}, "staggered,0,chunk=1,weights=on", 5), ElementsAre(5, 1, 4, 2, 3))
      << "the left neighbour of the first is the last";
  EXPECT_THAT(victims(0, {0, 1, 1, 1, 1, 1}, "staggered,0,chunk=1,weights=on,ends=clip", 5),
              ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(victims(1, {1, 0, 1, 1, 1, 1}, "staggered,0,chunk=1,weights=on,ends=clip", 5),
              ElementsAre(0, 2, 3, 4, 5));
  EXPECT_THAT(victims(4, {1, 1, 1, 1, 0, 1}, "staggered,0,chunk=1,weights=on,ends=clip", 5),
              ElementsAre(3, 5, 2, 1, 0));
  EXPECT_THAT(victims(0, {1}, "staggered,0,chunk=1,weights=on", 2), ElementsAre(0, 0));
  EXPECT_THAT(victims(0, {1}, "staggered,0,chunk=1,weights=on,ends=clip", 2), ElementsAre(0, 0));
  EXPECT_THAT(victims(1, {1, 0}, "staggered,0,chunk=1,weights=on", 2), ElementsAre(0, 0));
  EXPECT_THAT(victims(1, {1, 0}, "staggered,0,chunk=1,weights=on,ends=clip", 2), ElementsAre(0, 0));
}

TEST(layout, one_chunk_is_stolen_at_a_time) {  // K72
  const std::vector weights{1.0, 0.0};
  layout_inputs known;
  known.weights = weights;
  const loop_layout layout = laid_out("staggered,0.5,chunk=4,weights=on", 32, 2, known);
  layout_runner runner(layout);
  runner.step(0);
  runner.finish(1);
  EXPECT_THAT(std::vector(runner.blocks.begin() + 1, runner.blocks.end()),
              ElementsAre(executed_block{1, 28, 32}, executed_block{1, 24, 28}, executed_block{1, 20, 24},
                          executed_block{1, 16, 20}))
      << "from the back, and nothing of the block of an owner that came";
}

TEST(layout, kept_parts_are_not_stolen) {  // K77
  std::vector<std::uint64_t> stolen;
  for (const char* text : {"staggered,0.5,chunk=2", "staggered,0.5,chunk=2,keep=0.25", "staggered,0.5,chunk=2,keep=0.5",
                           "staggered,0.5,chunk=2,keep=1"}) {
    const loop_layout layout = laid_out(text, 160, 2);
    layout_runner runner(layout);
    runner.step(0);    // participant 0 is in its static part of 40
    runner.finish(1);  // and 1 takes what it may
    stolen.push_back(runner.items_by(1) - 80);
    runner.finish(0);
    EXPECT_THAT(runner.runs(), Each(1));
  }
  EXPECT_THAT(stolen, ElementsAre(40, 30, 20, 0));
}

TEST(layout, the_model_sets_the_fraction_and_sizes_do_not_change_it) {  // K89, K88 (layout of combo)
  layout_inputs known;
  known.dynamic_fraction = 0.25;
  EXPECT_EQ(laid_out("static-hybrid", 1000, 4, known).pool, (board::chunk_span{750, 1000}));
  for (const char* text : {"slack", "slack,sizes=skewed"}) {
    const loop_layout layout = laid_out(text, 1000, 4, known);
    EXPECT_EQ(layout.first_item(layout.pool.first), 750u) << text;
  }
  for (const char* text : {"combined", "combined,sizes=skewed"}) {
    const loop_layout layout = laid_out(text, 1000, 4, known);
    for (const board::participant_range& range : layout.ranges) EXPECT_EQ(range.static_share, 188u) << text;
  }
  const loop_layout layout = laid_out("combined,sizes=skewed,chunk=2", 1000, 1, known);
  layout_runner runner(layout);
  runner.finish(0);
  const std::vector<std::uint64_t> later = after(runner.lengths(), 1);
  EXPECT_EQ(later.front(), 62u) << "a quarter of 250";
  EXPECT_TRUE(falls(later));
  EXPECT_EQ(laid_out("static-hybrid", 1000, 4).pool, (board::chunk_span{900, 1000})) << "a tenth at first";  // K56
}

TEST(layout, weights_and_staggering) {  // K98 (bands)
  const std::vector weights{2.0, 1.0, 1.0};
  layout_inputs known;
  known.weights = weights;
  const loop_layout layout = laid_out("staggered,0.5,chunk=1,weights=on", 400, 3, known);
  EXPECT_EQ(layout.ranges[0].last, 200u);
  EXPECT_EQ(layout.ranges[0].static_share, 100u);
  EXPECT_EQ(layout.ranges[1].last, 300u);
  layout_runner runner(layout);
  runner.in_turn();
  EXPECT_THAT(runner.runs(), Each(1));
}

TEST(layout, claim_numbers_fit_32_bits_in_the_longest_loops) {
  for (const char* text : {"static", "static,1", "dynamic,1", "dynamic", "dynamic,100000000000", "guided", "trapezoid",
                           "factoring", "hybrid,0.5,1", "tasklets,0.5", "staggered,0.5,1", "weighted", "combined"}) {
    for (const std::uint64_t items :
         {(std::uint64_t{1} << 32) - 2, std::uint64_t{1} << 32, (std::uint64_t{1} << 40) + 7, ~std::uint64_t{0}}) {
      layout_inputs known;
      known.claimers = 65535;
      const loop_layout layout = laid_out(text, items, 64, known);
      const board::task_spec task = task_of(layout);
      EXPECT_NO_THROW(board::check_task(task, {65535, 1})) << text << " " << items;
      EXPECT_EQ(layout.first_item(0), 0u);
      EXPECT_EQ(layout.last_item(layout.chunks() - 1), items) << text;
      for (const std::uint32_t number : {0u, 1u, layout.chunks() / 2, layout.chunks() - 2}) {
        EXPECT_EQ(layout.last_item(number), layout.first_item(number + 1)) << text << " " << items;
      }
    }
  }
}

TEST(layout, inputs_that_do_not_fit_are_refused) {
  const std::vector weights{1.0, 2.0};
  layout_inputs known;
  known.weights = weights;
  EXPECT_THAT([&] { laid_out("weighted", 10, 3, known); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("2 weights for 3 participants")));
  EXPECT_THAT([&] { laid_out("static", 10, 0); }, ThrowsMessage<std::invalid_argument>(HasSubstr("participants is 0")));
  known = {};
  known.dynamic_fraction = 1.5;
  EXPECT_THAT([&] { laid_out("slack", 10, 2, known); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("dynamic_fraction is 1.5")));
  schedule which;
  which.keep = 7;
  EXPECT_THROW(layout_of(which, 10, 2), std::invalid_argument);
}

}  // namespace
}  // namespace tri::schedules
