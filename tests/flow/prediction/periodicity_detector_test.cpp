// The detector against equation 3.1 as it stands: a sum over the whole window, computed again for every value.
#include "flow/prediction/periodicity_detector.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <vector>

namespace {

using tri::flow::prediction::periodicity_detector;
using tri::flow::prediction::symbol;

// d(m) of Farreras 2008, equation 3.1, of the newest value; nothing where the window or what lies m before it has not
// been seen yet. Any difference makes the sum positive, so it counts differences.
int differences(const std::vector<symbol>& x, int window, int m) {
  int sum = 0;
  const int newest = static_cast<int>(x.size()) - 1;
  for (int i = newest - window + 1; i <= newest; ++i) {
    sum += x[static_cast<std::size_t>(i)] != x[static_cast<std::size_t>(i - m)] ? 1 : 0;
  }
  return sum;
}

int period_by_definition(const std::vector<symbol>& x, int window, int longest_period) {
  for (int m = 1; m <= longest_period; ++m) {
    if (static_cast<int>(x.size()) - 1 < window - 1 + m) continue;
    if (differences(x, window, m) == 0) return m;
  }
  return 0;
}

int agreement_by_definition(const std::vector<symbol>& x, int window, int m) {
  int run = 0;
  for (int i = static_cast<int>(x.size()) - 1; i >= m && run < window; --i, ++run) {
    if (x[static_cast<std::size_t>(i)] != x[static_cast<std::size_t>(i - m)]) break;
  }
  return run;
}

// Stretches with a period, stretches at random, single wrong values: what a detector meets.
std::vector<symbol> mixed_stream(std::mt19937_64& random, std::size_t length) {
  std::vector<symbol> x;
  while (x.size() < length) {
    const auto alphabet = 1 + random() % 3;
    const auto period = 1 + random() % 12;
    const auto stretch = 1 + random() % 80;
    const bool repeats = random() % 4 != 0;
    for (std::size_t i = 0; i < stretch; ++i) {
      const bool copies = repeats && x.size() >= period && random() % 64 != 0;
      x.push_back(copies ? x[x.size() - period] : static_cast<symbol>(random() % alphabet));
    }
  }
  x.resize(length);
  return x;
}

TEST(periodicity_detector, equals_the_definition_on_mixed_streams) {
  std::mt19937_64 random(20081);
  int periods_seen = 0;
  for (int stream = 0; stream < 120; ++stream) {
    const int window = 1 + static_cast<int>(random() % 20);
    const int longest_period = 1 + static_cast<int>(random() % static_cast<std::uint64_t>(window));
    periodicity_detector detector(window, longest_period);
    std::vector<symbol> x;
    for (const symbol value : mixed_stream(random, 400)) {
      detector.push(value);
      x.push_back(value);
      ASSERT_EQ(detector.period(), period_by_definition(x, window, longest_period))
          << "window " << window << ", longest period " << longest_period << ", value " << x.size();
      int likely = 0;
      int longest = 0;
      for (int m = 1; m <= longest_period; ++m) {
        const int run = agreement_by_definition(x, window, m);
        ASSERT_EQ(detector.agreement(m), run) << "period " << m << ", value " << x.size();
        if (run > longest) {
          longest = run;
          likely = m;
        }
      }
      ASSERT_EQ(detector.likely_period(), likely) << "value " << x.size();
      if (detector.period() > 1) ++periods_seen;
    }
  }
  EXPECT_GT(periods_seen, 1000);  // or the streams above show nothing
}

TEST(periodicity_detector, forgetting_is_starting_anew) {
  std::mt19937_64 random(20082);
  periodicity_detector cleared(16, 12);
  for (const symbol value : mixed_stream(random, 100)) cleared.push(value);
  cleared.clear();
  periodicity_detector fresh(16, 12);
  for (const symbol value : mixed_stream(random, 300)) {
    cleared.push(value);
    fresh.push(value);
    ASSERT_EQ(cleared.period(), fresh.period());
    ASSERT_EQ(cleared.likely_period(), fresh.likely_period());
  }
}

// Returns the index of the value at which a period is first reported.
int first_lock(periodicity_detector& detector, const std::vector<symbol>& pattern, int most) {
  for (int i = 0; i < most; ++i) {
    detector.push(pattern[static_cast<std::size_t>(i) % pattern.size()]);
    if (detector.period() > 0) return i;
  }
  return -1;
}

TEST(periodicity_detector, locks_after_window_and_period) {
  periodicity_detector detector(6, 6);
  EXPECT_EQ(first_lock(detector, {0, 0, 2, 2, 1, 1}, 100), 11);
  EXPECT_EQ(detector.period(), 6);
}

// FA-02: a pattern of 18 with three sizes, as of BT.
TEST(periodicity_detector, predicts_from_the_first_lock_on) {
  const std::vector<symbol> pattern{0, 1, 1, 2, 0, 0, 1, 2, 2, 0, 1, 0, 2, 1, 0, 0, 2, 1};
  periodicity_detector detector(256, 256);
  const int lock = first_lock(detector, pattern, 1000);
  ASSERT_EQ(lock, 256 + 18 - 1);
  for (int i = lock; i < lock + 400; ++i) {
    ASSERT_EQ(detector.period(), 18);
    for (int ahead = 1; ahead <= 40; ++ahead) {
      ASSERT_EQ(detector.next(ahead, 18), pattern[static_cast<std::size_t>(i + ahead) % 18]) << i << " +" << ahead;
    }
    detector.push(pattern[static_cast<std::size_t>(i + 1) % 18]);
  }
}

// FA-03: 125 equal values and another one, as of LU.
TEST(periodicity_detector, finds_long_nested_periods) {
  std::vector<symbol> pattern(126, 7);
  pattern.back() = 8;
  periodicity_detector detector(126, 126);
  EXPECT_EQ(first_lock(detector, pattern, 1000), 251);
  for (int i = 252; i < 1000; ++i) {
    ASSERT_EQ(detector.period(), 126);
    ASSERT_EQ(detector.next(1, 126), pattern[static_cast<std::size_t>(i) % 126]);
    detector.push(pattern[static_cast<std::size_t>(i) % 126]);
  }
  // The bound that the header names: a window shorter than the run sees period 1 inside it.
  periodicity_detector short_window(124, 124);
  EXPECT_EQ(first_lock(short_window, pattern, 1000), 124);
  EXPECT_EQ(short_window.period(), 1);
}

// An inner loop repeated inside an outer one: the inner period must not hide the outer.
TEST(periodicity_detector, sees_the_outer_loop) {
  std::vector<symbol> pattern;
  for (int inner = 0; inner < 20; ++inner) pattern.insert(pattern.end(), {1, 2, 3});
  pattern.push_back(9);
  periodicity_detector detector(64, 64);
  const int lock = first_lock(detector, pattern, 1000);
  EXPECT_EQ(detector.period(), 61);
  EXPECT_EQ(lock, 64 + 61 - 1);
}

TEST(periodicity_detector, guesses_after_one_repetition) {
  periodicity_detector detector(256, 256);
  for (symbol value = 0; value < 30; ++value) {
    detector.push(value);
    ASSERT_EQ(detector.likely_period(), 0);
  }
  detector.push(0);
  EXPECT_EQ(detector.likely_period(), 30);
  EXPECT_EQ(detector.next(1, 30), 1);
  EXPECT_EQ(detector.period(), 0);
}

TEST(periodicity_detector, counts_agreements_up_to_the_window_only) {
  periodicity_detector detector(periodicity_detector::longest_window, 2);
  for (int i = 0; i < 100000; ++i) detector.push(3);
  EXPECT_EQ(detector.agreement(1), periodicity_detector::longest_window);
  EXPECT_EQ(detector.period(), 1);
  detector.push(4);
  EXPECT_EQ(detector.agreement(1), 0);
  EXPECT_EQ(detector.agreement(2), 0);
}

TEST(periodicity_detector, refuses_impossible_sizes) {
  EXPECT_THROW(periodicity_detector(8, 0), std::invalid_argument);
  EXPECT_THROW(periodicity_detector(32768, 8), std::invalid_argument);
  try {
    periodicity_detector detector(8, 9);
    FAIL() << "a period longer than the window";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(),
                 "period detector: 1 <= longest period <= window <= 32767 must hold, not longest period 9, window 8");
  }
}

}  // namespace
