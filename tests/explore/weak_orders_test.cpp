// What a schedule in which every load finds the last value does not show: old values, loops that give up, accesses of
// several sizes, sleeps that end early, who is woken, runs without an end. What is wrong must be found, and what is
// right must pass with all its schedules run.
#include <gmock/gmock.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <ctime>
#include <functional>
#include <new>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "arena/doorbell.hpp"
#include "explore/interleavings.hpp"
#include "explore/of_functions.hpp"

namespace tri::explore {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire_order = std::memory_order_acquire;
constexpr auto release_order = std::memory_order_release;
constexpr auto one_order = std::memory_order_seq_cst;

struct shared {
  std::array<std::atomic<std::uint32_t>, 4> word{};
  alignas(8) std::atomic<std::uint64_t> wide{0};
  std::uint64_t plain = 0;
  std::array<std::uint32_t, 4> saw{9, 9, 9, 9};
};
using body = of_functions<shared>::body;

constexpr exploration weak{.old_reads = 2};

interleavings run(
    const exploration& how, std::vector<body> each, body at_end = [](shared&) {}) {
  of_functions<shared> all(std::move(each), std::move(at_end));
  return run_all(all, how);
}
// The fault; no fault only where every schedule was run.
std::string fault_of(
    const exploration& how, std::vector<body> each, body at_end = [](shared&) {}) {
  const interleavings result = run(how, std::move(each), std::move(at_end));
  return result.fault.empty() && !result.complete ? "incomplete" : result.fault;
}

// ---- old values

const body not_both_missed = [](shared& all) { check(all.saw[0] != 0 || all.saw[1] != 0, "both missed each other"); };

// Two agents, each of which writes its word and then looks at the other's.
std::string store_buffering(std::memory_order store, std::memory_order load, std::memory_order fence0 = relaxed,
                            std::memory_order fence1 = relaxed) {
  const auto side = [=](std::size_t own, std::memory_order fence) {
    return [=](shared& all) {
      all.word[own].store(1, store);
      if (fence != relaxed) std::atomic_thread_fence(fence);
      all.saw[own] = all.word[1 - own].load(load);
    };
  };
  return fault_of(weak, {side(0, fence0), side(1, fence1)}, not_both_missed);
}

TEST(old_values, store_buffering_needs_one_order) {
  for (const auto store : {relaxed, release_order})
    for (const auto load : {relaxed, acquire_order}) EXPECT_EQ(store_buffering(store, load), "both missed each other");
  EXPECT_EQ(store_buffering(one_order, acquire_order), "both missed each other");
  EXPECT_EQ(store_buffering(release_order, one_order), "both missed each other");
  EXPECT_EQ(store_buffering(one_order, one_order), "");
}

TEST(old_values, fences_of_that_order_on_both_sides_are_enough_and_weaker_ones_are_not) {
  EXPECT_EQ(store_buffering(relaxed, relaxed, one_order, one_order), "");
  EXPECT_EQ(store_buffering(relaxed, relaxed, one_order), "both missed each other");
  const auto both = std::memory_order_acq_rel;
  EXPECT_EQ(store_buffering(relaxed, relaxed, both, both), "both missed each other");
}

// One side has a fence between relaxed accesses, the other seq_cst accesses ([atomics.order] 4).
TEST(old_values, a_fence_pairs_with_seq_cst_accesses) {
  const auto with_fence = [](std::memory_order look) {
    return [=](shared& all) {
      all.word[0].store(1, release_order);
      std::atomic_thread_fence(one_order);
      all.saw[0] = all.word[1].load(look);
    };
  };
  const auto without = [](std::memory_order mark, std::memory_order look) {
    return [=](shared& all) {
      all.word[1].fetch_or(1, mark);
      all.saw[1] = all.word[0].load(look);
    };
  };
  EXPECT_EQ(fault_of(weak, {with_fence(relaxed), without(one_order, one_order)}, not_both_missed), "");
  EXPECT_EQ(fault_of(weak, {with_fence(one_order), without(one_order, one_order)}, not_both_missed), "");
  EXPECT_EQ(fault_of(weak, {with_fence(one_order), without(one_order, acquire_order)}, not_both_missed),
            "both missed each other");
  EXPECT_EQ(fault_of(weak, {with_fence(one_order), without(std::memory_order_acq_rel, one_order)}, not_both_missed),
            "both missed each other");
}

// Changes of one word have an order of their own, and each acquires what the one before it released.
TEST(old_values, changes_of_the_same_word_need_no_one_order) {
  const auto side = [](std::size_t own) {
    return [=](shared& all) {
      all.word[own].store(1, relaxed);
      all.word[2].fetch_add(1, std::memory_order_acq_rel);
      all.saw[own] = all.word[1 - own].load(relaxed);
    };
  };
  EXPECT_EQ(fault_of(weak, {side(0), side(1)}, not_both_missed), "");
}

std::string message_passing(std::memory_order publish, std::memory_order look, bool with_fences = false) {
  return fault_of(weak, {[=](shared& all) {
                           all.word[0].store(7, relaxed);
                           if (with_fences) std::atomic_thread_fence(release_order);
                           all.word[1].store(1, publish);
                         },
                         [=](shared& all) {
                           if (all.word[1].load(look) == 0) return;
                           if (with_fences) std::atomic_thread_fence(acquire_order);
                           check(all.word[0].load(relaxed) == 7, "the mark overtook the message");
                         }});
}
TEST(old_values, a_mark_overtakes_its_message_unless_released_and_acquired) {
  EXPECT_EQ(message_passing(release_order, acquire_order), "");
  EXPECT_EQ(message_passing(relaxed, relaxed, true), "");
  EXPECT_EQ(message_passing(relaxed, acquire_order), "agent 1: the mark overtook the message");
  EXPECT_EQ(message_passing(release_order, relaxed), "agent 1: the mark overtook the message");
}

TEST(old_values, fences_order_plain_accesses) {
  const auto hand_over = [](bool first, bool second) {
    return fault_of({}, {[=](shared& all) {
                           all.plain = 7;
                           if (first) std::atomic_thread_fence(release_order);
                           all.word[0].store(1, relaxed);
                         },
                         [=](shared& all) {
                           if (all.word[0].load(relaxed) == 0) return;
                           if (second) std::atomic_thread_fence(acquire_order);
                           check(all.plain == 7, "not there");
                         }});
  };
  EXPECT_EQ(hand_over(true, true), "");
  EXPECT_THAT(hand_over(false, true), testing::HasSubstr("nothing orders the two"));
  EXPECT_THAT(hand_over(true, false), testing::HasSubstr("nothing orders the two"));
}

TEST(old_values, one_word_never_goes_back) {
  EXPECT_EQ(fault_of({.old_reads = 4}, {[](shared& all) {
                                          for (const std::uint32_t value : {1u, 2u, 3u})
                                            all.word[0].store(value, relaxed);
                                        },
                                        [](shared& all) {
                                          const std::uint32_t first = all.word[0].load(relaxed);
                                          check(all.word[0].load(relaxed) >= first, "went back");
                                        }}),
            "");
}

// Two readers that see two independent writes in different orders.
std::string independent_reads(std::memory_order order) {
  const auto writes = [=](std::size_t which) { return [=](shared& all) { all.word[which].store(1, order); }; };
  const auto reads = [=](std::size_t first) {
    return [=](shared& all) {
      const std::uint32_t one = all.word[first].load(order);
      all.saw[first] = one * 2 + all.word[1 - first].load(order);
    };
  };
  const auto at_end = [](shared& all) { check(all.saw[0] != 2 || all.saw[1] != 2, "two orders"); };
  return fault_of(weak, {writes(0), writes(1), reads(0), reads(1)}, at_end);
}
TEST(old_values, independent_writes_have_one_order_only_if_asked_for) {
  EXPECT_EQ(independent_reads(relaxed), "two orders");
  EXPECT_EQ(independent_reads(one_order), "");
}

// What can come of the little programs of two words: the same with the reduction and without.
class random_program : public scenario {
 public:
  explicit random_program(std::uint32_t seed) {
    for (std::size_t agent = 0; agent < 2; ++agent)
      for (std::size_t step = 0; step < 3; ++step) {
        seed = seed * 1664525 + 1013904223;
        program_[agent][step] = seed >> 16;
      }
  }
  int agents() const override { return 2; }
  void begin() override {
    shared_ = new (watched_allocate(sizeof(shared))) shared;
    saw_ = {1, 1};
  }
  void run(int agent) override {
    std::uint32_t& saw = saw_[static_cast<std::size_t>(agent)];
    for (const std::uint32_t what : program_[static_cast<std::size_t>(agent)]) {
      const auto which = static_cast<std::size_t>(what & 1);
      const bool strong = (what & 2) != 0;
      switch ((what >> 2) % 4) {
        case 0:
          saw = saw * 31 + shared_->word[which].load(strong ? one_order : relaxed);
          break;
        case 1:
          shared_->word[which].store(saw, strong ? one_order : release_order);
          break;
        case 2:
          std::atomic_thread_fence(one_order);
          break;
        default:
          saw = saw * 31 + shared_->word[which].exchange(saw, strong ? one_order : relaxed);
      }
    }
  }
  void end() override { outcomes.insert({saw_[0], saw_[1], shared_->word[0].load(), shared_->word[1].load()}); }
  std::set<std::array<std::uint32_t, 4>> outcomes;

