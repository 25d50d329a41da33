// What becomes of a job after each loss: all short histories.
#include "launch/survival.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace tri::launch {
namespace {

ended_processes lost(bool has_new_checkpoint, std::vector<int> hosts = {}) {
  ended_processes life;
  life.status = 137;
  life.lost = true;
  life.lost_hosts = std::move(hosts);
  life.has_new_checkpoint = has_new_checkpoint;
  return life;
}
ended_processes resized(int processes) {
  ended_processes life;
  life.status = 75;
  life.wanted_processes = processes;
  life.has_new_checkpoint = true;
  return life;
}
ended_processes ended(int status) {
  ended_processes life;
  life.status = status;
  return life;
}
ended_processes interrupted(bool lost_one) {
  ended_processes life = lost_one ? lost(false) : ended(0);
  life.status = lost_one ? 137 : 130;
  life.requested_status = 130;
  return life;
}

// Every history of up to seven lives, as far as the job goes on.
TEST(survival, all_short_histories) {
  const std::vector<ended_processes> alphabet{lost(false),        lost(true),       lost(true, {0}), lost(false, {1}),
                                              resized(5),         resized(1),       ended(0),        ended(3),
                                              interrupted(false), interrupted(true)};
  int histories = 0;
  const std::function<void(std::vector<ended_processes>&)> explore = [&](std::vector<ended_processes>& history) {
    for (const ended_processes& next : alphabet) {
      history.push_back(next);
      survival fate(4, 2);
      survival::decision last;
      for (const ended_processes& life : history) last = fate.after(life);
      ++histories;
      bool any_checkpoint = false;
      int processes = 4, fruitless = 0;
      std::vector<int> hosts{0, 1};
      for (const ended_processes& life : history) {
        any_checkpoint |= life.has_new_checkpoint;
        if (life.has_new_checkpoint) fruitless = 0;
        if (life.lost && life.lost_hosts.empty() && !life.requested_status) ++fruitless;
        if (life.wanted_processes) processes = *life.wanted_processes;
        for (const int host : life.lost_hosts) std::erase(hosts, host);
      }
      const bool survivable = !next.requested_status && (next.wanted_processes || next.lost);
      const bool goes_on = survivable && (!next.lost || (fruitless <= 3 && !hosts.empty()));
      ASSERT_EQ(last.ends_with.has_value(), !goes_on);
      if (!goes_on) {
        ASSERT_EQ(*last.ends_with, next.requested_status.value_or(next.status));
        ASSERT_EQ(last.text.empty(), !survivable);
      } else {
        ASSERT_EQ(last.processes, processes);
        ASSERT_EQ(last.hosts, hosts);
        ASSERT_EQ(last.from_checkpoint, any_checkpoint);
        ASSERT_FALSE(last.text.empty());
        if (history.size() < 6) explore(history);
      }
      history.pop_back();
    }
  };
  std::vector<ended_processes> none;
  explore(none);
  EXPECT_GT(histories, 10000);
}

TEST(survival, says_what_happens) {
  survival fate(2, 0);
  EXPECT_EQ(fate.after(lost(false)).text, "the job begins again: it had no checkpoint yet (start 2)");
  EXPECT_EQ(fate.after(lost(true)).text, "the job goes on from its last checkpoint (start 3)");
  EXPECT_EQ(fate.after(resized(1)).text, "the job goes on with 1 process (start 4)");
  EXPECT_EQ(fate.after(resized(3)).text, "the job goes on with 3 processes (start 5)");
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(fate.after(lost(false)).ends_with);
  EXPECT_EQ(fate.after(lost(false)).text,
            "the job is given up: processes were lost 4 times without a new checkpoint in between");
}

TEST(survival, hosts_may_be_found_lost_one_after_another) {
  survival fate(6, 6);
  for (int host = 0; host < 5; ++host) EXPECT_FALSE(fate.after(lost(false, {host})).ends_with) << host;
  EXPECT_EQ(fate.after(lost(false, {5})).text, "the job is given up: no host is left");
}

TEST(survival, goes_on_with_those_that_are_left_if_asked) {
  survival fate(5, 0, survival::after_loss::fewer);
  ended_processes life = lost(true);
  life.lost_processes = 2;
  survival::decision next = fate.after(life);
  EXPECT_EQ(next.processes, 3);
  EXPECT_EQ(next.text, "the job goes on from its last checkpoint with 3 processes (start 2)");
  life.lost_processes = 0;  // one at least
  EXPECT_EQ(fate.after(life).processes, 2);
  EXPECT_EQ(fate.after(resized(4)).processes, 4);
  life.lost_processes = 7;
  EXPECT_EQ(fate.after(life).text, "the job goes on from its last checkpoint with 1 process (start 5)");
  EXPECT_EQ(fate.after(life).processes, 1);
}

}  // namespace
}  // namespace tri::launch
