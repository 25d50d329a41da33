// The runner itself: what is wrong must be found, and what is right must pass with all its schedules run.
#include "explore/interleavings.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <functional>
#include <new>
#include <random>
#include <set>
#include <vector>

#include "explore/of_functions.hpp"

namespace tri::explore {
namespace {

struct shared {
  std::atomic<std::uint32_t> word{0};
  std::atomic<std::uint32_t> other{0};
  std::uint64_t plain = 0;
  char lock = 0;  // its address
};

using body = of_functions<shared>::body;

interleavings run(
    std::vector<body> bodies, body at_end = [](shared&) {}) {
  of_functions<shared> all(std::move(bodies), std::move(at_end));
  return run_all(all);
}

TEST(interleavings, counts_each_order_of_dependent_steps_once) {
  const auto add = [](shared& all) { all.word.fetch_add(1, std::memory_order_relaxed); };
  const interleavings two = run({add, add});
  EXPECT_EQ(two.fault, "");
  EXPECT_TRUE(two.complete);
  EXPECT_EQ(two.runs, 2u);
  EXPECT_EQ(run({add, add, add}).runs, 6u);
  const auto add_to_other = [](shared& all) { all.other.fetch_add(1, std::memory_order_relaxed); };
  EXPECT_EQ(run({add, add_to_other}).runs, 1u);
  EXPECT_EQ(run({add, add, add_to_other}).runs, 2u);
  const auto look = [](shared& all) { static_cast<void>(all.word.load(std::memory_order_relaxed)); };
  EXPECT_EQ(run({look, look, look}).runs, 1u);
  EXPECT_EQ(run({add, look, look}).runs, 4u);
}

// All values that two reads and two writes can lead to, one by one.
TEST(interleavings, finds_an_update_that_is_lost) {
  const auto add = [](shared& all) {
    all.word.store(all.word.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  };
  const interleavings result = run({add, add}, [](shared& all) { check(all.word.load() == 2, "one was lost"); });
  EXPECT_EQ(result.fault, "one was lost");
  EXPECT_FALSE(result.schedule.empty());
}

TEST(interleavings, store_buffering_has_three_outcomes_in_this_order) {
  std::vector<std::uint32_t> seen;
  std::uint32_t left = 0;
  std::uint32_t right = 0;
  of_functions<shared> all({[&](shared& at) {
                              at.word.store(1);
                              left = at.other.load();
                            },
                            [&](shared& at) {
                              at.other.store(1);
                              right = at.word.load();
                            }},
                           [&](shared&) { seen.push_back(left * 2 + right); });
  EXPECT_TRUE(run_all(all).complete);
  EXPECT_THAT(seen, testing::UnorderedElementsAre(1u, 2u, 3u));
}

interleavings hand_over(std::memory_order publish, std::memory_order look) {
  return run({[=](shared& all) {
                all.plain = 7;
                all.word.store(1, publish);
              },
              [=](shared& all) {
                if (all.word.load(look) == 1) check(all.plain == 7, "not there");
              }});
}
TEST(interleavings, orders_that_promise_too_little_are_faults) {
  EXPECT_EQ(hand_over(std::memory_order_release, std::memory_order_acquire).fault, "");
  EXPECT_THAT(hand_over(std::memory_order_relaxed, std::memory_order_acquire).fault,
              testing::HasSubstr("nothing orders the two"));
  EXPECT_THAT(hand_over(std::memory_order_release, std::memory_order_relaxed).fault,
              testing::HasSubstr("nothing orders the two"));
}

TEST(interleavings, an_addition_in_between_carries_on_what_was_released) {
  EXPECT_EQ(run({[](shared& all) {
                   all.plain = 7;
                   all.word.fetch_add(1, std::memory_order_release);
                 },
                 [](shared& all) { all.word.fetch_add(2, std::memory_order_relaxed); },
                 [](shared& all) {
                   if ((all.word.load(std::memory_order_acquire) & 1) != 0) check(all.plain == 7, "not there");
                 }})
                .fault,
            "");
}

TEST(interleavings, finds_use_after_release) {
  const interleavings result = run({[](shared& all) {
                                      void* const block = watched_allocate(8);
                                      all.plain = reinterpret_cast<std::uint64_t>(block);
                                      all.word.store(1, std::memory_order_release);
                                      watched_release(block);
                                    },
                                    [](shared& all) {
                                      if (all.word.load(std::memory_order_acquire) == 1)
                                        *reinterpret_cast<std::uint32_t*>(all.plain) = 3;
                                    }});
  EXPECT_NE(result.fault, "");
}

TEST(interleavings, waits_end_when_the_word_is_written_and_a_look_for_ever_is_found) {
  const auto wait = [](shared& all) {
    while (all.word.load(std::memory_order_acquire) == 0) {
    }
    check(all.plain == 7, "not there");
  };
  EXPECT_EQ(run({wait,
                 [](shared& all) {
                   all.plain = 7;
                   all.word.store(1, std::memory_order_release);
                 }})
                .fault,
            "");
  EXPECT_EQ(run({wait, [](shared&) {}}).fault, "agent 0 looks at a word for ever");
}

TEST(interleavings, locks_exclude_and_order) {
  const auto add = [](shared& all) {
    acquire(&all.other);
    ++all.plain;
    release(&all.other);
  };
  const interleavings result = run({add, add, add}, [](shared& all) { check(all.plain == 3, "one was lost"); });
  EXPECT_EQ(result.fault, "");
  EXPECT_EQ(result.runs, 6u);
  EXPECT_THAT(run({add, [](shared& all) { ++all.plain; }}).fault, testing::HasSubstr("nothing orders the two"));
  EXPECT_EQ(run({[](shared& all) {
                   acquire(&all.word);
                   acquire(&all.other);
                   release(&all.other);
                   release(&all.word);
                 },
                 [](shared& all) {
                   acquire(&all.other);
                   acquire(&all.word);
                   release(&all.word);
                   release(&all.other);
                 }})
                .fault,
            "agent 0 waits for a lock for ever, agent 1 waits for a lock for ever");
}

TEST(interleavings, tries_of_a_lock_succeed_and_fail) {
  std::vector<int> seen;
  int taken = 0;
  of_functions<shared> all({[](shared& at) {
                              acquire(&at.word);
                              release(&at.word);
                            },
                            [&](shared& at) {
                              taken = try_acquire(&at.word) ? 1 : 0;
                              if (taken == 1) release(&at.word);
                            }},
                           [&](shared&) { seen.push_back(taken); });
  EXPECT_TRUE(run_all(all).complete);
  EXPECT_THAT(seen, testing::UnorderedElementsAre(0, 1, 1));
}

// Random little programs on two words and a lock: what can come of them, with the reduction and without.
class random_program : public scenario {
 public:
  random_program(std::uint32_t seed, int agents, int steps) : random_(seed) {
    for (int agent = 0; agent < agents; ++agent) {
      programs_.emplace_back();
      // Never twice the same: one that looks again and again at a word waits for a change.
      for (int step = 0; step < steps; ++step) {
        unsigned what = random_() % 8;
        if (step > 0 && what == programs_.back().back()) what = (what + 2) % 8;
        programs_.back().push_back(what);
      }
    }
  }
  int agents() const override { return static_cast<int>(programs_.size()); }
  void begin() override {
    shared_ = new (watched_allocate(sizeof(shared))) shared;
    seen_.assign(programs_.size(), 1);
  }
  void run(int agent) override {
    std::uint32_t& seen = seen_[static_cast<std::size_t>(agent)];
    for (const unsigned what : programs_[static_cast<std::size_t>(agent)]) {
      std::atomic<std::uint32_t>& word = (what & 1) != 0 ? shared_->word : shared_->other;
      switch (what >> 1) {
        case 0:
          seen = seen * 31 + word.load();
          break;
        case 1:
          word.store(seen);
          break;
        case 2:
          seen = seen * 31 + word.fetch_add(1);
          break;
        default:
          if ((what & 1) != 0)
            acquire(&shared_->lock);
          else if (!try_acquire(&shared_->lock))
            break;
          seen = seen * 31 + static_cast<std::uint32_t>(++shared_->plain);
          release(&shared_->lock);
      }
    }
  }
  void end() override {
    std::vector<std::uint32_t> outcome = seen_;
    outcome.push_back(shared_->word.load());
    outcome.push_back(shared_->other.load());
    outcomes.insert(outcome);
  }
  std::set<std::vector<std::uint32_t>> outcomes;

 private:
  std::mt19937 random_;
  std::vector<std::vector<unsigned>> programs_;
  std::vector<std::uint32_t> seen_;
  shared* shared_ = nullptr;
};

TEST(interleavings, the_reduction_loses_no_outcome) {
  std::uint64_t runs = 0;
  std::uint64_t unreduced_runs = 0;
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    random_program reduced(seed, seed % 2 == 0 ? 2 : 3, seed % 2 == 0 ? 3 : 2);
    random_program whole = reduced;
    const interleavings result = run_all(reduced);
    const interleavings of_whole = run_all(whole, {.reduces = false});
    ASSERT_TRUE(result.complete && of_whole.complete) << seed;
    ASSERT_EQ(reduced.outcomes, whole.outcomes) << "seed " << seed;
    runs += result.runs;
    unreduced_runs += of_whole.runs;
  }
  EXPECT_LT(runs * 10, unreduced_runs);
}

}  // namespace
}  // namespace tri::explore
