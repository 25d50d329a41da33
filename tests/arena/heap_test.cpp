// The heap of span runs against a simple model: no two runs overlap, freed neighbours join, the limit holds.
#include "arena/heap.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "test_window.hpp"
#include "trireme/detail/arena/allocate.hpp"

namespace tri::arena {
namespace {

using ::testing::HasSubstr;
using testing::test_window;
using ::testing::ThrowsMessage;

constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

struct taken_run {
  std::byte* start;
  std::size_t spans;
  unsigned char mark;
};

TEST(heap, agrees_with_a_model_under_random_use) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    test_window place;
    heap tested(place.mapped, 0, std::size_t{48} << 20);
    std::mt19937 random(seed);
    std::vector<taken_run> taken;
    std::size_t spans_taken = 0;
    unsigned char mark = 0;
    for (int step = 0; step < 2000; ++step) {
      if (taken.empty() || random() % 100 < 52) {
        const std::size_t spans = random() % 10 == 0 ? 1 + random() % 200 : 1 + random() % 8;
        try {
          std::byte* const start = tested.take_spans(spans, 3, large_run);
          for (const taken_run& other : taken)
            ASSERT_TRUE(start + spans * span_bytes <= other.start || other.start + other.spans * span_bytes <= start)
                << "overlap";
          ASSERT_GE(start, place.mapped.address + span_bytes) << "the header is no block";
          ASSERT_LE(start + spans * span_bytes, place.mapped.address + place.mapped.bytes);
          ++mark;
          start[0] = static_cast<std::byte>(mark);
          start[spans * span_bytes - 1] = static_cast<std::byte>(mark);
          taken.push_back({start, spans, mark});
          spans_taken += spans;
        } catch (const arena_exhausted&) {
          ASSERT_GT((spans_taken + spans) * 2 * span_bytes, std::size_t{48} << 20)
              << "refused with most of the room left";
        }
      } else {
        const std::size_t which = random() % taken.size();
        const taken_run run = taken[which];
        ASSERT_EQ(run.start[0], static_cast<std::byte>(run.mark));
        ASSERT_EQ(run.start[run.spans * span_bytes - 1], static_cast<std::byte>(run.mark));
        tested.release_run(run.start);
        spans_taken -= run.spans;
        taken[which] = taken.back();
        taken.pop_back();
      }
      ASSERT_EQ(tested.bytes_in_use(), spans_taken * span_bytes);
      if (step % 16 == 0) {
        ASSERT_TRUE(tested.is_valid()) << "seed " << seed << " step " << step;
      }
    }
    for (const taken_run& run : taken) tested.release_run(run.start);
    ASSERT_TRUE(tested.is_valid());
    ASSERT_EQ(tested.bytes_in_use(), 0U);
    // Everything has joined again: the largest possible block can be had.
    const std::size_t all = (std::size_t{48} << 20) / span_bytes;
    tested.release_run(tested.take_spans(all, 0, large_run));
  }
}

TEST(heap, joins_freed_neighbours_from_both_sides) {
  test_window place;
  heap tested(place.mapped, 0, no_limit);
  std::byte* runs[5];
  for (auto& run : runs) run = tested.take_spans(4, 0, large_run);
  tested.release_run(runs[1]);
  tested.release_run(runs[3]);
  tested.release_run(runs[2]);  // between two free ones
  EXPECT_TRUE(tested.is_valid());
  EXPECT_EQ(tested.take_spans(12, 0, large_run), runs[1]);
  EXPECT_TRUE(tested.is_valid());
}

TEST(heap, says_what_was_asked_and_allowed_when_exhausted_and_goes_on) {
  test_window place;
  heap tested(place.mapped, 0, 10 * span_bytes);
  std::byte* const first = tested.take_spans(8, 0, large_run);
  EXPECT_THAT([&] { tested.take_spans(3, 0, large_run); },
              ThrowsMessage<arena_exhausted>(
                  ::testing::AllOf(HasSubstr("192 KiB asked"), HasSubstr("512 KiB of this process's window in use"),
                                   HasSubstr("640 KiB allowed"), HasSubstr("--tri-arena-limit-bytes"))));
  EXPECT_EQ(tested.bytes_in_use(), 8 * span_bytes) << "a refused request takes nothing";
  EXPECT_NE(tested.take_spans(2, 0, large_run), nullptr);
  tested.release_run(first);
  EXPECT_NE(tested.take_spans(8, 0, large_run), nullptr);
  EXPECT_TRUE(tested.is_valid());
}

TEST(heap, refuses_a_piece_that_no_gap_holds) {
  test_window place;
  heap tested(place.mapped, 0, no_limit);
  std::vector<std::byte*> runs;
  for (int i = 0; i < 1000; ++i) runs.push_back(tested.take_spans(1, 0, large_run));
  for (std::size_t i = 0; i < runs.size(); i += 2) tested.release_run(runs[i]);
  EXPECT_THAT([&] { tested.take_spans(100, 0, large_run); }, ThrowsMessage<arena_exhausted>(HasSubstr("no such gap")));
  EXPECT_TRUE(tested.is_valid());
}

