// The summary over words of bits: two agents set and clear their own bits of one word, step by step as work_words does,
// and after each set() ring whoever has announced its sleep; a third announces that, looks, and sleeps. Shown: a
// completed set() is visible through the summary until its clear() begins, except while another agent is in the middle
// of a clear() that will look again; the sleeper, which looks at the word too, never sleeps on beside a completed
// set(); at the end the summary mark says whether the word is empty.
#include <gmock/gmock.h>

#include <array>

#include "explore/explorer.hpp"

namespace tri::board {
namespace {

struct words_model {
  enum place : std::uint8_t {
    set_word,
    set_look,
    set_mark,
    look_for_sleeper,
    clear_word,
    clear_mark,
    look_1,
    release,
    look_2,
    done
  };
  enum class sleeping : std::uint8_t { announce, look_at_summary, look_at_word, asleep, awake };

  bool looks_again = true;
  bool sleeper_looks_at_word = true;
  std::uint8_t rounds = 2;
  std::uint8_t word = 0;
  std::uint8_t mark = 0;
  std::array<place, 2> at{set_word, set_word};
  std::array<std::uint8_t, 2> round{};
  std::uint8_t announced = 0;
  sleeping sleeper = sleeping::announce;

  int agents() const { return 3; }
  bool enabled(int agent) const {
    if (agent == 2) return sleeper != sleeping::asleep && sleeper != sleeping::awake;
    return at[static_cast<std::size_t>(agent)] != done;
  }

  void step_sleeper() {
    switch (sleeper) {
      case sleeping::announce:
        announced = 1, sleeper = sleeping::look_at_summary;
        break;
      case sleeping::look_at_summary:
        sleeper = mark != 0 ? sleeping::awake : sleeper_looks_at_word ? sleeping::look_at_word : sleeping::asleep;
        break;
      case sleeping::look_at_word:
        sleeper = word != 0 ? sleeping::awake : sleeping::asleep;
        break;
      case sleeping::asleep:
      case sleeping::awake:
        break;
    }
  }

  void end_round(std::size_t me) { at[me] = ++round[me] < rounds ? set_word : done; }

  void step(int agent) {
    if (agent == 2) return step_sleeper();
    const auto me = static_cast<std::size_t>(agent);
    const auto own = static_cast<std::uint8_t>(1 << me);
    switch (at[me]) {
      case set_word:
        word |= own, at[me] = set_look;
        break;
      case set_look:
        at[me] = mark != 0 ? look_for_sleeper : set_mark;
        break;
      case set_mark:
        mark = 1, at[me] = look_for_sleeper;
        break;
      case look_for_sleeper:  // a ring is never lost: that is shown elsewhere
        if (announced != 0) sleeper = sleeping::awake;
        at[me] = clear_word;
        break;
      case clear_word:
        word = static_cast<std::uint8_t>(word & ~own);
        at[me] = clear_mark;
        if (word != 0) end_round(me);
        break;
      case clear_mark:
        mark = 0, at[me] = look_1;
        if (!looks_again) end_round(me);
        break;
      case look_1:
        if (word == 0)
          end_round(me);
        else
          at[me] = release;
        break;
      case release:
        mark = 1, at[me] = look_2;
        break;
      case look_2:
        if (word == 0)
          at[me] = clear_mark;
        else
          end_round(me);
        break;
      case done:
        break;
    }
  }

  std::string fault() const {
    for (std::size_t me = 0; me < 2; ++me) {
      const place other = at[1 - me];
      const bool other_looks_again = other == look_1 || other == release;
      if (at[me] == clear_word && mark == 0 && !other_looks_again) return "set, but hidden";
      if (at[me] == clear_word && sleeper == sleeping::asleep) return "asleep beside a set bit";
    }
    return "";
  }
  std::string fault_at_end() const { return mark != 0 ? "a mark is left over" : ""; }
  void append_key(std::string& key) const {
    for (const std::uint8_t value : {word, mark, std::uint8_t{at[0]}, std::uint8_t{at[1]}, round[0], round[1],
                                     announced, static_cast<std::uint8_t>(sleeper)}) {
      explore::append_value(key, value);
    }
  }
};

TEST(work_words_protocol, never_hides_a_set_bit) {
  const explore::model_outcome result = explore::explore_all(words_model{.rounds = 3});
  EXPECT_EQ(result.fault, "") << result.text();
  EXPECT_TRUE(result.complete);
}

TEST(work_words_protocol, without_the_second_look_bits_would_be_hidden) {
  EXPECT_EQ(explore::explore_all(words_model{.looks_again = false}).fault, "set, but hidden");
}

TEST(work_words_protocol, a_sleeper_that_trusts_the_summary_sleeps_beside_open_work) {
  EXPECT_EQ(explore::explore_all(words_model{.sleeper_looks_at_word = false}).fault, "asleep beside a set bit");
}

}  // namespace
}  // namespace tri::board