 private:
  std::array<std::array<std::uint32_t, 3>, 2> program_{};
  std::array<std::uint32_t, 2> saw_{};
  shared* shared_ = nullptr;
};

TEST(old_values, the_reduction_loses_no_outcome) {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    random_program reduced(seed);
    random_program whole(seed);
    ASSERT_TRUE(run_all(reduced, weak).complete) << seed;
    ASSERT_TRUE(run_all(whole, {.old_reads = weak.old_reads, .reduces = false}).complete) << seed;
    ASSERT_EQ(reduced.outcomes, whole.outcomes) << "seed " << seed;
  }
}

// ---- loops

TEST(loops, one_that_gives_up_is_run_to_its_end) {
  for (const int limit : {3, 4, 100}) {
    const auto looks = [=](shared& all) {
      int vain = 0;
      while (vain < limit && all.word[0].load(acquire_order) == 0) ++vain;
      check(vain < limit, "gave up");
    };
    const body writes = [](shared& all) { all.word[0].store(1, release_order); };
    EXPECT_EQ(fault_of({}, {looks, writes}), "agent 0: gave up");
    EXPECT_EQ(fault_of({}, {writes, looks}), "agent 1: gave up");
    EXPECT_EQ(fault_of({.reduces = false}, {looks, writes}), "agent 0: gave up");
  }
}

