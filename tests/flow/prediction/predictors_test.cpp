// What stands on the detector: the rule that lets it rest, the graph, the prediction of whole messages, and the table
// that bounds them, each against a model that remembers everything.
#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <map>
#include <random>
#include <stdexcept>
#include <vector>

#include "flow/prediction/graph_predictor.hpp"
#include "flow/prediction/message_predictor.hpp"
#include "flow/prediction/period_predictor.hpp"
#include "flow/prediction/recent_table.hpp"

namespace {

using namespace tri::flow::prediction;

struct weak_hash {  // three chains only, so that chains have several keys
  std::size_t operator()(int key) const { return static_cast<std::size_t>(key) % 3; }
};

TEST(recent_table, forgets_the_one_used_longest_ago) {
  std::mt19937_64 random(7);
  for (const std::size_t capacity : {1U, 2U, 5U, 17U}) {
    recent_table<int, weak_hash> table(capacity);
    std::list<int> model;  // newest first
    std::map<int, std::uint16_t> slot_of;
    for (int step = 0; step < 5000; ++step) {
      const int key = static_cast<int>(random() % (2 * capacity));
      const bool known = std::find(model.begin(), model.end(), key) != model.end();
      ASSERT_EQ(table.find(key) != table.none, known);
      const auto place = table.use(key);
      ASSERT_EQ(place.fresh, !known);
      ASSERT_LT(place.where, capacity);
      ASSERT_EQ(table.key(place.where), key);
      if (known) {
        ASSERT_EQ(place.where, slot_of[key]);
        model.remove(key);
      } else if (model.size() == capacity) {
        ASSERT_EQ(place.where, slot_of[model.back()]);
        model.pop_back();
      }
      slot_of[key] = place.where;
      model.push_front(key);
      ASSERT_EQ(table.size(), model.size());
    }
  }
  EXPECT_THROW((recent_table<int, weak_hash>(0)), std::invalid_argument);
  EXPECT_THROW((recent_table<int, weak_hash>(65535)), std::invalid_argument);
}

// FA-04.
TEST(period_predictor, detector_rests_until_a_mismatch) {
  period_predictor predictor(period_rule::brief, 16, 16);
  const std::vector<symbol> pattern{1, 2, 1, 3, 3};
  std::size_t at = 0;
  const auto push_pattern = [&] { predictor.push(pattern[at++ % pattern.size()]); };
  for (int i = 0; i < 16 + 5; ++i) {
    ASSERT_FALSE(predictor.holding());
    push_pattern();
  }
  ASSERT_TRUE(predictor.holding());
  EXPECT_EQ(predictor.detector_pushes(), 21U);
  for (int i = 0; i < 1000; ++i) {
    for (int ahead = 1; ahead <= 12; ++ahead) {
      ASSERT_EQ(predictor.next(ahead), pattern[(at + static_cast<std::size_t>(ahead) - 1) % pattern.size()]);
    }
    push_pattern();
  }
  EXPECT_EQ(predictor.detector_pushes(), 21U) << "the detector ran while the period held";
  predictor.push(9);
  EXPECT_FALSE(predictor.holding());
  EXPECT_EQ(predictor.next(1), std::nullopt);
  EXPECT_EQ(predictor.detector_pushes(), 22U);
  // The wrong value is the first of the new history; the pattern after it has to fill a window behind its own first
  // run.
  int relearn = 0;
  while (!predictor.holding() && relearn < 100) {
    push_pattern();
    ++relearn;
  }
  EXPECT_EQ(relearn, 16 + 5);
  EXPECT_EQ(predictor.period(), 5);
  EXPECT_EQ(predictor.detector_pushes(), 22U + 21U);
}

// While the brief one holds, the full one would say the same; so resting loses nothing.
TEST(period_predictor, holds_only_what_the_full_detector_sees) {
  std::mt19937_64 random(99);
  std::uint64_t held = 0;
  std::uint64_t values = 0;
  for (int stream = 0; stream < 200; ++stream) {
    const int window = 2 + static_cast<int>(random() % 14);
    const int longest = 1 + static_cast<int>(random() % static_cast<std::uint64_t>(window));
    period_predictor full(period_rule::full, window, longest);
    period_predictor brief(period_rule::brief, window, longest);
    period_predictor early(period_rule::early, window, longest);
    std::vector<symbol> x;
    while (x.size() < 500) {
      const std::size_t period = 1 + random() % static_cast<std::uint64_t>(longest);
      const std::size_t stretch = 1 + random() % 120;
      for (std::size_t i = 0; i < stretch; ++i) {
        const bool copies = x.size() >= period && random() % 50 != 0;
        const symbol value = copies ? x[x.size() - period] : static_cast<symbol>(random() % 3);
        x.push_back(value);
        full.push(value);
        brief.push(value);
        early.push(value);
        ++values;
        ASSERT_FALSE(full.holding());
        ASSERT_EQ(early.holding(), brief.holding());
        if (!brief.holding()) continue;
        ++held;
        ASSERT_EQ(brief.period(), full.period());
        for (int ahead = 1; ahead <= 2 * longest; ++ahead) {
          ASSERT_EQ(brief.next(ahead), full.next(ahead));
          ASSERT_EQ(early.next(ahead), full.next(ahead));
        }
      }
    }
    ASSERT_EQ(full.detector_pushes(), x.size());
  }
  EXPECT_GT(held, values / 4);
  EXPECT_LT(held, values);
}

TEST(period_predictor, early_guesses_before_the_period_is_certain) {
  period_predictor early(period_rule::early, 64, 64);
  for (const int value : {5, 6, 7, 8, 5}) early.push(static_cast<symbol>(value));
  EXPECT_EQ(early.period(), 0);
  EXPECT_EQ(early.next(1), symbol{6});
  EXPECT_EQ(early.next(4), symbol{5});
  EXPECT_EQ(early.next(9), symbol{6});
}

// The graph with everything remembered.
class graph_model {
 public:
  void push(symbol value) {
    if (last_.size() == 3) {
      edge& followed = edges_[last_][value];
      ++followed.count;
      followed.latest = ++clock_;
      last_.erase(last_.begin());
    }
    last_.push_back(value);
  }
  std::optional<symbol> next(int ahead) const {
    if (last_.size() < 3) return std::nullopt;
    std::vector<symbol> at = last_;
    for (int step = 0; step < ahead; ++step) {
      const auto found = edges_.find(at);
      if (found == edges_.end()) return std::nullopt;
      const auto best = std::max_element(found->second.begin(), found->second.end(), [](const auto& a, const auto& b) {
        return std::pair(a.second.count, a.second.latest) < std::pair(b.second.count, b.second.latest);
      });
      at.erase(at.begin());
      at.push_back(best->first);
    }
    return at.back();
  }

