// Loops whose iterations are fetched (K69, K72, K92) and sequences of them without barriers (K73).
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <new>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "schedules/loop_sequence.hpp"
#include "schedules/worksharing_loop.hpp"

namespace {
std::atomic<std::uint64_t> allocations{0};
}  // namespace

// noinline: g++ would see malloc beside operator delete, or operator new beside free, and warn of a mismatch.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);  // relaxed: a count
  if (void* const memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

using namespace tri::schedules;
using tri::board::chunk_span;
using tri::board::participant_range;
using tri::board::range_of;
using tri::board::share_of;

// Block and own dynamic part behind it; neighbours steal.
loop_layout staggered(std::uint64_t items, std::uint32_t participants, std::uint64_t chunk, double fraction) {
  loop_layout layout;
  layout.items = items;
  layout.chunk = chunk;
  layout.steal = tri::board::steal_order::neighbours;
  layout.owner.shift = 1;
  layout.thief.shift = 2;
  for (std::uint32_t each = 0; each < participants; ++each) {
    const chunk_span range = range_of(layout.chunks(), each, participants);
    layout.ranges.push_back({range.first, range.last, share_of(range.count(), tri::board::fraction_q32(fraction)), 0});
  }
  return layout;
}

// Blocks, then a pool for the rest.
loop_layout hybrid(std::uint64_t items, std::uint32_t participants, std::uint64_t chunk, double fraction) {
  loop_layout layout;
  layout.items = items;
  layout.chunk = chunk;
  const std::uint32_t blocks = share_of(layout.chunks(), tri::board::fraction_q32(fraction));
  for (std::uint32_t each = 0; each < participants; ++each) {
    const chunk_span range = range_of(blocks, each, participants);
    layout.ranges.push_back({range.first, range.last, range.count(), range.count()});
  }
  layout.pool = {blocks, layout.chunks()};
  layout.pool_step = 2;
  return layout;
}

// Chunks of unequal size in a shuffled order.
loop_layout shuffled(std::uint64_t items, std::uint32_t participants, std::uint32_t seed) {
  std::mt19937 random(seed);
  loop_layout layout = staggered(items, participants, 1, 0.3);
  layout.bounds.push_back(0);
  while (layout.bounds.back() < items) {
    layout.bounds.push_back(std::min<std::uint64_t>(items, layout.bounds.back() + 1 + random() % 5));
  }
  for (std::uint32_t chunk = 0; chunk < layout.chunks(); ++chunk) layout.order.push_back(chunk);
  std::shuffle(layout.order.begin(), layout.order.end(), random);
  for (std::uint32_t each = 0; each < participants; ++each) {
    const chunk_span range = range_of(layout.chunks(), each, participants);
    layout.ranges[each] = {range.first, range.last, range.count() / 3, 0};
  }
  return layout;
}

struct shape {
  std::string name;
  std::function<loop_layout(std::uint64_t items, std::uint32_t participants)> make;
};
const std::vector<shape>& shapes() {
  static const std::vector<shape> all{
      {"staggered", [](auto items, auto participants) { return staggered(items, participants, 1, 0.5); }},
      {"staggered, chunks of 7", [](auto items, auto participants) { return staggered(items, participants, 7, 0.8); }},
      {"all stealable", [](auto items, auto participants) { return staggered(items, participants, 3, 0.0); }},
      {"all static", [](auto items, auto participants) { return staggered(items, participants, 1, 1.0); }},
      {"hybrid", [](auto items, auto participants) { return hybrid(items, participants, 2, 0.5); }},
      {"dynamic", [](auto items, auto participants) { return hybrid(items, participants, 1, 0.0); }},
      {"shuffled", [](auto items, auto participants) { return shuffled(items, participants, 5); }},
  };
  return all;
}

// What others than its owner may take of a layout.
bool may_be_taken_by_others(const loop_layout& layout) {
  return !layout.pool.empty() || std::ranges::any_of(layout.ranges, [](const participant_range& range) {
    return range.kept != range.last - range.first;
  });
}
// Whose range the chunk of an item lies in; nobody's where it is the pool's, or where chunks are not in their order.
std::optional<std::uint32_t> owner_of(const loop_layout& layout, std::uint64_t item) {
  if (!layout.in_order()) return std::nullopt;
  for (std::uint32_t each = 0; each < layout.ranges.size(); ++each) {
    const participant_range& range = layout.ranges[each];
    if (range.first < range.last && item >= layout.first_item(range.first) && item < layout.last_item(range.last - 1))
      return each;
  }
  return std::nullopt;
}
// How often participants met: chunks of a range that was another's, the last chunk among them, and participants that
// came to the end and found the last chunk taken.
struct meetings {
  std::uint64_t stolen = 0;
  std::uint64_t last_stolen = 0;
  std::uint64_t last_taken_before = 0;

  void count(const loop_layout& layout, std::uint32_t participant, const item_span& got) {
    const std::optional<std::uint32_t> owner = owner_of(layout, got.first);
    if (!owner || *owner == participant) return;
    ++stolen;
    if (got.last == layout.items) ++last_stolen;
  }
};

TEST(worksharing_loop, every_iteration_comes_once_in_any_order_of_requests) {
  std::mt19937 random(1);
  for (const shape& each : shapes()) {
    meetings met;
    for (const std::uint32_t participants : {1u, 2u, 3u, 5u, 8u}) {
      for (const std::uint64_t items : {0u, 1u, 2u, 7u, 100u, 1001u}) {
        worksharing_loop loop;
        loop.arm(each.make(items, participants));
        for (int execution = 0; execution < 3; ++execution) {
          if (execution > 0) loop.arm_again();
          std::vector<int> ran(items, 0);
          std::vector<fetch_position> positions;
          std::vector<std::uint32_t> going;
          for (std::uint32_t participant = 0; participant < participants; ++participant) {
            positions.emplace_back(loop, participant);
            going.push_back(participant);
          }
          int lasts = 0;
          while (!going.empty()) {
            const std::size_t which = random() % going.size();
            fetch_position& position = positions[going[which]];
            const item_span got = position.next();
            if (got.empty()) {
              EXPECT_TRUE(position.next().empty());
              met.last_taken_before += lasts > 0 ? 1 : 0;
              going.erase(going.begin() + static_cast<std::ptrdiff_t>(which));
              continue;
            }
            met.count(loop.layout(), going[which], got);
            ASSERT_LE(got.last, items);
            for (std::uint64_t item = got.first; item < got.last; ++item) ++ran[item];
            EXPECT_EQ(position.was_last(), got.last == items) << each.name;
            lasts += position.was_last() ? 1 : 0;
          }
          EXPECT_EQ(lasts, items > 0 ? 1 : 0);
          EXPECT_EQ(ran, std::vector<int>(items, 1)) << each.name << ", " << participants << " participants";
        }
      }
    }
    EXPECT_GT(met.last_taken_before, 100u) << each.name;
    const loop_layout layout = each.make(100, 3);
    if (!layout.in_order() || !layout.pool.empty()) continue;
    EXPECT_EQ(met.stolen > 50, may_be_taken_by_others(layout)) << each.name << ": " << met.stolen;
    EXPECT_EQ(met.last_stolen > 5, may_be_taken_by_others(layout)) << each.name << ": " << met.last_stolen;
  }
}

TEST(worksharing_loop, the_last_iteration_is_the_last_that_its_participant_runs) {
  for (const shape& each : shapes()) {
    for (std::uint32_t alone = 0; alone < 3; ++alone) {  // runs everything that it may, before the others come
      worksharing_loop loop;
      loop.arm(each.make(100, 3));
      for (std::uint32_t turn = 0; turn < 3; ++turn) {
        fetch_position position(loop, (alone + turn) % 3);
        bool last = false;
        for (item_span got = position.next(); !got.empty(); got = position.next()) {
          EXPECT_FALSE(last) << each.name;
          last = position.was_last();
        }
      }
    }
  }
}

// Iterations may wait for the last one, so nobody keeps it back while it runs others.
TEST(worksharing_loop, a_participant_that_finds_nothing_left_leaves_no_iteration_that_could_begin) {
  std::mt19937 random(3);
  for (const shape& each : shapes()) {
    meetings met;
    int tried = 0;
    for (int trial = 0; trial < 200; ++trial) {
      const std::uint32_t participants = 2 + random() % 4;
      const std::uint64_t items = 1 + random() % 60;
      loop_layout layout = each.make(items, participants);
      layout.pool_step = 1;  // what is claimed together is run by one participant in any case
      const participant_range& end = layout.ranges.back();
      if (layout.pool.empty() && end.kept == end.last - end.first) continue;  // its owner's alone, who is sure to come
      ++tried;
      worksharing_loop loop;
      loop.arm(std::move(layout));
      std::vector<fetch_position> positions;
      for (std::uint32_t each_one = 0; each_one < participants; ++each_one) positions.emplace_back(loop, each_one);
      bool handed_out = false;
      std::vector<bool> ended(participants, false);
      for (std::uint32_t left = participants; left > 0;) {
        const auto which = static_cast<std::uint32_t>(random() % participants);
        if (ended[which]) continue;
        const item_span got = positions[which].next();
        if (got.last == items) handed_out = true;
        if (!got.empty()) {
          met.count(loop.layout(), which, got);
          continue;
        }
        ended[which] = true;
        --left;
        ++met.last_taken_before;
        EXPECT_TRUE(handed_out) << each.name;
      }
    }
    const loop_layout layout = each.make(100, 3);
    EXPECT_EQ(tried > 100, may_be_taken_by_others(layout)) << each.name << ": " << tried;
    if (!may_be_taken_by_others(layout)) continue;
    EXPECT_GT(met.last_taken_before, 200u) << each.name;
    if (!layout.in_order() || !layout.pool.empty()) continue;
    EXPECT_GT(met.last_stolen, 10u) << each.name;
  }
}

TEST(worksharing_loop, as_many_iterations_as_participants_are_one_for_each) {
  std::mt19937 random(4);
  int tried = 0;
  meetings met;
  for (const shape& each : shapes()) {
    for (const std::uint32_t participants : {2u, 3u, 4u, 8u}) {
      for (int trial = 0; trial < 50; ++trial) {
        loop_layout layout = each.make(participants, participants);
        layout.pool_step = 1;
        if (layout.chunks() != participants) continue;
        std::vector<std::uint32_t> arrival(participants);
        for (std::uint32_t place = 0; place < participants; ++place) arrival[place] = place;
        std::shuffle(arrival.begin(), arrival.end(), random);
        ++tried;
        worksharing_loop loop;
        loop.arm(std::move(layout));
        for (const std::uint32_t participant : arrival) {
          fetch_position position(loop, participant);
          const item_span got = position.next();
          met.count(loop.layout(), participant, got);
          EXPECT_EQ(got.last - got.first, 1u) << each.name << ", " << participants << " participants";
        }
      }
    }
  }
  EXPECT_GT(tried, 500) << "layouts with one chunk for each";
  EXPECT_GT(met.last_stolen, 10u) << "the owner of the last one came when it was taken";
}

TEST(worksharing_loop, the_static_part_is_one_chunk_and_the_rest_shrinks) {
  worksharing_loop loop;
  loop.arm(staggered(1000, 2, 1, 0.5));
  fetch_position position(loop, 0);
  std::vector<std::uint64_t> sizes;
  for (item_span got = position.next(); !got.empty() && got.last <= 500; got = position.next()) {
    sizes.push_back(got.last - got.first);
  }
  EXPECT_EQ(sizes, (std::vector<std::uint64_t>{250, 125, 62, 31, 16, 8, 4, 2, 1, 1}));
}

TEST(worksharing_loop, what_a_participant_keeps_is_not_stolen_before_it_comes) {
  worksharing_loop loop;
  loop_layout layout = staggered(100, 2, 1, 0.0);
  layout.ranges[1].kept = 20;
  loop.arm(std::move(layout));
  fetch_position early(loop, 0);
  std::uint64_t count = 0;
  for (item_span got = early.next(); !got.empty(); got = early.next()) count += got.last - got.first;
  EXPECT_EQ(count, 80u);
  fetch_position late(loop, 1);
  count = 0;
  for (item_span got = late.next(); !got.empty(); got = late.next()) count += got.last - got.first;
  EXPECT_EQ(count, 20u);
}

// Ticks as they would be: participant 1 takes three times as long for an iteration.
TEST(worksharing_loop, a_measured_execution_knows_what_each_participant_took) {
  worksharing_loop loop;
  loop.arm(staggered(1000, 2, 1, 0.5));
  EXPECT_EQ(loop.measurement(), nullptr);
  loop.arm_again();
  loop.measure(100);
  worksharing_measurement* const measured = loop.measurement();
  ASSERT_NE(measured, nullptr);
  fetch_position positions[2] = {{loop, 0}, {loop, 1}};
  std::uint64_t now[2] = {100, 100};
  std::uint64_t ran[2] = {0, 0};
  bool going[2] = {true, true};
  while (going[0] || going[1]) {
    const int who = going[0] && (!going[1] || now[0] <= now[1]) ? 0 : 1;
    EXPECT_FALSE(measured->complete());
    const item_span got = positions[who].next_at(now[who]);
    going[who] = !got.empty();
    ran[who] += got.last - got.first;
    now[who] += (got.last - got.first) * (who == 0 ? 1u : 3u);
  }
  ASSERT_TRUE(measured->complete());
  const loop_times& times = measured->times();
  EXPECT_EQ(ran[0] + ran[1], 1000u);
  EXPECT_EQ(times.participants()[0].busy, ran[0]);
  EXPECT_EQ(times.participants()[1].busy, 3 * ran[1]);
  EXPECT_EQ(times.participants()[0].first_iterations, 250u);
  EXPECT_EQ(times.participants()[1].first_iteration, 500u);
  EXPECT_EQ(times.participants()[1].first_ticks, 750u);
  EXPECT_EQ(measured->elapsed(), std::max(now[0], now[1]) - 100);
  loop.arm_again();
  EXPECT_EQ(loop.measurement(), nullptr) << "this execution is not measured";
}

// Whoever leaves without having asked until nothing was left (a cancelled loop) leaves it incomplete.
TEST(worksharing_loop, a_measured_execution_that_somebody_left_is_not_complete) {
  worksharing_loop loop;
  loop.arm(staggered(10, 2, 1, 0.5));
  loop.measure(0);
  fetch_position stays(loop, 0);
  fetch_position leaves(loop, 1);
  EXPECT_FALSE(leaves.next_at(1).empty());
  while (!stays.next_at(2).empty()) {
  }
  worksharing_measurement* const measured = loop.measurement();
  ASSERT_NE(measured, nullptr);
  EXPECT_FALSE(measured->complete());
}

TEST(worksharing_loop, the_end_of_a_block_that_is_too_short_to_steal_stays_with_its_owner) {
  loop_layout layout = staggered(100, 2, 1, 0.0);
  layout.thief.shift = 1;
  layout.least = 10;
  worksharing_loop loop;
  loop.arm(std::move(layout));
  fetch_position thief(loop, 0);
  std::uint64_t count = 0;
  for (item_span got = thief.next(); !got.empty(); got = thief.next()) count += got.last - got.first;
  fetch_position owner(loop, 1);
  std::uint64_t rest = 0;
  for (item_span got = owner.next(); !got.empty(); got = owner.next()) rest += got.last - got.first;
  EXPECT_EQ(count + rest, 100u);
  EXPECT_GT(rest, 0u);
  EXPECT_LT(rest, 10u);
}

TEST(worksharing_loop, a_layout_without_participants_is_refused) {
  worksharing_loop loop;
  EXPECT_THROW(loop.arm(loop_layout{}), std::invalid_argument);
  loop_layout crowd;
  crowd.ranges.resize(most_worksharing_threads + 1);
  try {
    loop.arm(std::move(crowd));
    FAIL();
  } catch (const std::invalid_argument& problem) {
    EXPECT_STREQ(problem.what(), "loop: the layout has ranges for 65536 participants; it must be 1 to 65535");
  }
}

// A team of threads going through `loops` loops of different sizes; each counts what it ran. `between(thread, loop)`
// stands for the body.
class sequence_run {
 public:
  sequence_run(std::uint32_t threads, std::uint32_t loops) : threads_(threads), left_(threads), ran_(loops) {
    for (std::uint32_t loop = 0; loop < loops; ++loop) ran_[loop] = std::vector<std::atomic<int>>(items_of(loop));
  }
  static std::uint64_t items_of(std::uint32_t loop) { return loop % 7 * 11 % 40; }

  template <class Between>
  void thread(loop_sequence& sequence, std::uint32_t participant, std::uint32_t first, std::uint32_t last,
              Between&& between) {
    loop_sequence::position here;
    for (std::uint32_t loop = first; loop < last; ++loop) {
      worksharing_loop& entered = sequence.enter(
          here,
          [&] {
            return loop_key{&ran_[loop % 7], items_of(loop), 1, 0, threads_};
          },
          [&](worksharing_loop& record, const loop_key& key, held_before held) {
            if (held == held_before::same_key)
              record.arm_again();
            else
              record.arm(shapes()[loop % 7].make(key.items, threads_));
          });
      fetch_position position(entered, participant);
      between(participant, loop);
      meetings met;
      for (item_span got = position.next(); !got.empty(); got = position.next()) {
        met.count(entered.layout(), participant, got);
        // relaxed: joined before they are read
        for (std::uint64_t item = got.first; item < got.last; ++item) {
          ran_[loop][item].fetch_add(1, std::memory_order_relaxed);
        }
      }
      // relaxed: as above
      stolen_.fetch_add(met.stolen, std::memory_order_relaxed);
      last_stolen_.fetch_add(met.last_stolen, std::memory_order_relaxed);
      left_[participant].store(loop + 1, std::memory_order_release);  // pairs: sequence_run.left
    }
  }
  /// Until all others have left this loop: what may be stolen from this participant has been.
  void wait_until_others_left(std::uint32_t participant, std::uint32_t loop) const {
    for (std::uint32_t other = 0; other < threads_; ++other)
      while (other != participant && left_[other].load(std::memory_order_acquire) <= loop)  // pairs: sequence_run.left
        std::this_thread::yield();
  }
  std::uint64_t stolen() const { return stolen_.load(); }
  std::uint64_t last_stolen() const { return last_stolen_.load(); }
  void check() const {
    for (std::size_t loop = 0; loop < ran_.size(); ++loop)
      for (const std::atomic<int>& count : ran_[loop]) ASSERT_EQ(count.load(), 1) << "loop " << loop;
  }

 private:
  std::uint32_t threads_;
  std::atomic<std::uint64_t> stolen_{0};
  std::atomic<std::uint64_t> last_stolen_{0};
  std::vector<std::atomic<std::uint32_t>> left_;  // of each participant: loops that it has left
  std::vector<std::vector<std::atomic<int>>> ran_;
};

TEST(loop_sequence, ten_thousand_loops_back_to_back_with_random_delays) {  // K73
  constexpr std::uint32_t loops = 10000;
  for (const std::uint32_t threads : {1u, 2u, 3u, 5u}) {
    sequence_run run(threads, loops);
    loop_sequence sequence;
    std::vector<std::thread> team;
    for (std::uint32_t participant = 0; participant < threads; ++participant) {
      team.emplace_back([&, participant] {
        std::mt19937 random(participant + 1);
        run.thread(sequence, participant, 0, loops, [&](std::uint32_t, std::uint32_t loop) {
          // Now and then all of the last participant's share is stolen, in each shape of loop.
          if (participant + 1 == threads && loop % 500 == 1) run.wait_until_others_left(participant, loop);
          const auto chance = static_cast<std::uint32_t>(random() % 200);
          if (chance == 0) std::this_thread::yield();
          if (chance == 1) std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));
          for (std::uint32_t spin = 0; spin < chance; ++spin) asm volatile("");
        });
      });
    }
    for (std::thread& each : team) each.join();
    run.check();
    EXPECT_EQ(run.stolen() > 0, threads > 1);
    EXPECT_EQ(run.last_stolen() > 0, threads > 1);
  }
}

