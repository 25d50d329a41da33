// The pages of a window and the small blocks carved from them, on a window of the test's own.
#include "mpi/heap/page_runs.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "mpi/heap/size_classes.hpp"
#include "mpi/heap/small_blocks.hpp"

namespace {

using tri::mpi::page_bytes;
using tri::mpi::page_runs;

constexpr std::size_t mib = std::size_t{1} << 20;

class page_runs_test : public testing::Test {
 protected:
  void open(std::size_t bytes) {
    file_ = memfd_create("page_runs_test", MFD_CLOEXEC);
    ASSERT_EQ(ftruncate(file_, static_cast<off_t>(bytes)), 0);
    bytes_ = bytes;
    window_ =
        static_cast<std::byte*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0));
    ASSERT_NE(static_cast<void*>(window_), MAP_FAILED);
    ASSERT_TRUE(runs_.open(window_, bytes));
  }
  void TearDown() override {
    runs_.close();
    if (window_ != nullptr) munmap(window_, bytes_);
    if (file_ >= 0) close(file_);
  }
  std::size_t resident() const {
    struct stat status {};
    fstat(file_, &status);
    return static_cast<std::size_t>(status.st_blocks) * 512;
  }
  page_runs::allocation take(std::size_t pages, std::size_t alignment = 1) {
    return runs_.allocate(pages, alignment, tri::mpi::large_block);
  }

  int file_ = -1;
  std::size_t bytes_ = 0;
  std::byte* window_ = nullptr;
  page_runs runs_;
};

TEST_F(page_runs_test, random_requests_never_overlap_and_keep_their_contents) {
  open(64 * mib);
  struct block {
    page_runs::allocation where;
    std::size_t pages;
    std::uint8_t mark;
  };
  std::vector<block> blocks;
  std::mt19937 random(7);
  std::size_t refused = 0;
  for (int step = 0; step < 6000; ++step) {
    const auto choice = random() % 100;
    if (choice < 50 || blocks.empty()) {
      const std::size_t pages = random() % 8 == 0 ? 1 + random() % 1000 : 1 + random() % 40;
      const std::size_t alignment = std::size_t{1} << (random() % 4 == 0 ? random() % 8 : 0);
      const auto run = take(pages, alignment);
      if (run.address == nullptr) {
        ASSERT_EQ(run.why, page_runs::refusal::window_full);
        ++refused;
        continue;
      }
      ASSERT_EQ(static_cast<std::size_t>(run.address - window_) % (alignment * page_bytes), 0U);
      if (run.zero) {
        for (std::size_t page = 0; page < pages; ++page) ASSERT_EQ(run.address[page * page_bytes], std::byte{0});
      }
      const auto mark = static_cast<std::uint8_t>(1 + random() % 255);
      for (std::size_t page = 0; page < pages; ++page) run.address[page * page_bytes] = std::byte{mark};
      blocks.push_back({run, pages, mark});
    } else {
      const std::size_t index = random() % blocks.size();
      block& one = blocks[index];
      if (choice < 65) {
        const std::size_t pages = 1 + random() % (2 * one.pages);
        if (runs_.resize(one.where.run, pages)) {
          for (std::size_t page = std::min(pages, one.pages); page < pages; ++page)
            one.where.address[page * page_bytes] = std::byte{one.mark};
          one.pages = pages;
        }
      } else {
        for (std::size_t page = 0; page < one.pages; ++page)
          ASSERT_EQ(one.where.address[page * page_bytes], std::byte{one.mark});
        runs_.release(one.where.run);
        one = blocks.back();
        blocks.pop_back();
      }
    }
    if (step % 50 == 0) {
      ASSERT_TRUE(runs_.is_valid()) << step;
    }
  }
  EXPECT_GT(refused, 0U) << "the window was never full: the test tries less than it means to";
  std::size_t in_use = 0;
  for (const block& one : blocks) in_use += one.pages * page_bytes;
  EXPECT_EQ(runs_.use().in_use_bytes, in_use);
  for (const block& one : blocks) runs_.release(one.where.run);
  runs_.purge_all();
  EXPECT_TRUE(runs_.is_valid());
  EXPECT_EQ(runs_.use().in_use_bytes, 0U);
  EXPECT_EQ(resident(), 0U);
  // All of it is one hole again.
  EXPECT_NE(take(runs_.use().reach_bytes / page_bytes).address, nullptr);
}

