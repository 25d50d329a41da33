// What a crash writes: the memory in use of the own window, and nothing that had no memory before. A real process ends
// by a signal in each case, and the memory file of its window tells afterwards what the kernel allocated for the dump.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <random>

#include "../support/command_runner.hpp"
#include "../support/core_file.hpp"
#include "arena/block_cache.hpp"
#include "arena/core_dump_units.hpp"
#include "test_window.hpp"

namespace tri::arena {
namespace {

using testing::test_window;

constexpr std::size_t mib = std::size_t{1} << 20;
constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();
constexpr std::size_t window_bytes = 512 * mib;

std::size_t allocated_bytes(int file) {
  struct stat status {};
  return fstat(file, &status) == 0 ? static_cast<std::size_t>(status.st_blocks) * 512 : no_limit;
}

// Bytes of the mapping without the flag that leaves them out of core files.
std::size_t bytes_dumped_by_the_kernel(const window& mapped) {
  std::ifstream maps("/proc/self/smaps");
  std::size_t sum = 0, begin = 0, end = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find('-') < line.find(' ') && std::isxdigit(static_cast<unsigned char>(line[0])) != 0) {
      begin = std::stoull(line, nullptr, 16);
      end = std::stoull(line.substr(line.find('-') + 1), nullptr, 16);
    }
    const auto first = reinterpret_cast<std::uintptr_t>(mapped.address);
    if (line.starts_with("VmFlags:") && begin >= first && end <= first + mapped.bytes &&
        line.find(" dd") == std::string::npos)
      sum += end - begin;
  }
  return sum;
}

// The books agree with the kernel's, whatever is taken in and left out.
TEST(core_dump_units, do_what_they_say_under_random_use) {
  test_window place(64 * mib);
  core_dump_units units(place.mapped.address, place.mapped.bytes);
  EXPECT_EQ(units.dumped_bytes(), 0U);
  std::mt19937 random(7);
  for (int step = 0; step < 300; ++step) {
    const std::size_t offset = random() % (64 * mib - 1);
    const std::size_t bytes = 1 + random() % std::min(64 * mib - offset, (step % 3 == 0 ? 40 : 2) * mib);
    if (step % 3 == 0)
      units.leave_out(place.mapped.address + offset, bytes);
    else
      units.take_in(place.mapped.address + offset, bytes);
    ASSERT_EQ(units.dumped_bytes(), bytes_dumped_by_the_kernel(place.mapped)) << "step " << step;
  }
  units.take_in(place.mapped.address, place.mapped.bytes);
  EXPECT_EQ(units.dumped_bytes(), place.mapped.bytes);
  units.leave_out(place.mapped.address, place.mapped.bytes);
  EXPECT_EQ(units.dumped_bytes(), 0U);
}

TEST(core_dump_units, are_few_however_large_the_mapping_is) {
  test_window place(std::size_t{8} << 30);
  core_dump_units small(place.mapped.address, 64 * mib);
  EXPECT_EQ(small.unit_bytes(), mib);
  core_dump_units large(place.mapped.address, std::size_t{64} << 36);  // the kernel refuses what is not mapped
  EXPECT_EQ(large.unit_bytes(), 64 * mib);
}

// Few pieces that are left out, so few mappings.
TEST(core_dump_units, leave_out_large_ranges_only) {
  test_window place(64 * mib);
  core_dump_units units(place.mapped.address, place.mapped.bytes);
  units.take_in(place.mapped.address, place.mapped.bytes);
  units.leave_out(place.mapped.address + 1, 4 * mib);  // three whole units
  EXPECT_EQ(units.dumped_bytes(), 64 * mib);
  units.leave_out(place.mapped.address, 4 * mib);
  EXPECT_EQ(units.dumped_bytes(), 60 * mib);
}

struct crash {
  std::size_t before;  // bytes of the memory file when the process crashed
  std::size_t after;
  std::string marker;  // what its core file holds at the block that the program filled
};

constexpr char marker[] = "the message in use when it crashed";

// A process opens a heap, `use` allocates from it and says which block to mark, then it aborts.
crash crash_after(const std::function<void*(block_cache&)>& use) {
  const tri::testing::temporary_folder folder;
  test_window place(window_bytes);
  int told[2];
  EXPECT_EQ(pipe(told), 0);
  const pid_t child = fork();
  if (child == 0) {
    const rlimit all{RLIM_INFINITY, RLIM_INFINITY};
    if (chdir(folder.path().c_str()) != 0 || setrlimit(RLIMIT_CORE, &all) != 0) _exit(1);
    heap own(place.mapped, 0, no_limit);
    block_cache cache(own, 0);
    void* const block = use(cache);
    std::memcpy(block, marker, sizeof marker);
    const std::size_t facts[2] = {reinterpret_cast<std::size_t>(block), allocated_bytes(place.file)};
    if (write(told[1], facts, sizeof facts) != sizeof facts) _exit(2);
    std::abort();
  }
  std::size_t facts[2] = {};
  EXPECT_EQ(read(told[0], facts, sizeof facts), static_cast<ssize_t>(sizeof facts));
  close(told[0]);
  close(told[1]);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && WCOREDUMP(status)) << status;
  tri::testing::core_file core(folder.path());
  EXPECT_FALSE(core.empty());
  return {facts[1], allocated_bytes(place.file), core.memory(reinterpret_cast<void*>(facts[0]), sizeof marker)};
}

class core_dump : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = tri::testing::why_no_core_files(); !why.empty()) GTEST_SKIP() << why;
  }
  static void expect_used_memory_only(const crash& found) {
    EXPECT_EQ(found.marker, std::string(marker, sizeof marker));
    EXPECT_LE(found.after, found.before + 8 * mib) << "the dump has allocated holes";
  }
};

TEST_F(core_dump, of_a_small_block) {
  expect_used_memory_only(crash_after([](block_cache& cache) { return cache.allocate(100); }));
}

TEST_F(core_dump, of_a_large_block_behind_others) {
  expect_used_memory_only(crash_after([](block_cache& cache) {
    for (const std::size_t bytes : {40 * mib, 3 * mib, 20 * mib}) std::memset(cache.allocate(bytes), 1, bytes);
    return cache.allocate(100'000);
  }));
}

TEST_F(core_dump, of_what_was_released_and_used_again) {
  expect_used_memory_only(crash_after([](block_cache& cache) {
    void* const hundred = cache.allocate(100 * mib);
    std::memset(hundred, 1, 100 * mib);
    void* const last = cache.allocate(mib);
    std::memset(last, 1, mib);
    cache.release(hundred);  // has no memory any more
    return cache.allocate(2 * mib);
  }));
}

}  // namespace
}  // namespace tri::arena