// It gives up before another one is done with something that has to do with what follows.
TEST(loops, what_follows_giving_up_meets_the_others) {
  EXPECT_EQ(fault_of({}, {[](shared& all) {
                            for (int looks = 0; looks < 10; ++looks)
                              if (all.word[0].load(acquire_order) == 1) return;
                            check(all.word[1].load(relaxed) == 0, "between");
                          },
                          [](shared& all) {
                            all.word[1].store(1, relaxed);
                            all.word[0].store(1, release_order);
                          }}),
            "agent 0: between");
}

TEST(loops, with_other_accesses_between_the_looks) {
  EXPECT_EQ(fault_of({}, {[](shared& all) {
                            std::uint32_t looks = 0;
                            while (all.word[0].load(acquire_order) == 0 && looks < 4)
                              all.word[1].store(++looks, relaxed);
                            check(looks < 4, "gave up");
                          },
                          [](shared& all) { all.word[0].store(1, release_order); }}),
            "agent 0: gave up");
}

TEST(loops, one_that_never_gives_up_waits) {
  const body waits = [](shared& all) {
    while (all.word[0].load(acquire_order) == 0) {
    }
    check(all.plain == 7, "not there");
  };
  const body writes = [](shared& all) {
    all.plain = 7;
    all.word[0].store(1, release_order);
  };
  for (const exploration& how : {exploration{}, weak}) {
    EXPECT_EQ(fault_of(how, {waits, writes}), "");
    EXPECT_EQ(fault_of(how, {waits, waits, writes}), "");
    EXPECT_EQ(fault_of(how, {waits, [](shared&) {}}), "agent 0 looks at a word for ever");
  }
}

