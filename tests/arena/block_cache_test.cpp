// Block caches: what one thread allocates another may release; contents stay intact and everything comes home.
#include "arena/block_cache.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <cstring>
#include <limits>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "test_window.hpp"
#include "trireme/detail/arena/allocate.hpp"

namespace tri::arena {
namespace {

using testing::test_window;

constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

struct passed_block {
  unsigned char* start;
  std::size_t bytes;
  unsigned char mark;
};

void check_and_release(block_cache& cache, const passed_block& block, std::atomic<int>& damaged) {
  for (std::size_t i = 0; i < block.bytes; i += 61) damaged += block.start[i] != block.mark ? 1 : 0;
  damaged += block.start[block.bytes - 1] != block.mark ? 1 : 0;
  cache.release(block.start);
}

// Threads allocate, write, and drop blocks into a common bag, from which anybody takes one, checks and releases it.
void pass_blocks_around(heap& from, unsigned seed, int steps, std::atomic<int>& damaged) {
  std::mutex bag_lock;
  std::vector<passed_block> bag;
  std::vector<std::thread> threads;
  for (std::uint16_t number = 0; number < 4; ++number)
    threads.emplace_back([&, number] {
      block_cache cache(from, number);
      std::mt19937 random(seed * 100 + number);
      for (int step = 0; step < steps; ++step) {
        const auto kind = static_cast<unsigned>(random() % 100);
        const std::size_t bytes = kind < 60   ? 1 + random() % 200
                                  : kind < 98 ? 1 + random() % largest_small_block
                                              : 1 + random() % 300'000;
        const auto mark = static_cast<unsigned char>(random());
        auto* const block = static_cast<unsigned char*>(cache.allocate(bytes));
        ASSERT_EQ(reinterpret_cast<std::uintptr_t>(block) % (bytes >= 64 ? 64 : 16), 0U);
        ASSERT_GE(block_cache::size_of(block, from.own_window().bytes), bytes);
        std::memset(block, mark, bytes);
        passed_block other{};
        {
          std::lock_guard guard(bag_lock);
          bag.push_back({block, bytes, mark});
          if (bag.size() > 100) {
            const std::size_t which = random() % bag.size();
            other = bag[which];
            bag[which] = bag.back();
            bag.pop_back();
          }
        }
        if (other.start != nullptr) check_and_release(cache, other, damaged);
      }
    });
  for (auto& thread : threads) thread.join();
  block_cache last(from, 0);
  for (const passed_block& block : bag) check_and_release(last, block, damaged);
}

TEST(block_cache, keeps_contents_while_threads_pass_blocks_on) {
  test_window place(std::size_t{512} << 20);
  heap from(place.mapped, 0, no_limit);
  std::atomic<int> damaged{0};
  for (unsigned seed = 1; seed <= 3; ++seed) {
    pass_blocks_around(from, seed, 4000, damaged);
    ASSERT_TRUE(from.is_valid());
  }
  EXPECT_EQ(damaged, 0);
}

// After all threads have gone no large run is kept anywhere: the same again needs no more memory than a little slack
// (free lists of small blocks end with their cache; large runs must all be back).
TEST(block_cache, returns_every_large_block) {
  test_window place(std::size_t{512} << 20);
  heap from(place.mapped, 0, no_limit);
  {
    std::mutex bag_lock;
    std::vector<void*> bag;
    std::vector<std::thread> threads;
    std::atomic<int> done{0};
    for (std::uint16_t number = 0; number < 3; ++number)
      threads.emplace_back([&, number] {
        block_cache cache(from, number);
        std::mt19937 random(number);
        for (int step = 0; step < 1500; ++step) {
          void* const block = cache.allocate(largest_small_block + 1 + random() % 200'000);
          std::lock_guard guard(bag_lock);
          bag.push_back(block);
          std::swap(bag.back(), bag[random() % bag.size()]);
          if (bag.size() > 20) {
            cache.release(bag.back());
            bag.pop_back();
          }
        }
        cache.flush();
        ++done;
        while (done.load() != 3)
          std::this_thread::yield();  // nobody sends anything home any more: the destructors collect
      });
    for (auto& thread : threads) thread.join();
    for (void* const block : bag) {
      block_cache last(from, 7);
      last.release(block);
    }
  }
  for (std::uint16_t number = 0; number < 3; ++number) block_cache collector(from, number);
  EXPECT_EQ(from.bytes_in_use(), 0U);
  EXPECT_TRUE(from.is_valid());
}

TEST(block_cache, reuses_blocks_that_others_released) {
  test_window place;
  heap from(place.mapped, 0, no_limit);
  block_cache owner(from, 0);
  block_cache other(from, 1);
  owner.release(owner.allocate(100));
  const std::size_t before = from.bytes_in_use();
  for (int round = 0; round < 1000; ++round) {
    std::vector<void*> blocks;
    for (int i = 0; i < 100; ++i) blocks.push_back(owner.allocate(100));
    for (void* const block : blocks) other.release(block);
    other.flush();
  }
  EXPECT_LE(from.bytes_in_use(), before + span_bytes);
}

// M13: released blocks go home in chains; none stays behind after a flush.
TEST(block_cache, sends_mixed_owners_home_to_each) {
  test_window place;
  heap from(place.mapped, 0, no_limit);
  block_cache first(from, 0);
  block_cache second(from, 1);
  block_cache releasing(from, 2);
  std::vector<void*> blocks;
  for (int i = 0; i < 50; ++i) {
    blocks.push_back(first.allocate(1000));
    blocks.push_back(second.allocate(1000));
  }
  for (void* const block : blocks) releasing.release(block);
  releasing.flush();
  int at_first = 0;
  for (auto* block = heap::returns_of(place.mapped.address, 0, place.mapped.bytes).take_all(); block != nullptr;
       block = block->next)
    ++at_first;
  int at_second = 0;
  for (auto* block = heap::returns_of(place.mapped.address, 1, place.mapped.bytes).take_all(); block != nullptr;
       block = block->next)
    ++at_second;
  EXPECT_EQ(at_first, 50);
  EXPECT_EQ(at_second, 50);
}

TEST(block_cache, gives_kept_runs_up_when_small_blocks_need_the_room) {
  test_window place;
  heap from(place.mapped, 0, 5 * span_bytes);
  block_cache cache(from, 0);
  cache.release(cache.allocate(5 * span_bytes));  // kept for the next of that size
  EXPECT_NE(cache.allocate(64), nullptr);
}

TEST(block_cache, refuses_absurd_sizes) {
  test_window place;
  heap from(place.mapped, 0, no_limit);
  block_cache cache(from, 0);
  for (const std::size_t bytes : {no_limit, no_limit - span_bytes, no_limit / 2, place.mapped.bytes})
    EXPECT_THROW(cache.allocate(bytes), arena_exhausted) << bytes;
  EXPECT_EQ(from.bytes_in_use(), 0U);
  EXPECT_NE(cache.allocate(1), nullptr);
}

}  // namespace
}  // namespace tri::arena