// Who started the process knows what its user can do.
TEST(heap, advises_what_it_was_told) {
  test_window place;
  heap tested(place.mapped, 0, 10 * span_bytes, {.address_space = "", .window = "a taller mast", .limit = "less sail"});
  EXPECT_THAT([&] { tested.take_spans(11, 0, large_run); },
              ThrowsMessage<arena_exhausted>(
                  ::testing::AllOf(HasSubstr("640 KiB allowed (less sail)"), ::testing::Not(HasSubstr("--tri-")))));
  heap unlimited(place.mapped, 0, no_limit, {.address_space = "", .window = "a taller mast", .limit = "less sail"});
  std::vector<std::byte*> runs;
  for (int i = 0; i < 1000; ++i) runs.push_back(unlimited.take_spans(1, 0, large_run));
  for (std::size_t i = 0; i < runs.size(); i += 2) unlimited.release_run(runs[i]);
  EXPECT_THAT([&] { unlimited.take_spans(100, 0, large_run); },
              ThrowsMessage<arena_exhausted>(HasSubstr("left (a taller mast)")));
}

TEST(heap, reserves_zeroed_memory_also_where_blocks_were) {
  test_window place;
  heap tested(place.mapped, 0, no_limit);
  std::byte* const block = tested.take_spans(4, 0, large_run);
  std::memset(block, 0xff, 4 * span_bytes);
  tested.release_run(block);
  auto* const reserved = static_cast<unsigned char*>(tested.reserve(8 * span_bytes));
  EXPECT_EQ(std::count(reserved, reserved + 8 * span_bytes, 0), static_cast<std::ptrdiff_t>(8 * span_bytes));
  EXPECT_TRUE(tested.is_valid());
}

TEST(heap, gives_the_pages_of_huge_runs_back_to_the_system) {
  test_window place;
  heap tested(place.mapped, 0, no_limit);
  const std::size_t spans = (std::size_t{16} << 20) / span_bytes;
  std::byte* const block = tested.take_spans(spans, 0, large_run);
  std::memset(block, 1, spans * span_bytes);
  tested.release_run(block);
  std::vector<unsigned char> resident(spans * span_bytes / 4096);
  ASSERT_EQ(mincore(block, spans * span_bytes, resident.data()), 0);
  EXPECT_EQ(std::count_if(resident.begin(), resident.end(), [](unsigned char page) { return (page & 1) != 0; }), 0);
}

TEST(heap, serves_several_threads) {
  test_window place;
  heap tested(place.mapped, 0, no_limit);
  std::vector<std::thread> threads;
  for (unsigned number = 0; number < 4; ++number)
    threads.emplace_back([&, number] {
      std::mt19937 random(number);
      std::vector<std::byte*> own;
      for (int step = 0; step < 2000; ++step) {
        if (own.size() < 20 && random() % 2 == 0) {
          own.push_back(tested.take_spans(1 + random() % 5, 0, large_run));
          std::memset(own.back(), static_cast<int>(number), 64);
        } else if (!own.empty()) {
          ASSERT_EQ(own.back()[63], static_cast<std::byte>(number));
          tested.release_run(own.back());
          own.pop_back();
        }
      }
      for (std::byte* const run : own) tested.release_run(run);
    });
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(tested.is_valid());
  EXPECT_EQ(tested.bytes_in_use(), 0U);
}

TEST(heap, recognises_foreign_and_mixed_up_windows) {
  test_window place;
  heap tested(place.mapped, 5, no_limit);
  EXPECT_NO_THROW(heap::validate(place.mapped, 5));
  EXPECT_THAT([&] { heap::validate(place.mapped, 4); }, ThrowsMessage<std::runtime_error>(HasSubstr("number 5")));
  tested.header().version = 77;
  EXPECT_THAT([&] { heap::validate(place.mapped, 5); }, ThrowsMessage<std::runtime_error>(HasSubstr("version 77")));
  tested.header().magic = 0;
  EXPECT_THAT([&] { heap::validate(place.mapped, 5); },
              ThrowsMessage<std::runtime_error>(HasSubstr("is not one of ours")));
}

// M20: what other threads write lies on lines of its own.
static_assert(sizeof(return_stack) == cache_line_bytes && alignof(return_stack) == cache_line_bytes);

// What the thread sanitizer is told to take for a hand-over to another process must be one: each that is not hides
// races.
TEST(sanitizer_handover, only_the_other_windows_of_the_arena_belong_to_others) {
  const auto malloced = std::make_unique<int>(0);
  const auto in_window = [](int number, std::size_t offset) {
    return reinterpret_cast<const void*>(base_address + static_cast<std::size_t>(number) * testing::small_window_bytes +
                                         offset);
  };
  EXPECT_FALSE(belongs_to_another_process(in_window(0, 0))) << "no heap yet";
  {
    test_window place(testing::small_window_bytes, 1);
    heap own(place.mapped, 1, no_limit);
    EXPECT_FALSE(belongs_to_another_process(malloced.get()));
    EXPECT_FALSE(belongs_to_another_process(&malloced));
    EXPECT_FALSE(belongs_to_another_process(in_window(1, 0)));
    EXPECT_FALSE(belongs_to_another_process(in_window(1, testing::small_window_bytes - 1)));
    EXPECT_TRUE(belongs_to_another_process(in_window(0, testing::small_window_bytes - 1)));
    EXPECT_TRUE(belongs_to_another_process(in_window(2, 0)));
    EXPECT_FALSE(belongs_to_another_process(in_window(most_windows(testing::small_window_bytes), 0)));
  }
  EXPECT_FALSE(belongs_to_another_process(in_window(0, 0))) << "no heap any more";
}

}  // namespace
}  // namespace tri::arena
