// The explorer itself: it must find what is wrong, name the schedule, and visit everything.
#include "explore/explorer.hpp"

#include <gmock/gmock.h>

#include <array>

namespace tri::explore {
namespace {

// A lock that looks and then takes (wrong), or takes in one step (right).
struct lock_model {
  bool one_step = true;
  bool forgets_to_release = false;
  std::uint8_t taken = 0;
  std::array<std::uint8_t, 2> at{};  // 0 outside, 1 has looked, 2 inside, 3 done

  int agents() const { return 2; }
  bool enabled(int agent) const {
    const std::uint8_t place = at[static_cast<std::size_t>(agent)];
    return place == 0 ? taken == 0 : place < 3;
  }
  void step(int agent) {
    std::uint8_t& place = at[static_cast<std::size_t>(agent)];
    if (place == 0 && !one_step) {
      place = 1;
    } else if (place < 2) {
      taken = 1;
      place = 2;
    } else {
      if (!forgets_to_release) taken = 0;
      place = 3;
    }
  }
  std::string fault() const { return at[0] == 2 && at[1] == 2 ? "both inside" : ""; }
  std::string fault_at_end() const { return at[0] == 3 && at[1] == 3 ? "" : "deadlock"; }
  void append_key(std::string& key) const {
    append_value(key, taken);
    append_value(key, at[0]);
    append_value(key, at[1]);
  }
};

TEST(explorer, passes_a_right_protocol_and_visits_all_of_it) {
  const model_outcome result = explore_all(lock_model{});
  EXPECT_EQ(result.fault, "") << result.text();
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(result.states, 8u);  // of 3 x 3 places, both inside is impossible
  EXPECT_EQ(result.ends, 1u);
}

TEST(explorer, finds_a_race_and_its_schedule) {
  const model_outcome result = explore_all(lock_model{.one_step = false});
  EXPECT_EQ(result.fault, "both inside");
  lock_model replay{.one_step = false};
  for (const int agent : result.schedule) replay.step(agent);
  EXPECT_EQ(replay.fault(), "both inside") << result.text();
}

TEST(explorer, finds_a_deadlock) { EXPECT_EQ(explore_all(lock_model{.forgets_to_release = true}).fault, "deadlock"); }

TEST(explorer, random_schedules_find_the_race_and_repeat_by_seed) {
  const model_outcome first = explore_random(lock_model{.one_step = false}, 7, 1000, 100);
  const model_outcome second = explore_random(lock_model{.one_step = false}, 7, 1000, 100);
  EXPECT_EQ(first.fault, "both inside");
  EXPECT_EQ(first.schedule, second.schedule);
  EXPECT_EQ(explore_random(lock_model{}, 7, 1000, 100).fault, "");
  EXPECT_EQ(explore_random(lock_model{}, 7, 1000, 100).ends, 1000u);
}

TEST(explorer, stops_at_the_limit_and_says_so) {
  const model_outcome result = explore_all(lock_model{}, 3);
  EXPECT_FALSE(result.complete);
  EXPECT_EQ(result.states, 3u);
}

}  // namespace
}  // namespace tri::explore