TEST(loops, one_that_looks_at_two_words_waits_for_either) {
  const body waits = [](shared& all) {
    while (all.word[0].load(acquire_order) == 0 && all.word[1].load(acquire_order) == 0) {
    }
  };
  EXPECT_EQ(fault_of({}, {waits, [](shared& all) { all.word[1].store(1, relaxed); }}), "");
  EXPECT_EQ(fault_of({}, {waits, [](shared&) {}}), "agent 0 looks at several words for ever");
}

// Two that are too polite: each takes its mark back when it sees the other's, and both do so again and again.
TEST(loops, everybody_going_on_and_nobody_getting_on_is_a_fault) {
  const auto polite = [](std::size_t own) {
    return [=](shared& all) {
      for (;;) {
        all.word[own].store(1, one_order);
        if (all.word[1 - own].load(one_order) == 0) break;
        all.word[own].store(0, one_order);
      }
    };
  };
  EXPECT_THAT(fault_of({}, {polite(0), polite(1)}), testing::StartsWith("no end after"));
}

// ---- sizes

body writes_half(std::size_t which) {
  return [=](shared& all) {
    auto* const halves = reinterpret_cast<std::atomic<std::uint32_t>*>(&all.wide);
    halves[which].store(1, relaxed);
  };
}
TEST(sizes, a_word_and_its_half_concern_each_other) {
  const body looks_at_all = [](shared& all) { check(all.wide.load(relaxed) == 0, "saw the half"); };
  const body looks_at_byte = [](shared& all) {
    check(reinterpret_cast<std::atomic<std::uint8_t>*>(&all.wide)[4].load(relaxed) == 0, "saw the byte");
  };
  EXPECT_EQ(fault_of({}, {looks_at_all, writes_half(1)}), "agent 0: saw the half");
  EXPECT_EQ(fault_of({}, {writes_half(1), looks_at_all}), "agent 1: saw the half");
  EXPECT_EQ(fault_of({}, {looks_at_byte, writes_half(1)}), "agent 0: saw the byte");
  EXPECT_EQ(fault_of({}, {looks_at_byte, writes_half(0)}), "");
}

TEST(sizes, halves_do_not_concern_each_other) {
  EXPECT_EQ(run({}, {writes_half(0), writes_half(1)}).runs, 1u);
  EXPECT_EQ(run({}, {writes_half(0), writes_half(0)}).runs, 2u);
}

TEST(sizes, a_wait_for_a_word_ends_when_half_of_it_is_written) {
  const body waits = [](shared& all) {
    while (all.wide.load(acquire_order) == 0) {
    }
  };
  EXPECT_EQ(fault_of({}, {waits, writes_half(1)}), "");
}

TEST(sizes, what_half_a_word_carries_is_acquired_with_the_word) {
  EXPECT_EQ(fault_of({}, {[](shared& all) {
                            all.plain = 7;
                            reinterpret_cast<std::atomic<std::uint32_t>*>(&all.wide)[1].store(1, release_order);
                          },
                          [](shared& all) {
                            if (all.wide.load(acquire_order) != 0) check(all.plain == 7, "not there");
                          }}),
            "");
}

// ---- sleeps

