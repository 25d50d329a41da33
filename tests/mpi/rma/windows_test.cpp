// The protocols of windows between threads as ranks, and what ranks know of their own epochs.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "mpi/engine/ranks_as_threads.hpp"
#include "mpi/rma/engine/access_epochs.hpp"
#include "mpi/rma/engine/accumulate_order.hpp"
#include "mpi/rma/engine/element_reduction.hpp"
#include "mpi/rma/engine/repeated_reads.hpp"
#include "mpi/rma/engine/shared_work.hpp"
#include "mpi/rma/engine/window_ranks.hpp"

namespace tri::mpi {
namespace {

// A window of `ranks`; `body(engine, its view of the window, wait)` on each of them.
template <class Body>
void on_window_of(std::uint32_t ranks, const engine_options& options, Body&& body) {
  std::vector<window_part*> parts(ranks);
  std::atomic<std::uint32_t> made{0};
  testing::run_on_ranks(ranks, options, [&](engine& mine) {
    parts[mine.number()] = make_window_part(mine.blocks(), mine.own(), ranks);
    made.fetch_add(1, std::memory_order_acq_rel);  // pairs: the other ranks' looks
    mine.wait([&] { return made.load(std::memory_order_acquire) == ranks; }, true);
    window_ranks view(parts, mine.number());
    const auto wait = [&](auto&& done) { mine.wait(done); };
    body(mine, view, wait);
    view.barrier(wait);
    release_window_part(mine.blocks(), &view.own());
  });
}

engine_options waiting(bool oversubscribed) {
  engine_options options;
  options.oversubscribed = oversubscribed;
  return options;
}
const engine_options both_ways_of_waiting[] = {waiting(false), waiting(true)};

// Data that is not atomic: the sanitizer sees whether the lock hands it over.
TEST(window_lock, writers_exclude_everybody_and_readers_writers) {
  constexpr int rounds = 2000;
  for (const engine_options& options : both_ways_of_waiting) {
    struct {
      std::uint64_t first = 0, second = 0;
    } data;
    std::atomic<int> torn{0};
    on_window_of(4, options, [&](engine& mine, window_ranks& view, const auto& wait) {
      window_lock& lock = view.part(0).lock;
      for (int i = 0; i < rounds; ++i) {
        if ((i + static_cast<int>(mine.number())) % 3 == 0) {
          lock.lock_exclusive(mine.own(), wait);
          ++data.first;
          ++data.second;
          lock.unlock_exclusive();
        } else {
          lock.lock_shared(mine.own(), wait);
          if (data.first != data.second) ++torn;
          lock.unlock_shared();
        }
      }
      view.barrier(wait);
    });
    std::uint64_t written = 0;
    for (int rank = 0; rank < 4; ++rank)
      for (int i = 0; i < rounds; ++i) written += (i + rank) % 3 == 0 ? 1 : 0;
    EXPECT_EQ(data.first, written);
    EXPECT_EQ(torn, 0);
  }
}

// All hold it at the same time: nobody gets on before everybody has it.
TEST(window_lock, readers_share) {
  std::atomic<int> inside{0};
  on_window_of(4, {}, [&](engine& mine, window_ranks& view, const auto& wait) {
    view.part(2).lock.lock_shared(mine.own(), wait);
    inside.fetch_add(1);
    mine.wait([&] { return inside.load() == 4; }, true);
    view.part(2).lock.unlock_shared();
  });
  EXPECT_EQ(inside, 4);
}

// A writer that waits comes before readers that come later, so readers that never cease cannot keep it out.
TEST(window_lock, comes_in_the_order_of_asking) {
  std::atomic<int> step{0};
  std::vector<char> order;  // guarded by the lock under test and the steps
  std::mutex guard;
  on_window_of(3, {}, [&](engine& mine, window_ranks& view, const auto& wait) {
    window_lock& lock = view.part(0).lock;
    const auto until = [&](int value) { mine.wait([&] { return step.load() >= value; }, true); };
    const auto note = [&](char who) {
      const std::lock_guard held(guard);
      order.push_back(who);
    };
    // A wait that tells, at its first unfruitful look, that its caller stands in the queue.
    const auto telling = [&](int value) {
      return [&, value](auto&& done) {
        bool told = false;
        mine.wait(
            [&] {
              if (done()) return true;
              if (!told) step.store(value);
              told = true;
              return false;
            },
            true);
      };
    };
    if (mine.number() == 0) {
      lock.lock_shared(mine.own(), wait);
      step.store(1);
      until(3);  // a writer and a reader stand behind us
      note('a');
      lock.unlock_shared();
    } else if (mine.number() == 1) {
      until(1);
      lock.lock_exclusive(mine.own(), telling(2));
      note('w');
      lock.unlock_exclusive();
    } else {
      until(2);
      lock.lock_shared(mine.own(), telling(3));
      note('r');
      lock.unlock_shared();
    }
  });
  EXPECT_EQ(order, (std::vector<char>{'a', 'w', 'r'}));
}

// Each unlock wakes the rank whose turn it is. That one sleeps for ever otherwise, and so does the test.
TEST(window_lock, wakes_a_sleeping_rank) {
  for (int round = 0; round < 50; ++round) {
    const bool writer_holds = round % 2 == 0, writer_waits = round % 3 == 0 || !writer_holds;
    std::atomic<int> holds{0}, has_it{0};
    on_window_of(2, waiting(true), [&](engine& mine, window_ranks& view, const auto& wait) {
      window_lock& lock = view.part(0).lock;
      if (mine.number() == 0) {
        if (writer_holds)
          lock.lock_exclusive(mine.own(), wait);
        else
          lock.lock_shared(mine.own(), wait);
        holds.store(1);
        while (!view.part(1).rank->inbox.is_asleep()) std::this_thread::yield();
        if (writer_holds)
          lock.unlock_exclusive();
        else
          lock.unlock_shared();
        while (has_it.load() == 0) std::this_thread::yield();  // nobody rings meanwhile
      } else {
        while (holds.load() == 0) std::this_thread::yield();
        if (writer_waits)
          lock.lock_exclusive(mine.own(), wait);
        else
          lock.lock_shared(mine.own(), wait);
        has_it.store(1);
        if (writer_waits)
          lock.unlock_exclusive();
        else
          lock.unlock_shared();
      }
    });
    EXPECT_EQ(has_it, 1);
  }
}

// What is written before is seen behind, by plain loads; and nobody is a round ahead.
TEST(window_ranks, barriers_order_everything) {
  for (const std::uint32_t ranks : {1u, 2u, 3u, 5u}) {
    for (const engine_options& options : both_ways_of_waiting) {
      std::vector<int> written(ranks, 0);
      std::atomic<int> wrong{0};
      on_window_of(ranks, options, [&](engine& mine, window_ranks& view, const auto& wait) {
        for (int i = 1; i <= 300; ++i) {
          written[mine.number()] = i;
          view.barrier(wait);
          for (const int value : written) wrong += value != i ? 1 : 0;
          view.barrier(wait);
        }
      });
      EXPECT_EQ(wrong, 0) << ranks;
    }
  }
}

// Everybody exposes to everybody, then to the next only; data moves by plain stores.
TEST(window_ranks, posts_and_starts_hand_over_data) {
  constexpr std::uint32_t ranks = 4;
  for (const engine_options& options : both_ways_of_waiting) {
    std::array<std::array<int, ranks>, ranks> written{};  // [target][origin]
    std::atomic<int> wrong{0};
    on_window_of(ranks, options, [&](engine& mine, window_ranks& view, const auto& wait) {
      const std::uint32_t me = mine.number();
      for (int i = 1; i <= 300; ++i) {
        std::vector<std::uint32_t> targets, origins;
        for (std::uint32_t distance = i % 2 == 0 ? 0 : 1; distance < (i % 2 == 0 ? ranks : 2); ++distance) {
          targets.push_back((me + distance) % ranks);
          origins.push_back((me + ranks - distance) % ranks);
        }
        view.post(origins);
        view.start(targets, wait);
        for (const std::uint32_t target : targets) written[target][me] = i;
        view.complete(targets);
        if (i % 3 == 0)
          mine.wait([&] { return view.all_have_completed(); });
        else
          view.wait_for_completion(wait);
        for (const std::uint32_t origin : origins) wrong += written[me][origin] != i ? 1 : 0;
      }
    });
    EXPECT_EQ(wrong, 0);
  }
}

TEST(window_ranks, a_start_waits_for_the_post_and_a_wait_for_all_completions) {
  std::atomic<bool> posted{false};
  on_window_of(3, {}, [&](engine& mine, window_ranks& view, const auto& wait) {
    const std::array<std::uint32_t, 2> origins{1, 2};
    const std::array<std::uint32_t, 1> target{0};
    if (mine.number() == 0) {
      posted.store(true);
      view.post(origins);
      view.wait_for_completion(wait);
      EXPECT_TRUE(view.all_have_completed());
      view.post(origins);
      EXPECT_FALSE(view.all_have_completed());
      view.barrier(wait);
      view.wait_for_completion(wait);
    } else {
      view.start(target, wait);
      EXPECT_TRUE(posted.load());
      view.complete(target);
      view.barrier(wait);
      view.start(target, wait);
      view.complete(target);
    }
  });
}

// One rank attaches and detaches while the others look up what always is there.
// Single elements by instructions, long runs by plain loops, swaps: nothing is lost, and the sanitizer sees whether a
// loop and an instruction come together.
TEST(accumulate_order, loops_and_instructions_are_atomic_towards_each_other) {
  constexpr std::size_t count = 1000;
  constexpr int rounds = 300;
  alignas(64) static std::array<std::uint64_t, count> elements;
  for (const engine_options& options : both_ways_of_waiting) {
    elements.fill(0);
    on_window_of(4, options, [&](engine& mine, window_ranks& view, auto& wait) {
      const std::vector<std::uint64_t> ones(count, 1);
      const auto* const operands = reinterpret_cast<const std::byte*>(ones.data());
      for (int round = 0; round < rounds; ++round) {
        accumulate_order order(view.parts(), view.own(), view.part(0));
        if ((static_cast<std::uint32_t>(round) + mine.number()) % 2 == 0) {
          order.alone([&] {
            reduce_plainly(reduction::sum, element_kind::uint64, reinterpret_cast<std::byte*>(elements.data()),
                           operands, nullptr, count);
          });
          continue;
        }
        for (std::uint64_t& element : elements) {
          if (round % 4 < 2) {
            order.by_instructions(
                [&] { reduce_atomically(reduction::sum, element_kind::uint64, &element, operands, nullptr, 1); });
            continue;
          }
          std::uint64_t seen = 0, wanted = 0, found = 0;
          do {
            seen = found;
            wanted = seen + 1;
            order.by_instructions(
                [&] { compare_and_swap_atomically(element_kind::uint64, &element, &seen, &wanted, &found); });
          } while (found != seen);
        }
      }
      view.barrier(wait);
      for (const std::uint64_t element : elements) EXPECT_EQ(element, 4u * rounds);
    });
  }
}

// What is large lies on the board: counters of elements tell that each was done once, whoever did it.
// Goes on until the others have taken part: without them the test never ends.
TEST(shared_work, copies_and_reductions_are_done_once) {
  engine_options options;
  options.measures_time = true;  // of helping, too
  constexpr std::size_t bytes = std::size_t{1} << 20;
  std::vector<std::byte> from(bytes), to(bytes), before(bytes);
  for (std::size_t i = 0; i < bytes; ++i) from[i] = static_cast<std::byte>(i * 7 + (i >> 8));
  std::vector<std::int32_t> sums(bytes / 4, 5), ones(bytes / 4, 1);
  std::atomic<bool> done{false};
  on_window_of(3, options, [&](engine& mine, window_ranks&, auto&) {
    const auto have_helped = [&] {
      return mine.endpoint_of(1).counters.helped_ticks + mine.endpoint_of(2).counters.helped_ticks > 0;
    };
    if (mine.number() == 0) {
      EXPECT_FALSE(copy_together(mine, to.data(), from.data(), 100));  // not worth it
      for (int round = 1; round <= 20 || !have_helped(); ++round) {
        std::fill(to.begin(), to.end(), std::byte{0});
        EXPECT_TRUE(copy_together(mine, to.data(), from.data(), bytes));
        EXPECT_EQ(to, from);
        EXPECT_TRUE(reduce_together(mine, reduction::sum, element_kind::int32,
                                    reinterpret_cast<std::byte*>(sums.data()),
                                    reinterpret_cast<const std::byte*>(ones.data()), before.data(), bytes));
        EXPECT_EQ(sums, std::vector<std::int32_t>(bytes / 4, 5 + round));
        std::int32_t first = 0, last = 0;
        std::memcpy(&first, before.data(), 4);
        std::memcpy(&last, before.data() + bytes - 4, 4);
        EXPECT_TRUE(first == 4 + round && last == 4 + round);
      }
      done.store(true);
    }
    // The others help, and sleep for short times only.
    mine.wait([&] { return done.load(); }, true);
  });
}

// They have waited for long, and no message comes for them.
TEST(shared_work, wakes_sleeping_ranks_for_large_copies) {
  constexpr std::size_t bytes = std::size_t{4} << 20;
  std::vector<std::byte> from(bytes, std::byte{1}), to(bytes);
  std::uint64_t woken = 0, woken_for_little = 0;
  on_window_of(3, {}, [&](engine& mine, window_ranks& view, auto& wait) {
    if (mine.number() == 0) {
      for (const std::uint32_t rank : {1u, 2u})
        while (!mine.endpoint_of(rank).inbox.is_asleep()) std::this_thread::yield();
      const auto& count = mine.own().counters.woken_helpers;
      EXPECT_TRUE(copy_together(mine, to.data(), from.data(), bytes / 8));
      woken_for_little = count.load();
      EXPECT_TRUE(copy_together(mine, to.data(), from.data(), bytes));
      woken = count.load();
      EXPECT_EQ(to, from);
    }
    view.barrier(wait);
  });
  EXPECT_EQ(woken_for_little, 0u);
  EXPECT_EQ(woken, 2u);
}

TEST(attached_regions, are_found_while_others_come_and_go) {
  std::atomic<int> wrong{0}, done{0};
  std::byte sample{};
  on_window_of(3, {}, [&](engine& mine, window_ranks& view, const auto& wait) {
    attached_regions& regions = view.part(0).attached;
    if (mine.number() == 0) regions.attach(mine.blocks(), {5000, 100, &sample});
    view.barrier(wait);
    if (mine.number() == 0) {
      for (std::uintptr_t i = 0; i < 300; ++i)
        regions.attach(mine.blocks(), {(i * 37 % 300 + 100) * 1000, 10, nullptr});
      for (std::uintptr_t i = 0; i < 300; ++i) wrong += regions.detach((i * 41 % 300 + 100) * 1000) ? 0 : 1;
      wrong += regions.detach(100'000) ? 1 : 0;
      done.store(1);
    } else {
      do {
        const auto found = regions.find(5010, 90);
        wrong += found && found->address == 5000 && found->shared == &sample ? 0 : 1;
        wrong += regions.find(5010, 91) || regions.find(4999, 2) ? 1 : 0;
      } while (done.load() == 0);
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(attached_regions, may_overlap) {
  on_window_of(1, {}, [&](engine& mine, window_ranks& view, const auto&) {
    attached_regions& regions = view.own().attached;
    EXPECT_FALSE(regions.find(1, 1));
    regions.attach(mine.blocks(), {1000, 1000, nullptr});
    regions.attach(mine.blocks(), {1100, 100, nullptr});
    EXPECT_EQ(regions.find(1150, 10)->address, 1100u);
    EXPECT_EQ(regions.find(1150, 100)->address, 1000u);
    EXPECT_EQ(regions.find(1500, 500)->address, 1000u);
    EXPECT_FALSE(regions.find(1500, 501));
    EXPECT_TRUE(regions.detach(1000));
    EXPECT_FALSE(regions.find(1500, 1));
    EXPECT_FALSE(regions.detach(1000));
  });
}

TEST(access_epochs, allow_what_is_open) {
  access_epochs epochs(3);
  using held = access_epochs::held;
  EXPECT_FALSE(epochs.may_access(1));
  EXPECT_TRUE(epochs.fence(true));
  EXPECT_TRUE(epochs.may_access(1));
  EXPECT_TRUE(epochs.is_idle());
  EXPECT_TRUE(epochs.fence(false));
  EXPECT_FALSE(epochs.may_access(1));

  EXPECT_TRUE(epochs.lock(1, held::exclusive));
  EXPECT_TRUE(epochs.may_access(1));
  EXPECT_FALSE(epochs.may_access(2));
  EXPECT_FALSE(epochs.lock(1, held::shared)) << "twice";
  EXPECT_TRUE(epochs.lock(2, held::shared));
  EXPECT_FALSE(epochs.lock_all(held::shared));
  EXPECT_FALSE(epochs.fence(true)) << "under a lock";
  EXPECT_EQ(epochs.unlock(1), held::exclusive);
  EXPECT_EQ(epochs.unlock(1), held::nothing) << "twice";
  EXPECT_TRUE(epochs.is_passive());
  EXPECT_FALSE(epochs.is_passive(1));
  EXPECT_EQ(epochs.unlock(2), held::shared);
  EXPECT_TRUE(epochs.is_idle());

  EXPECT_TRUE(epochs.lock_all(held::unchecked));
  EXPECT_TRUE(epochs.may_access(0));
  EXPECT_FALSE(epochs.lock(0, held::shared));
  EXPECT_EQ(epochs.unlock_all(), held::unchecked);
  EXPECT_EQ(epochs.unlock_all(), held::nothing);

  const std::array<std::uint32_t, 1> target{2};
  EXPECT_TRUE(epochs.post());
  EXPECT_FALSE(epochs.post()) << "twice";
  EXPECT_TRUE(epochs.start(target));
  EXPECT_FALSE(epochs.start(target)) << "twice";
  EXPECT_TRUE(epochs.may_access(2));
  EXPECT_FALSE(epochs.may_access(0));
  EXPECT_FALSE(epochs.lock(0, held::shared));
  epochs.complete();
  EXPECT_FALSE(epochs.is_idle()) << "posted";
  epochs.exposure_ends();
  EXPECT_TRUE(epochs.is_idle());
}

TEST(repeated_reads, count_the_same_value_at_the_same_place) {
  repeated_reads reads;
  int a = 1, b = 1;
  reads.read(&a, &a, sizeof a);
  EXPECT_EQ(reads.in_a_row(), 0u);
  reads.read(&a, &a, sizeof a);
  reads.read(&a, &a, sizeof a);
  EXPECT_EQ(reads.in_a_row(), 2u);
  reads.read(&b, &b, sizeof b);
  EXPECT_EQ(reads.in_a_row(), 0u) << "another place";
  reads.read(&b, &b, sizeof b);
  b = 2;
  reads.read(&b, &b, sizeof b);
  EXPECT_EQ(reads.in_a_row(), 0u) << "another value";
  reads.read(&b, &b, sizeof b);
  const std::array<char, 9> large{};
  reads.read(&large, &large, sizeof large);
  EXPECT_EQ(reads.in_a_row(), 0u) << "nobody polls by large reads";
}

}  // namespace
}  // namespace tri::mpi