 private:
  struct edge {
    int count = 0;
    int latest = 0;
  };
  std::vector<symbol> last_;
  std::map<std::vector<symbol>, std::map<symbol, edge>> edges_;
  int clock_ = 0;
};

TEST(graph_predictor, equals_the_model_that_remembers_everything) {
  std::mt19937_64 random(3);
  for (int stream = 0; stream < 60; ++stream) {
    const std::size_t alphabet = 1 + random() % 4;  // so that four edges and 64 states are all there can be
    graph_predictor graph(64);
    graph_model model;
    for (int i = 0; i < 600; ++i) {
      const symbol value = static_cast<symbol>(random() % (random() % 3 == 0 ? alphabet : 1 + alphabet / 2));
      graph.push(value);
      model.push(value);
      for (const int ahead : {1, 2, 5, 10}) ASSERT_EQ(graph.next(ahead), model.next(ahead)) << "value " << i;
    }
  }
}

TEST(graph_predictor, exact_on_distinct_values_blind_behind_a_run) {
  graph_predictor distinct(1024);
  for (int i = 0; i < 30 + 3; ++i) distinct.push(static_cast<symbol>(i % 30));
  for (int i = 33; i < 500; ++i) {
    for (int ahead = 1; ahead <= 10; ++ahead)
      ASSERT_EQ(distinct.next(ahead), static_cast<symbol>((i + ahead - 1) % 30));
    distinct.push(static_cast<symbol>(i % 30));
  }
  // FA-03's stream, 125 equal values and another: the other one is never predicted, neither at +1 nor at +10.
  graph_predictor behind_run(1024);
  int predicted = 0;
  for (int i = 0; i < 126 * 100; ++i) {
    const symbol value = i % 126 == 125 ? 1 : 0;
    if (value == 1 && behind_run.next(1) == symbol{1}) ++predicted;
    if ((i + 9) % 126 == 125 && behind_run.next(10) == symbol{1}) ++predicted;
    behind_run.push(value);
  }
  EXPECT_EQ(predicted, 0);
}

TEST(graph_predictor, stays_bounded_and_recovers_from_full_counts) {
  std::mt19937_64 random(11);
  graph_predictor graph(100);
  const std::size_t before = graph.memory_bytes();
  for (int i = 0; i < 20000; ++i) graph.push(static_cast<symbol>(random() % 1000));
  EXPECT_EQ(graph.states(), 100U);
  EXPECT_EQ(graph.memory_bytes(), before);
  // A fifth value of one state takes the place of the weakest edge; it can then become the strongest.
  graph_predictor fifth(16);
  const auto leave_zeroes_to = [&](symbol value, int times) {
    for (int i = 0; i < times; ++i) {
      for (const symbol it : {symbol{0}, symbol{0}, symbol{0}, value}) fifth.push(it);
    }
  };
  leave_zeroes_to(1, 5);
  for (symbol value = 2; value <= 5; ++value) leave_zeroes_to(value, 1);
  leave_zeroes_to(5, 6);
  for (int i = 0; i < 3; ++i) fifth.push(0);
  EXPECT_EQ(fifth.next(1), symbol{5});
  // A state that takes the place of another one starts without its edges: 6,7,8 that of 0,0,0.
  graph_predictor small(4);
  for (int i = 0; i < 20; ++i) small.push(0);
  for (const int value : {5, 6, 7, 8, 9, 6, 7, 8}) small.push(static_cast<symbol>(value));
  EXPECT_EQ(small.next(1), symbol{9});
  // Counts are halved at their end, so the strongest edge stays the strongest, and a change of the stream is learnt in
  // about as many values, not never.
  graph_predictor counted(16);
  for (int i = 0; i < 100; ++i) {
    for (const int value : {0, 0, 0, 1}) counted.push(static_cast<symbol>(value));
  }
  for (int i = 0; i < 200000; ++i) {
    counted.push(i % 100 == 99 ? 1 : 0);  // seldom: a count that begins again at 0 would be overtaken
    if (i <= 200 || i % 100 < 3 || i % 100 == 99) continue;
    ASSERT_EQ(counted.next(1), symbol{0}) << i;
  }
  int needed = 0;
  for (; needed < 200000; ++needed) {
    for (int i = 0; i < 3; ++i) counted.push(0);
    if (counted.next(1) == symbol{1}) break;
    counted.push(1);
  }
  EXPECT_LE(needed, 0x10000);
}

message_facts random_message(std::mt19937_64& random, std::uint64_t kinds) {
  return {.address = 0x1000 * (random() % kinds),
          .size = 8 * (random() % 3),
          .sender = static_cast<std::uint32_t>(random() % 4)};
}

// FA-06: a stream like that of BT on four processes: 7 buffers, 4 sizes, 3 senders, period 18.
TEST(message_predictor, all_three_facts_come_out_right) {
  std::vector<message_facts> pattern;
  for (std::uint64_t i = 0; i < 18; ++i) {
    const std::uint64_t tuple = (i * i + i / 5) % 7;
    pattern.push_back({.address = 0x7f0000000000 + 0x10000 * tuple,
                       .size = 3240 + 2560 * (tuple % 4),
                       .sender = static_cast<std::uint32_t>(tuple % 3)});
  }
  for (const auto kind :
       {predictor_kind::dpd, predictor_kind::shortdpd, predictor_kind::early, predictor_kind::graph}) {
    message_predictor predictor({.kind = kind});
    for (std::size_t i = 0; i < 2425; ++i) {
      predictor.push(pattern[i % 18]);
      const bool certain = predictor.period() != nullptr ? predictor.period()->period() == 18 : i >= 40;
      if (i == 280) {
        ASSERT_TRUE(certain) << name_of(kind);
      }
      if (!certain) continue;
      for (const std::size_t ahead : {1U, 10U}) {
        ASSERT_EQ(predictor.next(static_cast<int>(ahead)), pattern[(i + ahead) % 18]) << name_of(kind) << " +" << ahead;
      }
    }
  }
}

// Numbers that change hands must never make different messages look equal: with the fewest numbers allowed, the
// predictions are those of a predictor with a number for every message there is.
TEST(message_predictor, few_numbers_predict_as_well_as_many) {
  std::mt19937_64 random(12);
  for (int stream = 0; stream < 40; ++stream) {
    const int longest = 1 + static_cast<int>(random() % 12);
    const auto kind = stream % 3 == 0   ? predictor_kind::dpd
                      : stream % 3 == 1 ? predictor_kind::shortdpd
                                        : predictor_kind::early;
    message_predictor few(
        {.kind = kind, .window = 12, .longest_period = longest, .distinct = static_cast<std::size_t>(longest) + 1});
    message_predictor many({.kind = kind, .window = 12, .longest_period = longest, .distinct = 60000});
    std::vector<message_facts> x;
    int predicted = 0;
    for (int i = 0; i < 3000; ++i) {
      const std::size_t period = 1 + static_cast<std::size_t>(i / 100) % static_cast<std::size_t>(longest);
      const bool copies = x.size() > period && random() % 30 != 0 && i / 50 % 3 != 0;
      x.push_back(copies ? x[x.size() - period] : random_message(random, 40));
      few.push(x.back());
      many.push(x.back());
      for (const int ahead : {1, 3, 7}) ASSERT_EQ(few.next(ahead), many.next(ahead)) << "message " << i;
      if (few.next(1)) ++predicted;
    }
    EXPECT_GT(predicted, 300);
  }
}

TEST(message_predictor, memory_is_fixed_at_the_start) {
  std::mt19937_64 random(13);
  for (const auto kind :
       {predictor_kind::dpd, predictor_kind::shortdpd, predictor_kind::early, predictor_kind::graph}) {
    message_predictor predictor({.kind = kind});
    const std::size_t before = predictor.memory_bytes();
    for (int i = 0; i < 20000; ++i) predictor.push(random_message(random, 1'000'000));
    EXPECT_EQ(predictor.memory_bytes(), before);
    EXPECT_LE(before, kind == predictor_kind::graph ? 80U * 1024 : 40U * 1024) << name_of(kind);
  }
}

TEST(message_predictor, refuses_options_that_cannot_work) {
  EXPECT_THROW(message_predictor({.distinct = 256}), std::invalid_argument);
  EXPECT_NO_THROW(message_predictor({.distinct = 257}));
  EXPECT_THROW(message_predictor({.window = 16}), std::invalid_argument);
  EXPECT_THROW(message_predictor({.kind = predictor_kind::graph, .graph_states = 0}), std::invalid_argument);
  for (const auto kind :
       {predictor_kind::dpd, predictor_kind::shortdpd, predictor_kind::early, predictor_kind::graph}) {
    EXPECT_EQ(predictor_kind_of(name_of(kind)), kind);
  }
  EXPECT_THROW(predictor_kind_of("DPD"), std::invalid_argument);
}

}  // namespace
