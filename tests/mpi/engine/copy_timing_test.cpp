// What a rank learns from the times of its copies, with times that the test makes up.
#include "mpi/engine/copy_timing.hpp"

#include <gtest/gtest.h>

namespace tri::mpi {
namespace {

constexpr std::size_t KiB = 1024;

// Copies of `bytes`, of which shared ones take `shared` ticks and others `alone`. Returns how many were shared.
int copies_shared(copy_timing& timing, std::size_t bytes, std::uint64_t shared, std::uint64_t alone, int count) {
  int made = 0;
  for (int i = 0; i < count; ++i) {
    const bool is_shared = timing.shares(bytes);
    if (is_shared) ++made;
    timing.took(bytes, bytes, is_shared, is_shared ? shared : alone);
  }
  return made;
}

TEST(copy_timing, tries_both_and_stays_with_the_quicker_one) {
  copy_timing quicker_alone;
  EXPECT_EQ(copies_shared(quicker_alone, 64 * KiB, 400, 300, 8), 4);
  EXPECT_LE(copies_shared(quicker_alone, 64 * KiB, 400, 300, 1000), 1000 / 16);
  copy_timing quicker_shared;
  copies_shared(quicker_shared, 64 * KiB, 300, 400, 8);
  EXPECT_GE(copies_shared(quicker_shared, 64 * KiB, 300, 400, 1000), 1000 - 1000 / 16);
}

TEST(copy_timing, tries_the_other_way_less_and_less_often) {
  copy_timing timing;
  copies_shared(timing, 64 * KiB, 400, 300, 100'000);
  const int shared = copies_shared(timing, 64 * KiB, 400, 300, 25'600);
  EXPECT_GE(shared, 90);
  EXPECT_LE(shared, 110);
}

TEST(copy_timing, notices_when_the_other_way_becomes_quicker) {
  copy_timing timing;
  copies_shared(timing, 64 * KiB, 400, 300, 1000);
  copies_shared(timing, 64 * KiB, 100, 300, 5000);
  EXPECT_GE(copies_shared(timing, 64 * KiB, 100, 300, 1000), 900);
}

TEST(copy_timing, sizes_are_learned_apart) {
  copy_timing timing;
  copies_shared(timing, 64 * KiB, 400, 300, 100);
  copies_shared(timing, 1024 * KiB, 300, 400, 100);
  EXPECT_LE(copies_shared(timing, 64 * KiB, 400, 300, 100), 10);
  EXPECT_GE(copies_shared(timing, 1024 * KiB, 300, 400, 100), 90);
}

TEST(copy_timing, one_interruption_changes_nothing) {
  copy_timing timing;
  copies_shared(timing, 64 * KiB, 400, 300, 100);
  timing.took(64 * KiB, 64 * KiB, false, 1'000'000'000);
  EXPECT_LE(copies_shared(timing, 64 * KiB, 400, 300, 100), 25);
  // Nor does one among the first.
  copy_timing young;
  ASSERT_TRUE(young.shares(64 * KiB));
  young.took(64 * KiB, 64 * KiB, true, 1'000'000'000);
  EXPECT_GE(copies_shared(young, 64 * KiB, 300, 400, 107), 90);
}

TEST(copy_timing, several_at_once_count_by_their_bytes) {
  copy_timing timing;
  for (int i = 0; i < 8; ++i) {
    const bool shared = timing.shares(64 * KiB);
    if (shared)
      timing.took(64 * KiB, 16 * 64 * KiB, true, 16 * 400);
    else
      timing.took(64 * KiB, 64 * KiB, false, 300);
  }
  EXPECT_FALSE(timing.shares(64 * KiB));
}

}  // namespace
}  // namespace tri::mpi
