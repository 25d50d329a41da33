// The order of priorities, at compile time, and against plain lexicographic comparison.
#include "trireme/detail/sched/priority.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace tri {
namespace {

static_assert(priority(-1) < priority(0) && priority(0) < priority(1));
static_assert(priority(std::numeric_limits<std::int32_t>::min()) < priority(std::numeric_limits<std::int32_t>::max()));
static_assert(priority() == priority(0));
static_assert(priority::bits({}) < priority::bits({false}) && priority::bits({false}) < priority::bits({false, false}));
static_assert(priority::bits({false, true}) < priority::bits({true}) &&
              priority::bits({true}) < priority::bits({true, false}));
static_assert(priority::bits({true}) < priority(0), "a prefix of the vector of integer 0");
static_assert(priority::bits({false, true, true}) < priority(0) && priority(0) < priority::bits({true, true}));
static_assert(priority::bits({true, false}).extended(0b101, 3) == priority::bits({true, false, true, false, true}));
static_assert(priority::bits({true, false, true}).length_bits() == 3 && priority(7).length_bits() == 32);

TEST(priority, compares_like_a_vector_of_bits) {
  std::mt19937 random(11);
  const auto made = [&](std::vector<bool>& bits) {
    priority result = priority::bits({});
    const auto length = random() % (priority::most_bits + 1);
    const auto shared = random() % (length + 1);  // long common prefixes
    for (std::size_t i = 0; i < length; ++i) {
      bits.push_back(i < shared ? i % 3 == 0 : random() % 2 == 0);
      result = result.extended(bits.back() ? 1 : 0, 1);
    }
    return result;
  };
  for (int round = 0; round < 20'000; ++round) {
    std::vector<bool> a_bits, b_bits;
    const priority a = made(a_bits);
    const priority b = made(b_bits);
    ASSERT_EQ(a < b, std::lexicographical_compare(a_bits.begin(), a_bits.end(), b_bits.begin(), b_bits.end()));
    ASSERT_EQ(a == b, a_bits == b_bits);
  }
}

TEST(priority, integers_keep_their_order) {
  std::mt19937 random(2);
  for (int round = 0; round < 20'000; ++round) {
    const auto a = static_cast<std::int32_t>(random());
    const auto b = static_cast<std::int32_t>(random());
    ASSERT_EQ(priority(a) < priority(b), a < b);
  }
}

TEST(priority, refuses_more_than_120_bits) {
  const priority longest = priority::bits({}).extended(0, 60).extended(0, 60);
  EXPECT_EQ(longest.length_bits(), 120U);
  EXPECT_THROW(static_cast<void>(longest.extended(1, 1)), std::length_error);
}

}  // namespace
}  // namespace tri
