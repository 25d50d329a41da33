// Windows: the same bytes at the same address in two processes, and clear words when a place cannot be had.
#include "arena/window.hpp"

#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <optional>

#include "arena/arena.hpp"
#include "os/child_process.hpp"
#include "test_window.hpp"

namespace tri::arena {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::small_window_bytes;
using testing::test_window;
using ::testing::ThrowsMessage;

TEST(window, names_what_lies_in_its_place) {
  void* const place = reinterpret_cast<void*>(base_address + small_window_bytes / 2);
  const int blocker = memfd_create("the-blocker", 0);
  ASSERT_EQ(ftruncate(blocker, 4096), 0);
  ASSERT_EQ(mmap(place, 4096, PROT_READ, MAP_SHARED | MAP_FIXED_NOREPLACE, blocker, 0), place);
  EXPECT_THAT([] { test_window window; }, ThrowsMessage<std::runtime_error>(AllOf(
                                              HasSubstr("cannot map a window of 64 MiB"), HasSubstr("the-blocker"))));
  munmap(place, 4096);
  close(blocker);
  EXPECT_NO_THROW(test_window());
}

TEST(window, refuses_numbers_that_no_host_has) {
  EXPECT_THAT([] { test_window window(small_window_bytes, most_windows(small_window_bytes)); },
              ThrowsMessage<std::runtime_error>(HasSubstr("a host has windows 0..")));
  EXPECT_THROW(test_window(small_window_bytes, -1), std::runtime_error);
  EXPECT_NO_THROW(test_window(small_window_bytes, most_windows(small_window_bytes) - 1));
}

// Beyond 256 processes, too, each has a place of its own.
TEST(window, there_are_places_for_512_processes_with_the_default_size) {
  constexpr std::size_t bytes = config::default_arena_window_bytes;
  constexpr int most = most_windows(bytes);
  EXPECT_EQ(most, os::under_thread_sanitizer ? 64 : 512);
  EXPECT_EQ(most_windows(bytes / 2), 2 * most);
  const int file = create_window_file(bytes);
  for (const int number : {most / 2 - 1, most / 2, most - 1}) {
    const window mapped = map_window(file, number, bytes, false);
    EXPECT_TRUE(in_arena(mapped.address));
    EXPECT_TRUE(in_arena(mapped.address + mapped.bytes - 1));
    munmap(mapped.address, mapped.bytes);
  }
  EXPECT_FALSE(in_arena(reinterpret_cast<void*>(end_address)));
  close(file);
  const auto open_with = [&](int processes) {
    arena_space space({bytes, 0, allocator_kind::caches}, std::vector<int>(static_cast<std::size_t>(processes), -1), 0,
                      [] {});
  };
  EXPECT_THAT(
      [&] { open_with(most + 1); },
      ThrowsMessage<std::runtime_error>(AllOf(
          HasSubstr(std::to_string(most + 1) + " processes on this host; there are addresses for the windows of " +
                    std::to_string(most) + ", each of " + std::to_string(bytes >> 20) + " MiB"),
          HasSubstr("(--pes), or choose a smaller --tri-arena-window-bytes"))));
  EXPECT_THAT([&] { open_with(most); }, ThrowsMessage<std::runtime_error>(HasSubstr("cannot map a window")));
}

TEST(window, explains_a_limit_on_file_sizes_instead_of_ending_the_process) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit little{small_window_bytes - 1, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  std::string told;
  try {
    close(create_window_file(small_window_bytes));
  } catch (const std::exception& error) {
    told = error.what();
  }
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_THAT(told, ::testing::HasSubstr("the limit of file sizes (ulimit -f) is "));
}

TEST(window, explains_a_limit_on_address_space) {
  if (os::under_thread_sanitizer) GTEST_SKIP() << "the thread sanitizer itself needs more address space than any limit";
  const int file = create_window_file(small_window_bytes);
  os::pipe_ends answer = os::open_pipe();
  const pid_t child = os::start_function([&] {
    std::size_t pages = 0;
    if (std::FILE* const statm = std::fopen("/proc/self/statm", "r")) {
      if (std::fscanf(statm, "%zu", &pages) != 1) return 3;
      std::fclose(statm);
    }
    const rlimit limit{pages * 4096 + (16 << 20), pages * 4096 + (16 << 20)};
    setrlimit(RLIMIT_AS, &limit);
    try {
      map_window(file, 0, small_window_bytes, true);
    } catch (const std::exception& error) {
      const auto length = std::strlen(error.what());
      return write(answer.write.get(), error.what(), length) == static_cast<ssize_t>(length) ? 0 : 2;
    }
    return 1;
  });
  answer.write.reset();
  std::string text(1000, '\0');
  const ssize_t length = read(answer.read.get(), text.data(), text.size());
  text.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  EXPECT_EQ(os::wait_for(child), 0);
  EXPECT_THAT(text, AllOf(HasSubstr("64 MiB of address space"),
                          HasSubstr("'ulimit -v' forbids it; raise it or choose a smaller --tri-arena-window-bytes)")));
  close(file);
}

struct meeting {
  std::atomic<int> at_barrier{0};
  std::atomic<void*> from_first{nullptr};
  std::atomic<void*> from_second{nullptr};
  std::atomic<int> released{0};
};

void meet(meeting& place, int expected) {
  place.at_barrier.fetch_add(1);
  while (place.at_barrier.load() < expected) usleep(50);
}

// M08, M25: two processes open both windows; each hands the other pointers into its own, and either releases the
// other's.
int one_of_two(meeting& place, const std::vector<int>& files, int rank) {
  arena_space space({small_window_bytes, 0, allocator_kind::caches}, files, rank, [&] { meet(place, 2); });
  cache_guard cache(0);
  space.publish(allocate(64));
  std::strcpy(static_cast<char*>(space.root_of(rank)), rank == 0 ? "root of the first" : "root of the second");
  meet(place, 4);
  if (std::strcmp(static_cast<char*>(space.root_of(1 - rank)),
                  rank == 1 ? "root of the first" : "root of the second") != 0)
    return 1;
  auto& own = rank == 0 ? place.from_first : place.from_second;
  auto& other = rank == 0 ? place.from_second : place.from_first;
  std::size_t in_use_after_start = 0;
  for (int round = 1; round <= 3000; ++round) {
    const std::size_t bytes = static_cast<std::size_t>(round % 40 == 0 ? 200'000 : 16 + round % 3000);
    auto* const block = static_cast<unsigned char*>(allocate(bytes));
    std::memset(block, round % 256, bytes);
    std::memcpy(block, &bytes, sizeof bytes);
    own.store(block);
    void* got = nullptr;
    while ((got = other.exchange(nullptr)) == nullptr) usleep(1);
    std::size_t theirs = 0;
    std::memcpy(&theirs, got, sizeof theirs);
    if (theirs != bytes) return 2;
    for (std::size_t i = sizeof theirs; i < theirs; ++i)
      if (static_cast<unsigned char*>(got)[i] != round % 256) return 3;
    release(got);
    while (own.load() != nullptr) usleep(1);
    if (round == 1500) in_use_after_start = space.heap().bytes_in_use();
  }
  // What the other released came home: the second half needed nothing new.
  if (space.heap().bytes_in_use() > in_use_after_start + (std::size_t{1} << 20)) return 4;
  settle();
  meet(place, 6);
  return space.heap().is_valid() ? 0 : 5;
}

TEST(window, two_processes_pass_blocks_by_pointer) {
  void* const memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto& place = *new (memory) meeting;
  const std::vector<int> files{create_window_file(small_window_bytes), create_window_file(small_window_bytes)};
  const pid_t child = os::start_function([&] {
    try {
      return one_of_two(place, files, 1);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "second process: %s\n", error.what());
      return 9;
    }
  });
  EXPECT_EQ(one_of_two(place, files, 0), 0);
  const int status = os::wait_for(child);
  EXPECT_EQ(status, 0) << "exit status " << WEXITSTATUS(status);
  for (const int file : files) close(file);
  munmap(memory, 4096);
}

}  // namespace
}  // namespace tri::arena
