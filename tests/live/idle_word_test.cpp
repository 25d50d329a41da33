// Idleness in one word: what a reader computes at any moment, with a clock that the test turns.
#include "live/idle_word.hpp"

#include <gmock/gmock.h>

#include <random>

namespace tri::live {
namespace {

struct metered : ::testing::Test {
  std::atomic<std::uint64_t> word{0};
  idle_meter meter{word, 100};
  std::uint64_t read(std::uint64_t now) const { return idle_ticks(word.load(), now); }
};

TEST_F(metered, short_idleness_is_shown_when_it_is_over) {
  EXPECT_FALSE(meter.nothing_found(1000));
  EXPECT_FALSE(meter.nothing_found(1099));
  EXPECT_EQ(read(1099), 0U);
  EXPECT_FALSE(is_idle(word.load()));
  meter.ended(meter.last_look());
  EXPECT_EQ(read(5000), 99U);
  EXPECT_FALSE(meter.is_idle());
}

TEST_F(metered, long_idleness_is_shown_while_it_lasts) {
  EXPECT_FALSE(meter.nothing_found(1000));
  EXPECT_TRUE(meter.nothing_found(1100)) << "the first time";
  EXPECT_FALSE(meter.nothing_found(1200)) << "shown already";
  EXPECT_TRUE(is_idle(word.load()));
  EXPECT_EQ(read(1100), 100U);
  EXPECT_EQ(read(90'000), 89'000U) << "it may sleep without looking";
  meter.ended(2000);
  EXPECT_EQ(read(90'000), 1000U);
}

TEST_F(metered, before_a_sleep_it_is_shown_at_once) {
  EXPECT_FALSE(meter.publish()) << "it is not idle";
  meter.nothing_found(1000);
  EXPECT_TRUE(meter.publish());
  EXPECT_FALSE(meter.publish());
  EXPECT_EQ(read(1001), 1U);
}

TEST_F(metered, a_reader_whose_clock_is_behind_sees_no_idleness_rather_than_ages) {
  meter.nothing_found(1000);
  meter.publish();
  EXPECT_EQ(read(990), 0U);
}

// Against a model that adds up: the figure is exact between idle times, and never falls.
TEST_F(metered, agrees_with_a_sum_and_never_falls) {
  std::mt19937 random(1);
  std::uint64_t now = 1'000'000;
  std::uint64_t sum = 0;
  std::uint64_t last = 0;
  for (int round = 0; round < 10'000; ++round) {
    now += random() % 500;  // works
    const std::uint64_t began = now;
    for (auto looks = 1 + random() % 5; looks > 0; --looks) {
      meter.nothing_found(now);
      if (random() % 7 == 0) meter.publish();
      ASSERT_GE(read(now), last);
      last = read(now);
      now += random() % 80;
    }
    sum += now - began;
    meter.ended(now);
    ASSERT_EQ(read(now + random() % 100), sum);
    last = sum;
  }
}

}  // namespace
}  // namespace tri::live
