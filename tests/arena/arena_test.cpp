// The arena as the rest of the process sees it: PEs, guests, all allocator kinds, the limit, the footprint report.
#include "arena/arena.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <mutex>
#include <optional>
#include <random>
#include <thread>

#include "arena/footprint.hpp"
#include "os/child_process.hpp"
#include "support/fake_root.hpp"
#include "test_window.hpp"

namespace tri::arena {
namespace {

using ::testing::HasSubstr;
using testing::small_window_bytes;
using ::testing::ThrowsMessage;

// An open arena of one process.
struct open_arena {
  explicit open_arena(allocator_kind kind = allocator_kind::caches, std::size_t limit = 0,
                      std::size_t window = small_window_bytes)
      : file(create_window_file(window)) {
    space.emplace(arena_options{window, limit, kind}, std::vector<int>{file}, 0, [] {});
  }
  ~open_arena() {
    space.reset();
    close(file);
  }
  int file;
  std::optional<arena_space> space;
};

// M13: the allocator is selectable; all kinds pass the same test.
class allocator_kinds : public ::testing::TestWithParam<allocator_kind> {};
INSTANTIATE_TEST_SUITE_P(all, allocator_kinds,
                         ::testing::Values(allocator_kind::caches, allocator_kind::locked, allocator_kind::checked));

TEST_P(allocator_kinds, pes_and_guests_pass_blocks_to_each_other) {
  open_arena arena(GetParam());
  constexpr int threads_count = 4;
  std::mutex bag_lock;
  std::vector<std::pair<unsigned char*, std::size_t>> bag;
  std::atomic<int> damaged{0};
  std::vector<std::thread> threads;
  for (int number = 0; number < threads_count; ++number)
    threads.emplace_back([&, number] {
      std::optional<cache_guard> cache;
      if (number < 2) cache.emplace(number);  // the others are guests
      std::mt19937 random(static_cast<unsigned>(number));
      for (int step = 0; step < 4000; ++step) {
        const std::size_t bytes = 1 + random() % (step % 50 == 0 ? 100'000 : 500);
        auto* const block = static_cast<unsigned char*>(allocate(bytes));
        std::memset(block, static_cast<int>(bytes % 251), bytes);
        std::pair<unsigned char*, std::size_t> other{};
        {
          std::lock_guard guard(bag_lock);
          bag.emplace_back(block, bytes);
          if (bag.size() > 50) {
            std::swap(bag.back(), bag[random() % bag.size()]);
            other = bag.back();
            bag.pop_back();
          }
        }
        if (other.first == nullptr) continue;
        for (std::size_t i = 0; i < other.second; ++i) damaged += other.first[i] != other.second % 251 ? 1 : 0;
        release(other.first);
      }
    });
  for (auto& thread : threads) thread.join();
  for (const auto& [block, bytes] : bag) release(block);
  EXPECT_EQ(damaged, 0);
  EXPECT_TRUE(arena.space->heap().is_valid());
}

TEST_P(allocator_kinds, exhausted_says_so_and_stays_usable) {
  open_arena arena(GetParam(), std::size_t{4} << 20);
  cache_guard cache(0);
  std::vector<void*> blocks;
  EXPECT_THAT(
      [&] {
        for (;;) blocks.push_back(allocate(100'000));
      },
      ThrowsMessage<arena_exhausted>(::testing::AllOf(HasSubstr("arena exhausted"), HasSubstr("4096 KiB allowed"),
                                                      HasSubstr("--tri-arena-limit-bytes"))));
  EXPECT_EQ(blocks.size(), (std::size_t{4} << 20) / (2 * span_bytes));
  for (void* const block : blocks) release(block);
  for (int i = 0; i < 10; ++i) blocks[static_cast<std::size_t>(i)] = allocate(100'000);
  EXPECT_NE(allocate(1000), nullptr);
}

TEST_P(allocator_kinds, exhausted_by_small_blocks_says_so_and_stays_usable) {
  open_arena arena(GetParam(), std::size_t{2} << 20);
  std::vector<void*> blocks;
  EXPECT_THROW(
      {
        for (;;) blocks.push_back(allocate(200));
      },
      arena_exhausted);
  EXPECT_GT(blocks.size(), (std::size_t{2} << 20) / (GetParam() == allocator_kind::checked ? 380 : 300));
  for (void* const block : blocks) release(block);
  EXPECT_NE(allocate(200), nullptr);
}

TEST(arena, large_blocks_of_guests_come_home_at_once) {
  open_arena arena;
  void* block = nullptr;
  std::thread([&] {
    cache_guard cache(0);
    block = allocate(1'000'000);
  }).join();
  const std::size_t with_block = arena.space->heap().bytes_in_use();
  release(block);
  cache_guard cache(0);
  allocate(40'000);  // an allocation of that kind looks for what came home
  EXPECT_LE(arena.space->heap().bytes_in_use(), with_block + span_bytes);
  release(allocate(1'000'000));
  EXPECT_LE(arena.space->heap().bytes_in_use(), with_block + span_bytes);
}

TEST(arena, without_one_open_allocation_fails_and_release_is_harmless) {
  EXPECT_EQ(current(), nullptr);
  EXPECT_THAT([] { allocate(1); }, ThrowsMessage<std::logic_error>(HasSubstr("no arena is open")));
  EXPECT_THROW(cache_guard(0), std::logic_error);
  void* block = nullptr;
  {
    open_arena arena;
    EXPECT_EQ(current(), &*arena.space);
    block = allocate(10);
  }
  release(block);
}

TEST(arena, only_one_at_a_time_and_only_sensible_windows) {
  open_arena arena;
  EXPECT_THAT([] { open_arena second; }, ThrowsMessage<std::logic_error>(HasSubstr("already has one open")));
}

TEST(arena, refuses_windows_that_are_no_power_of_two_or_too_small) {
  for (const std::size_t bytes : {std::size_t{1} << 20, (std::size_t{64} << 20) + 4096, std::size_t{0}})
    EXPECT_THAT(
        [&] {
          arena_space space({bytes, 0, allocator_kind::caches}, {-1}, 0, [] {});
        },
        ThrowsMessage<std::runtime_error>(HasSubstr("must be a power of two of at least 64 MiB")));
}

TEST(arena, leaves_nothing_mapped_when_opening_fails) {
  const int file = create_window_file(small_window_bytes);
  const auto fail = [] { throw std::runtime_error("a peer is gone"); };
  EXPECT_THAT(
      [&] {
        arena_space space({small_window_bytes, 0, allocator_kind::caches}, {file, file}, 0, fail);
      },
      ThrowsMessage<std::runtime_error>("a peer is gone"));
  close(file);
  open_arena next;  // would find its place taken
  EXPECT_NE(allocate(5), nullptr);
}

TEST(arena, notices_that_two_peers_have_the_same_window) {
  const int file = create_window_file(small_window_bytes);
  EXPECT_THAT(
      [&] {
        arena_space space({small_window_bytes, 0, allocator_kind::caches}, {file, file}, 0, [] {});
      },
      ThrowsMessage<std::runtime_error>(HasSubstr("window 1 of this host is not one of ours")));
  close(file);
}

// M12: the report within 20 % of what the kernel says, before and after the arena is used.
TEST(arena, footprint_report_agrees_with_the_kernel) {
  open_arena arena(allocator_kind::caches, 0, std::size_t{256} << 20);
  const auto resident_of_kernel = [] {
    std::ifstream smaps("/proc/self/smaps_rollup");
    std::size_t kib = 0;
    for (std::string name; smaps >> name;)
      if (name == "Rss:" && smaps >> kib) break;
    return static_cast<double>(kib) * 1024;
  };
  const memory_footprint before = measure_footprint(arena.space->heap());
  EXPECT_LT(std::abs(static_cast<double>(before.resident_bytes) - resident_of_kernel()), 0.2 * resident_of_kernel());
  EXPECT_LT(before.arena_resident_bytes, std::size_t{1} << 20) << "libraries are not arena";
  const std::size_t bytes = std::size_t{100} << 20;
  void* const block = allocate(bytes);
  std::memset(block, 1, bytes);
  const memory_footprint after = measure_footprint(arena.space->heap());
  EXPECT_LT(std::abs(static_cast<double>(after.resident_bytes) - resident_of_kernel()), 0.2 * resident_of_kernel());
  EXPECT_NEAR(static_cast<double>(after.arena_resident_bytes - before.arena_resident_bytes), static_cast<double>(bytes),
              0.2 * static_cast<double>(bytes));
  EXPECT_EQ(after.arena_in_use_bytes - before.arena_in_use_bytes, bytes);
  EXPECT_EQ(after.private_bytes + after.arena_resident_bytes, after.resident_bytes);
  release(block);
}

// M12: by PE.
TEST(arena, footprint_of_each_pe) {
  open_arena arena(allocator_kind::caches, 0, std::size_t{256} << 20);
  const heap& all = arena.space->heap();
  std::vector<void*> blocks;
  for (const int pe : {0, 3}) {
    const cache_guard cache(pe);
    blocks.push_back(allocate(std::size_t{pe == 0 ? 8U : 2U} << 20));
  }
  for (void* const block : blocks) release(block);
  EXPECT_EQ(all.most_bytes_of(0), std::size_t{8} << 20);
  EXPECT_EQ(all.most_bytes_of(3), std::size_t{2} << 20);
  EXPECT_EQ(all.most_bytes_of(1), 0u);
  arena.space->heap().reserve(1000);
  EXPECT_EQ(all.reserved_bytes(), span_bytes);
  EXPECT_TRUE(all.is_valid());
}

TEST(arena, a_forked_child_reads_the_past_and_disturbs_nobody) {
  open_arena arena;
  auto* const word = static_cast<int*>(allocate(sizeof(int)));
  *word = 41;
  const pid_t child = os::start_function([&] {
    if (!in_forked_child() || *word != 41) return 1;
    *word = 666;
    std::memset(arena.space->heap().own_window().address, 0, 4096);
    return *word == 666 ? 0 : 2;
  });
  EXPECT_EQ(os::wait_for(child), 0);
  EXPECT_EQ(*word, 41);
  EXPECT_NO_THROW(heap::validate(arena.space->heap().own_window(), 0));
  EXPECT_FALSE(in_forked_child());
}

// It cannot be left behind in /dev/shm or elsewhere.
TEST(arena, memory_has_no_name_in_the_file_system) {
  open_arena arena;
  allocate(100);
  std::ifstream maps("/proc/self/maps");
  int mapped = 0;
  for (std::string line; std::getline(maps, line);) {
    if (std::stoull(line, nullptr, 16) != reinterpret_cast<std::uintptr_t>(arena.space->heap().own_window().address))
      continue;
    EXPECT_THAT(line, ::testing::ContainsRegex("/memfd:.*\\(deleted\\)$"));
    ++mapped;
  }
  EXPECT_EQ(mapped, 1);
}

TEST(arena, automatic_limit_is_a_share_of_what_the_container_allows) {
  constexpr std::size_t container = std::size_t{64} << 20;
  const tri::testing::fake_root root;
  const std::size_t of_machine = automatic_limit(~std::size_t{0}, 1, root.path());
  EXPECT_GT(of_machine, container);
  root.file("/proc/self/cgroup", "0::/job");
  root.file("/sys/fs/cgroup/job/memory.max", std::to_string(container));
  EXPECT_EQ(automatic_limit(~std::size_t{0}, 1, root.path()), container / 4 * 3);
  EXPECT_EQ(automatic_limit(~std::size_t{0}, 3, root.path()), container / 4);
  EXPECT_EQ(automatic_limit(1 << 20, 1, root.path()), std::size_t{1} << 20) << "no more than the window";
  root.file("/sys/fs/cgroup/job/memory.max", std::to_string(std::size_t{1} << 60));  // more than there is
  EXPECT_EQ(automatic_limit(~std::size_t{0}, 1, root.path()), of_machine);
}

}  // namespace
}  // namespace tri::arena