TEST(loop_sequence, a_participant_may_be_any_number_of_loops_ahead) {
  constexpr std::uint32_t loops = 300;
  sequence_run run(3, loops);
  loop_sequence sequence;
  std::atomic<bool> ahead_is_done{false};
  std::vector<std::thread> team;
  for (std::uint32_t participant = 0; participant < 3; ++participant) {
    team.emplace_back([&, participant] {
      run.thread(sequence, participant, 0, loops, [&](std::uint32_t who, std::uint32_t loop) {
        if (who == 0) return;
        while (loop == 5 && !ahead_is_done.load()) std::this_thread::yield();  // would deadlock if 0 had to wait
      });
      if (participant == 0) ahead_is_done.store(true);
    });
  }
  for (std::thread& each : team) each.join();
  run.check();
  EXPECT_GE(sequence.records(), loops - 6);
  // All that may be taken of the others was, in six of seven loops.
  EXPECT_GT(run.stolen(), loops);
  EXPECT_GT(run.last_stolen(), loops / 7);
}

TEST(loop_sequence, a_team_that_keeps_together_needs_few_records_and_no_memory) {
  constexpr std::uint32_t loops = 7 * 40;
  sequence_run run(1, loops);
  loop_sequence sequence;
  run.thread(sequence, 0, 0, 14, [](std::uint32_t, std::uint32_t) {});
  sequence.restart();
  const std::uint64_t before = allocations.load();
  for (std::uint32_t first = 14; first < loops; first += 7) {
    run.thread(sequence, 0, first, first + 7, [](std::uint32_t, std::uint32_t) {});
    sequence.restart();
  }
  EXPECT_EQ(allocations.load(), before);
  EXPECT_EQ(sequence.records(), 7u);
  run.check();
}

