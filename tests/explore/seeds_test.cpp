// The real code of a PE's seeds and of the bits that lead to them, with old values (interleavings.hpp): each seed is
// taken once, a bit is not cleared beside a seed, and a PE that falls asleep beside one is rung.
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "arena/doorbell.hpp"
#include "explore/of_functions.hpp"
#include "sched/seeds/seed_deque.hpp"
#include "sched/seeds/seed_hints.hpp"

namespace tri::sched {
namespace {

using explore::check;
using explore::of_functions;

constexpr int owner = 0;

envelope seed_of(std::uint64_t number) {
  envelope made{};
  made.element = number;
  made.payload[31] = static_cast<std::byte>(number);
  return made;
}

struct host {
  seed_deque deque{2};  // a third seed makes it grow
  seed_hints hints;
  std::atomic<std::uint32_t> sleepers{0};
  arena::doorbell bell;
  std::uint32_t taken[4] = {};  // by agent: the numbers, as bits

  // As pe_seeds does it.
  seed_hints::view bits() { return hints.of(1); }
  void push(std::uint64_t number) {
    deque.push(seed_of(number));
    if ((bits().first_word()->load(std::memory_order_seq_cst) & 1) != 0) return;
    bits().set(owner);
    if (sleepers.load(std::memory_order_seq_cst) != 0) bell.ring();
  }
  void note(int agent, const envelope& seed) {
    check(seed.payload[31] == static_cast<std::byte>(seed.element), "a seed came in parts of two");
    const std::uint32_t bit = std::uint32_t{1} << seed.element;
    check((taken[agent] & bit) == 0, "a seed came twice to the same");
    taken[agent] |= bit;
  }
  bool pop() {
    envelope seed;
    if (!deque.pop(seed)) return false;
    note(owner, seed);
    return true;
  }
  bool clear_if_empty() {
    if (!deque.seems_empty()) return false;
    bits().clear(owner);
    if (deque.seems_empty()) return true;
    bits().set(owner);
    return false;
  }
  // False: there were none.
  bool steal(int agent) {
    envelope seed;
    for (;;) {
      switch (deque.steal(seed)) {
        case seed_deque::outcome::taken:
          note(agent, seed);
          return true;
        case seed_deque::outcome::empty:
          if (clear_if_empty()) return false;
          break;
        case seed_deque::outcome::lost:
          break;
      }
    }
  }
};

void check_all_taken(host& at_end, std::uint32_t numbers) {
  while (at_end.pop()) {
  }
  std::uint32_t all = 0;
  for (const std::uint32_t some : at_end.taken) {
    check((all & some) == 0, "a seed came twice");
    all |= some;
  }
  check(all == numbers, "a seed was lost, or came from nowhere");
}

void expect_sound(std::vector<of_functions<host>::body> bodies, std::uint32_t numbers, std::uint64_t least_runs,
                  int old_reads = 2) {
  of_functions<host> all(std::move(bodies), [=](host& at_end) { check_all_taken(at_end, numbers); });
  const explore::interleavings result = explore::run_all(all, {.old_reads = old_reads});
  EXPECT_EQ(result.fault, "") << result.text();
  EXPECT_TRUE(result.complete) << result.text();
  EXPECT_GE(result.runs, least_runs) << result.text();
}

const auto steals_once = [](int agent) {
  return [=](host& all) {
    envelope seed;
    if (all.deque.steal(seed) == seed_deque::outcome::taken) all.note(agent, seed);
  };
};

TEST(seeds, one_owner_and_one_thief) {
  expect_sound({[](host& all) {
                  all.deque.push(seed_of(1));
                  all.deque.push(seed_of(2));
                  all.pop();
                  all.pop();
                },
                steals_once(1)},
               0b110, 15);
  expect_sound({[](host& all) {
                  all.deque.push(seed_of(1));
                  all.pop();
                  all.deque.push(seed_of(2));
                  all.pop();
                },
                [](host& all) {
                  steals_once(1)(all);
                  steals_once(1)(all);
                }},
               0b110, 15);
}

TEST(seeds, a_thief_reads_a_ring_that_is_replaced) {
  expect_sound({[](host& all) {
                  for (std::uint64_t number = 1; number <= 3; ++number) all.deque.push(seed_of(number));
                  all.pop();
                },
                [](host& all) {
                  steals_once(1)(all);
                  steals_once(1)(all);
                }},
               0b1110, 20);
}

// The place of a seed that was taken is used again, while somebody may still be reading it.
TEST(seeds, a_thief_reads_a_place_that_is_used_again) {
  expect_sound({[](host& all) {
                  all.deque.push(seed_of(1));
                  all.deque.push(seed_of(2));
                  envelope seed;
                  if (all.deque.steal(seed) == seed_deque::outcome::taken) all.note(owner, seed);
                  all.deque.push(seed_of(3));
                },
                steals_once(1)},
               0b1110, 10);
}

TEST(seeds, one_owner_and_two_thieves) {
  expect_sound({[](host& all) {
                  all.deque.push(seed_of(1));
                  all.deque.push(seed_of(2));
                  all.pop();
                },
                steals_once(1), steals_once(2)},
               0b110, 100, 1);
}

// A thief that takes the last seed of an announced PE, or finds none, clears the bit; a later push sets it again.
TEST(seeds, no_bit_is_cleared_beside_a_seed) {
  of_functions<host> all({[](host& one) {
                            one.push(1);
                            one.push(2);
                          },
                          [](host& one) {
                            if ((one.bits().first_word()->load(std::memory_order_seq_cst) & 1) != 0) {
                              one.steal(1);
                              one.clear_if_empty();
                            }
                          }},
                         [](host& at_end) {
                           check(at_end.deque.seems_empty() || at_end.bits().test(owner), "a seed without a bit");
                           check_all_taken(at_end, 0b110);
                         });
  const explore::interleavings result = explore::run_all(all, {.old_reads = 2});
  EXPECT_EQ(result.fault, "") << result.text();
  EXPECT_TRUE(result.complete) << result.text();
  EXPECT_GE(result.runs, 8U);
}

// One that sleeps until it has stolen both seeds, of which the owner never takes any.
TEST(seeds, a_sleeper_is_rung) {
  expect_sound({[](host& all) {
                  all.push(1);
                  all.push(2);
                },
                [](host& all) {
                  for (int found = 0; found < 2;) {
                    if (all.bits().any() && all.steal(1)) {
                      ++found;
                      all.clear_if_empty();
                      continue;
                    }
                    const std::uint32_t heard = all.bell.listen();
                    all.sleepers.fetch_add(1, std::memory_order_seq_cst);
                    const bool some = all.bits().any_before_sleep() && !all.clear_if_empty();
                    if (!some) all.bell.sleep(heard, -1);
                    all.sleepers.fetch_sub(1, std::memory_order_relaxed);
                  }
                }},
               0b110, 20, 1);
}

}  // namespace
}  // namespace tri::sched
