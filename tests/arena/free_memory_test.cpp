// Memory that is free can be had, by whoever of the process asks and wherever it lies: on a return stack, kept for the
// next of its size, in the lists or the half-carved runs of another cache, whose thread sleeps or computes for long.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <atomic>
#include <barrier>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "arena/block_cache.hpp"
#include "os/child_process.hpp"
#include "test_window.hpp"
#include "trireme/detail/arena/allocate.hpp"

namespace tri::arena {
namespace {

using testing::test_window;

constexpr std::size_t mib = std::size_t{1} << 20;

struct limited_heap {
  explicit limited_heap(std::size_t limit, std::size_t window = 256 * mib)
      : place(window), all(place.mapped, 0, limit) {}
  std::size_t allocated_bytes() const {
    struct stat status {};
    EXPECT_EQ(fstat(place.file, &status), 0);
    return static_cast<std::size_t>(status.st_blocks) * 512;
  }
  test_window place;
  heap all;
};

// Blocks of that size until there are no more.
std::vector<void*> take_all(block_cache& cache, std::size_t bytes) {
  std::vector<void*> blocks;
  try {
    for (;;) blocks.push_back(cache.allocate(bytes));
  } catch (const arena_exhausted&) {
  }
  return blocks;
}

void release_all(block_cache& cache, std::vector<void*>& blocks) {
  for (void* const block : blocks) cache.release(block);
  blocks.clear();
}

TEST(free_memory, of_a_large_run_that_another_pe_released) {
  for (const std::size_t bytes : {3 * mib, 48 * mib}) {  // kept by its owner; straight to the heap
    limited_heap heap(64 * mib);
    block_cache owner(heap.all, 0), other(heap.all, 1);
    std::vector<void*> blocks = take_all(owner, bytes);
    const std::size_t count = blocks.size();
    release_all(other, blocks);
    EXPECT_EQ(take_all(other, bytes).size(), count) << "the owner has not come by";
    EXPECT_TRUE(heap.all.is_valid());
  }
}

TEST(free_memory, of_runs_that_another_cache_keeps) {
  limited_heap heap(16 * mib);
  block_cache owner(heap.all, 0), other(heap.all, 1);
  std::vector<void*> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(owner.allocate(2 * mib));
  release_all(owner, blocks);
  EXPECT_NE(other.allocate(16 * mib), nullptr);
}

TEST(free_memory, of_small_blocks_for_every_other_size) {
  limited_heap heap(32 * mib);
  block_cache cache(heap.all, 0);
  for (unsigned size_class = 0; size_class < size_class_count; ++size_class) {
    const std::size_t size = size_of_class(size_class);
    std::vector<void*> blocks = take_all(cache, size);
    const std::size_t run = spans_of_class(size_class) * span_bytes;
    EXPECT_EQ(blocks.size(), 32 * mib / run * (run / size)) << size;
    release_all(cache, blocks);
    EXPECT_TRUE(heap.all.is_valid());
  }
  EXPECT_NE(cache.allocate(32 * mib), nullptr);
}

// The same sizes mixed: what one class leaves free is enough for the others, though its runs are not all empty.
TEST(free_memory, of_runs_that_are_empty_between_others) {
  limited_heap heap(32 * mib);
  block_cache cache(heap.all, 0);
  std::vector<void*> blocks = take_all(cache, 64);
  std::vector<void*> kept;
  for (std::size_t i = 0; i < blocks.size(); ++i)  // half of the runs keep one block
    if (i % (2 * span_bytes / 64) == 0) kept.push_back(std::exchange(blocks[i], nullptr));
  for (void* const block : blocks)
    if (block != nullptr) cache.release(block);
  EXPECT_EQ(take_all(cache, 128).size(), 16 * mib / 128);
  EXPECT_TRUE(heap.all.is_valid());
  release_all(cache, kept);
}

TEST(free_memory, on_the_return_stack_of_an_owner_that_computes) {
  limited_heap heap(64 * mib);
  block_cache computing(heap.all, 0), other(heap.all, 1);
  std::vector<void*> blocks = take_all(computing, 64);
  release_all(other, blocks);
  other.flush();
  EXPECT_NE(other.allocate(62 * mib), nullptr) << "the rest is what the owner may hold";
}

// What a cache holds while its thread computes is bounded, for each size.
TEST(free_memory, of_an_owner_that_computes_but_for_its_lists) {
  constexpr std::size_t limit = 64 * mib;
  limited_heap heap(limit);
  block_cache computing(heap.all, 0), other(heap.all, 1);
  std::vector<void*> blocks = take_all(computing, 64);
  release_all(computing, blocks);
  blocks = take_all(computing, 640);
  release_all(computing, blocks);
  const std::size_t held = 2 * (block_cache::most_held_bytes(limit) + span_bytes);
  EXPECT_NE(other.allocate(limit - held), nullptr);
}

TEST(free_memory, of_an_owner_that_sleeps) {
  for (const std::size_t bytes : {16, 64, 3000, 32768}) {
    limited_heap heap(32 * mib);
    block_cache owner(heap.all, 0), other(heap.all, 1);
    std::vector<void*> blocks = take_all(owner, bytes);
    release_all(owner, blocks);
    owner.settle();
    owner.use().unlock();
    void* const all = other.allocate(32 * mib);
    EXPECT_NE(all, nullptr);
    EXPECT_THROW(other.allocate(1), arena_exhausted);
    other.release(all);
    owner.use().lock();
    EXPECT_NE(owner.allocate(bytes), nullptr) << "it goes on as before";
    EXPECT_TRUE(heap.all.is_valid());
  }
}

TEST(free_memory, of_caches_that_have_gone) {
  limited_heap heap(32 * mib);
  std::vector<void*> blocks;
  {
    block_cache gone(heap.all, 3);
    blocks = take_all(gone, 200);
  }
  block_cache other(heap.all, 1);
  release_all(other, blocks);
  other.flush();
  EXPECT_NE(other.allocate(32 * mib), nullptr);
}

// Another process of the host releases; the owner's thread does not come by.
TEST(free_memory, that_another_process_released) {
  for (const std::size_t bytes : {std::size_t{64}, 3 * mib, 48 * mib}) {
    limited_heap heap(64 * mib);
    block_cache owner(heap.all, 0), neighbour(heap.all, 1);
    std::vector<void*> blocks = take_all(owner, bytes);
    if (bytes > mib)
      for (void* const block : blocks) std::memset(block, 1, bytes);
    const pid_t child = os::start_function([&] {  // has the window at its own place, as a peer would have
      test_window peer(heap.place.mapped.bytes, 1);
      tri::arena::heap of_peer(peer.mapped, 1, 64 * mib);
      block_cache cache(of_peer, 0);
      for (void* const block : blocks) cache.release(block);
      cache.flush();
      return 0;
    });
    ASSERT_EQ(os::wait_for(child), 0);
    if (bytes == 48 * mib) {
      EXPECT_LT(heap.allocated_bytes(), 4 * mib) << "it has no pages on its way home";
    }
    EXPECT_NE(neighbour.allocate(62 * mib), nullptr) << bytes;
    EXPECT_TRUE(heap.all.is_valid());
  }
}

// After everything was released little memory is left with the process, whatever the sizes were.
TEST(free_memory, goes_back_to_the_system) {
  for (const std::size_t bytes : {64, 1000, 32768, 100'000, 2'000'000}) {
    limited_heap heap(192 * mib);
    block_cache cache(heap.all, 0);
    std::vector<void*> blocks = take_all(cache, bytes);
    const std::size_t count = blocks.size();
    for (void* const block : blocks) std::memset(block, 1, bytes);
    EXPECT_GT(heap.allocated_bytes(), 140 * mib);
    release_all(cache, blocks);
    EXPECT_LT(heap.allocated_bytes(), 90 * mib) << bytes;
    EXPECT_TRUE(heap.all.is_valid());
    cache.settle();
    EXPECT_EQ(take_all(cache, bytes).size(), count) << bytes;
  }
}

// Several threads at the limit at once, each of which releases what others have allocated, sleeps and comes back, and
// computes without looking at its cache.
TEST(free_memory, of_many_threads_at_their_limit) {
  limited_heap heap(24 * mib);
  constexpr int threads_count = 4;
  std::mutex bag_lock;
  std::vector<std::pair<unsigned char*, std::size_t>> bag;
  std::size_t bytes_in_bag = 0;
  std::atomic<int> damaged{0}, refused{0};
  std::vector<std::thread> threads;
  for (std::uint16_t number = 0; number < threads_count; ++number)
    threads.emplace_back([&, number] {
      block_cache cache(heap.all, number);
      std::mt19937 random(number);
      for (int step = 0; step < 6000; ++step) {
        const std::size_t bytes = 1 + random() % (random() % 20 == 0 ? 2 * mib : random() % 5 == 0 ? 30'000 : 300);
        std::pair<unsigned char*, std::size_t> other{};
        try {
          auto* const block = static_cast<unsigned char*>(cache.allocate(bytes));
          std::memset(block, static_cast<int>(bytes % 251), std::min<std::size_t>(bytes, 4096));
          std::lock_guard guard(bag_lock);
          bag.emplace_back(block, bytes);
          bytes_in_bag += bytes;
        } catch (const arena_exhausted&) {
          ++refused;
        }
        for (;;) {
          {
            std::lock_guard guard(bag_lock);
            if (bytes_in_bag < 12 * mib) break;
            std::swap(bag.back(), bag[random() % bag.size()]);
            other = bag.back();
            bag.pop_back();
            bytes_in_bag -= other.second;
          }
          for (std::size_t i = 0; i < std::min<std::size_t>(other.second, 4096); ++i)
            damaged += other.first[i] != other.second % 251 ? 1 : 0;
          cache.release(other.first);
        }
        if (random() % 64 == 0) {
          cache.settle();
          cache.use().unlock();
          std::this_thread::yield();
          cache.use().lock();
        }
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(damaged, 0);
  EXPECT_TRUE(heap.all.is_valid());
  block_cache last(heap.all, 9);
  for (const auto& [block, bytes] : bag) last.release(block);
  last.flush();
  EXPECT_NE(last.allocate(24 * mib), nullptr) << "nothing is lost; refused meanwhile: " << refused;
}

}  // namespace
}  // namespace tri::arena