TEST(loop_sequence, a_loop_whose_length_changes_keeps_its_record) {
  loop_sequence sequence;
  std::vector<held_before> held;
  const auto run = [&](const void* site, std::uint64_t items) {
    loop_sequence::position here;
    sequence.enter(
        here,
        [&] {
          return loop_key{site, items, 1, 0, 1};
        },
        [&](worksharing_loop& record, const loop_key& key, held_before before) {
          held.push_back(before);
          record.arm(staggered(key.items, 1, 1, 0.5));
        });
    sequence.restart();
  };
  int one = 0, two = 0;
  run(&one, 10);
  run(&one, 9);
  run(&two, 9);
  run(&one, 9);
  run(&one, 8);
  EXPECT_EQ(held, (std::vector{held_before::another_loop, held_before::same_loop, held_before::another_loop,
                               held_before::same_key, held_before::same_loop}));
  EXPECT_EQ(sequence.records(), 2u);
}

TEST(loop_sequence, restart_forgets_who_was_inside) {
  loop_sequence sequence;
  for (int round = 0; round < 1000; ++round) {
    for (int participant = 0; participant < 3; ++participant) {
      loop_sequence::position here;  // each enters one loop and never leaves it
      worksharing_loop& loop = sequence.enter(
          here,
          [] {
            return loop_key{nullptr, 10, 1, 0, 3};
          },
          [](worksharing_loop& record, const loop_key& key, held_before) {
            record.arm(staggered(key.items, 3, 1, 0.5));
          });
      EXPECT_EQ(loop.layout().items, 10u);
    }
    sequence.restart();
  }
  EXPECT_EQ(sequence.records(), 1u);
}

}  // namespace