// A sleeper whose time is up when it is rung; what it does then must not take the ring for granted.
TEST(sleeps, the_time_ends_before_or_after_the_ring) {
  std::set<std::uint32_t> seen;
  const auto sleeps = [](shared& all) {
    const timespec limit{1, 0};
    all.saw[0] = 1;
    if (all.word[0].load(acquire_order) == 0) {
      syscall(SYS_futex, &all.word[0], FUTEX_WAIT, 0, &limit, nullptr, 0);
      all.saw[0] = 2 + all.word[0].load(acquire_order);
    }
  };
  const auto rings = [](shared& all) {
    all.word[0].store(1, release_order);
    syscall(SYS_futex, &all.word[0], FUTEX_WAKE, 1, nullptr, nullptr, 0);
  };
  const auto at_end = [&](shared& all) { seen.insert(all.saw[0]); };
  EXPECT_TRUE(run({}, {sleeps, rings}, at_end).complete);
  EXPECT_THAT(seen, testing::ElementsAre(1, 3));
  const interleavings result = run({.early_timeouts = 1}, {sleeps, rings}, at_end);
  EXPECT_TRUE(result.complete);
  EXPECT_THAT(seen, testing::ElementsAre(1, 2, 3));
  EXPECT_GT(result.timeouts, 0u);
}

TEST(sleeps, a_ring_for_one_wakes_any_of_those_who_sleep) {
  std::set<std::uint32_t> woken;
  const auto sleeps = [](std::size_t own) {
    return [=](shared& all) {
      all.word[2].fetch_add(1, relaxed);
      syscall(SYS_futex, &all.word[0], FUTEX_WAIT, 0, nullptr, nullptr, 0);
      std::uint32_t nobody = 0;
      all.word[1].compare_exchange_strong(nobody, static_cast<std::uint32_t>(own) + 1, relaxed);
      syscall(SYS_futex, &all.word[0], FUTEX_WAKE, 1, nullptr, nullptr, 0);
    };
  };
  const body rings = [](shared& all) {
    all.word[0].store(1, relaxed);
    syscall(SYS_futex, &all.word[0], FUTEX_WAKE, 1, nullptr, nullptr, 0);
  };
  const interleavings result =
      run({}, {sleeps(0), sleeps(1), rings}, [&](shared& all) { woken.insert(all.word[1].load(relaxed)); });
  EXPECT_EQ(result.fault, "") << result.text();
  EXPECT_THAT(woken, testing::ElementsAre(1, 2));
}

TEST(sleeps, a_sleeper_that_is_not_woken_sleeps_for_ever) {
  const body sleeps = [](shared& all) { syscall(SYS_futex, &all.word[0], FUTEX_WAIT, 0, nullptr, nullptr, 0); };
  const body rings = [](shared& all) {
    all.word[0].store(1, relaxed);
    syscall(SYS_futex, &all.word[0], FUTEX_WAKE, 1, nullptr, nullptr, 0);
  };
  EXPECT_THAT(fault_of({}, {sleeps, sleeps, rings}), testing::HasSubstr("sleeps for ever"));
}

// The doorbell itself, in whatever order its rings come and its sleeper's time ends.
TEST(sleeps, a_ring_of_the_doorbell_is_never_lost) {
  const auto with_bell = [](auto&& use) {
    return [use](shared& all) { use(all, *reinterpret_cast<arena::doorbell*>(&all.word[3])); };
  };
  for (const std::int64_t limit_ns : {std::int64_t{-1}, std::int64_t{1000}}) {
    const body sleeper = with_bell([=](shared& all, arena::doorbell& bell) {
      while (all.word[0].load(relaxed) != 1) {
        const std::uint32_t heard = bell.listen();
        if (all.word[0].load(relaxed) != 1) bell.sleep(heard, limit_ns);
      }
    });
    const body ringer = with_bell([](shared& all, arena::doorbell& bell) {
      all.word[0].store(1, relaxed);
      bell.ring();
    });
    EXPECT_EQ(fault_of({.old_reads = 2, .early_timeouts = 2}, {sleeper, ringer}), "");
  }
}

}  // namespace
}  // namespace tri::explore
