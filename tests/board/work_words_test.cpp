// The bits of open work and their summary word.
#include "board/work_words.hpp"

#include <gmock/gmock.h>

#include <array>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace tri::board {
namespace {

using word = std::atomic<std::uint64_t>;

TEST(work_words, one_word_is_its_own_summary) {
  word unused{0};
  word only{0};
  work_words<word> words(&unused, &only, 1);
  EXPECT_FALSE(words.any());
  words.set(63);
  EXPECT_TRUE(words.any());
  EXPECT_TRUE(words.test(63));
  EXPECT_EQ(words.bits(60, 4), 8u);
  words.clear(63);
  words.clear(63);
  EXPECT_FALSE(words.any());
  EXPECT_EQ(unused.load(), 0u);
}

// Somebody has cleared the last bit of a word and taken the mark away; in between another bit was set there, by
// somebody who still saw the mark.
TEST(work_words, the_look_before_sleep_finds_a_bit_that_has_no_mark) {
  word summary{0};
  std::array<word, 3> memory{};
  work_words<word> words(&summary, memory.data(), 3);
  EXPECT_FALSE(words.any_before_sleep());
  for (word& each : memory) {
    each = 1;
    EXPECT_FALSE(words.any());
    EXPECT_TRUE(words.any_before_sleep());
    each = 0;
  }
}

TEST(work_words, agrees_with_a_set_of_numbers) {
  word summary{0};
  std::array<word, 64> memory{};
  work_words<word> words(&summary, memory.data(), 64);
  std::set<std::uint32_t> model;
  std::mt19937 random(5);
  for (int step = 0; step < 20000; ++step) {
    const std::uint32_t bit = random() % 4096;
    if (random() % 2 == 0 && model.size() < 40) {
      words.set(bit);
      model.insert(bit);
    } else if (!model.empty()) {
      const std::uint32_t old = *model.begin();
      words.clear(old);
      model.erase(old);
    }
    ASSERT_EQ(words.any(), !model.empty());
    ASSERT_EQ(words.test(bit), model.contains(bit));
  }
}

TEST(work_words, a_bit_that_stays_set_is_never_hidden) {
  word summary{0};
  std::array<word, 2> memory{};
  work_words<word> words(&summary, memory.data(), 2);
  std::atomic<bool> stop{false};
  std::vector<std::thread> others;
  for (const std::uint32_t bit : {65u, 66u}) {
    others.emplace_back([&, bit] {
      while (!stop.load()) {
        words.set(bit);
        words.clear(bit);
      }
    });
  }
  for (int round = 0; round < 20000; ++round) {
    words.set(64);
    while (!words.any()) std::this_thread::yield();  // at most for the moment in which another one looks again
    words.clear(64);
  }
  stop = true;
  for (std::thread& other : others) other.join();
  EXPECT_FALSE(words.any());
}

}  // namespace
}  // namespace tri::board