TEST_F(page_runs_test, freed_memory_goes_back_but_a_little_is_kept) {
  open(1024 * mib);
  for (int round = 0; round < 3; ++round) {
    const auto large = take(64 * mib / page_bytes);
    ASSERT_NE(large.address, nullptr);
    EXPECT_TRUE(large.zero);
    std::memset(large.address, 1, 64 * mib);
    runs_.release(large.run);
    EXPECT_EQ(resident(), 0U);
  }
  EXPECT_EQ(runs_.use().reach_bytes, 64 * mib) << "the same addresses serve again";
  const auto small = take(mib / page_bytes);
  std::memset(small.address, 1, mib);
  runs_.release(small.run);
  EXPECT_EQ(resident(), mib);
  const auto again = take(mib / page_bytes);
  EXPECT_EQ(again.address, small.address);
  EXPECT_FALSE(again.zero);
}

TEST_F(page_runs_test, a_size_that_is_no_power_of_two_finds_its_own_place_again) {
  open(1024 * mib);
  const auto fence = take(1);
  const auto first = take(100 * mib / page_bytes + 1);
  const auto behind = take(1);
  runs_.release(first.run);
  for (int round = 0; round < 20; ++round) {
    const auto again = take(100 * mib / page_bytes + 1);
    EXPECT_EQ(again.address, first.address);
    runs_.release(again.run);
  }
  runs_.release(fence.run);
  runs_.release(behind.run);
  EXPECT_TRUE(runs_.is_valid());
}

TEST_F(page_runs_test, dirty_and_clean_neighbours_serve_together_when_the_window_is_full) {
  open(64 * mib);
  const auto first = take(48 * mib / page_bytes);   // becomes a hole when freed
  const auto second = take(16 * mib / page_bytes);  // stays dirty
  ASSERT_NE(second.address, nullptr);
  runs_.release(first.run);
  runs_.release(second.run);
  EXPECT_GT(runs_.use().dirty_bytes, 0U);
  const auto all = take(64 * mib / page_bytes);
  EXPECT_EQ(all.address, window_);
  EXPECT_EQ(take(1).why, page_runs::refusal::window_full);
}

TEST_F(page_runs_test, a_full_window_is_searched_to_the_end) {
  open(16 * mib);
  // Of one bin (32..35 pages), one run of 35 pages that was freed first, so it is behind 40 of 33.
  std::vector<page_runs::allocation> runs;
  for (int index = 0; index < 41; ++index) {
    runs.push_back(take(index == 0 ? 35 : 33));
    ASSERT_NE(take(1).address, nullptr);  // a fence
  }
  const std::size_t rest = 16 * mib / page_bytes - runs_.use().reach_bytes / page_bytes;
  ASSERT_NE(take(rest).address, nullptr);
  for (const auto& run : runs) runs_.release(run.run);
  EXPECT_EQ(take(35).address, runs[0].address);
  EXPECT_EQ(take(34).why, page_runs::refusal::window_full);
}

TEST_F(page_runs_test, limits_are_kept) {
  open(64 * mib);
  runs_.set_limits(8 * mib, 4 * mib);
  EXPECT_EQ(take(4 * mib / page_bytes + 1).why, page_runs::refusal::beyond_limits);
  const auto first = take(4 * mib / page_bytes);
  const auto second = take(3 * mib / page_bytes);
  ASSERT_NE(second.address, nullptr);
  EXPECT_EQ(take(mib / page_bytes + 1).why, page_runs::refusal::beyond_limits);
  EXPECT_FALSE(runs_.resize(second.run, 4 * mib / page_bytes + 1));
  EXPECT_TRUE(runs_.resize(second.run, 4 * mib / page_bytes));
  runs_.release(first.run);
  EXPECT_NE(take(mib / page_bytes + 1).address, nullptr);
}

TEST_F(page_runs_test, blocks_of_a_class_are_disjoint_and_their_spans_come_back) {
  open(256 * mib);
  const auto blocks = std::make_unique<tri::mpi::small_blocks>(runs_);
  for (unsigned small_class = 0; small_class < tri::mpi::small_class_count; ++small_class) {
    const std::size_t bytes = tri::mpi::bytes_of_small_class(small_class);
    std::vector<std::byte*> all;
    auto why = page_runs::refusal::none;
    while (all.size() < 3 * 16 * 4096 / bytes + 40) {
      const auto chain = blocks->take(small_class, 7, why);
      ASSERT_NE(chain.first, nullptr);
      unsigned count = 0;
      for (void* block = chain.first; block != nullptr; block = tri::mpi::next_block(block), ++count)
        all.push_back(static_cast<std::byte*>(block));
      EXPECT_EQ(count, chain.count);
    }
    std::sort(all.begin(), all.end());
    for (std::size_t index = 1; index < all.size(); ++index)
      ASSERT_GE(all[index] - all[index - 1], static_cast<long>(bytes));
    for (std::byte* block : all) {
      ASSERT_EQ(runs_.kind_of(block), small_class + 1);
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(block) % 16, 0U);
      std::memset(block, 0xa5, bytes);
    }
    std::shuffle(all.begin(), all.end(), std::mt19937(small_class));
    for (std::byte* block : all) {
      tri::mpi::next_block(block) = nullptr;
      blocks->give(small_class, {block, 1});
    }
    EXPECT_LE(runs_.use().in_use_bytes, (small_class + 1) * 256 * 1024) << "one span per class is kept";
  }
  EXPECT_TRUE(runs_.is_valid());
}

TEST_F(page_runs_test, threads_share_runs_and_blocks) {
  open(1024 * mib);
  const auto blocks = std::make_unique<tri::mpi::small_blocks>(runs_);
  std::vector<std::thread> threads;
  constexpr unsigned slots = 64;
  static std::atomic<void*> shelf[slots];  // chains of one class per slot, left by one thread and taken by another
  for (unsigned number = 0; number < 4; ++number)
    threads.emplace_back([&, number] {
      std::mt19937 random(number);
      for (int step = 0; step < 20000; ++step) {
        const unsigned slot = random() % slots;
        const unsigned small_class = slot % tri::mpi::small_class_count;
        auto why = page_runs::refusal::none;
        const auto chain = blocks->take(small_class, 1 + random() % 8, why);
        ASSERT_NE(chain.first, nullptr);
        for (void* block = chain.first; block != nullptr; block = tri::mpi::next_block(block))
          std::memset(static_cast<char*>(block) + 8, static_cast<int>(number), 8);
        void* const other = shelf[slot].exchange(chain.first, std::memory_order_acq_rel);
        if (other != nullptr) blocks->give(small_class, {other, 0});
        if (step % 16 == 0) {
          const auto run = take(1 + random() % 4000);
          ASSERT_NE(run.address, nullptr);
          run.address[0] = std::byte{1};
          if (random() % 2 == 0) runs_.resize(run.run, 1 + random() % 4000);
          runs_.release(run.run);
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (unsigned slot = 0; slot < slots; ++slot)
    if (void* const left = shelf[slot].exchange(nullptr)) blocks->give(slot % tri::mpi::small_class_count, {left, 0});
  EXPECT_TRUE(runs_.is_valid());
  EXPECT_LE(runs_.use().in_use_bytes, tri::mpi::small_class_count * 256 * 1024);
  runs_.purge_all();
  EXPECT_TRUE(runs_.is_valid());
}

TEST(small_classes, every_size_gets_the_smallest_class_that_holds_it) {
  for (std::size_t bytes = 0; bytes <= tri::mpi::largest_small_bytes; ++bytes) {
    const unsigned small_class = tri::mpi::small_class_of(bytes);
    ASSERT_GE(tri::mpi::bytes_of_small_class(small_class), bytes);
    if (small_class > 0) {
      ASSERT_LT(tri::mpi::bytes_of_small_class(small_class - 1), bytes);
    }
  }
  for (unsigned small_class = 0; small_class < tri::mpi::small_class_count; ++small_class)
    ASSERT_LE(tri::mpi::span_pages_of_class(small_class) * page_bytes, 256 * 1024U);
}

}  // namespace
