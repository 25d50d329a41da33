// Seeds between hosts: all interleavings of a few PEs, each alone on its host, over small trees of seeds. Each seed
// begins once, messages come to an end, and at the end each host has asked every host that it may ask: none starves
// beside seeds.
#include "sched/seeds/seed_requests.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include "explore/explorer.hpp"

namespace tri::sched {
namespace {

enum class rules : std::uint8_t {
  whole,
  gifts_leave_requests,  // a gift does not make the giver's own request void: the giver asks never again
};

// Seed `number` has the children 2 * number + 1 and 2 * number + 2, as far as they are below `seeds`.
class world {
 public:
  world(int pes, int seeds, std::vector<int> made_on, rules which = rules::whole)
      : pes_(pes), seeds_(seeds), rules_(which), begun_(static_cast<std::size_t>(seeds), 0) {
    for (int pe = 0; pe < pes; ++pe) all_.push_back({seed_requests(lifeline_hosts(pe, pes)), {}});
    channels_.resize(static_cast<std::size_t>(pes * pes));
    int number = 0;
    for (const int pe : made_on) at(pe).own.push_back(number++);
    roots_ = number;
  }

  int steps() {
    possible_.clear();
    for (int pe = 0; pe < pes_; ++pe)
      if (!at(pe).own.empty() || at(pe).requests.may_ask()) possible_.push_back({pe, -1});
    for (int from = 0; from < pes_; ++from)
      for (int to = 0; to < pes_; ++to)
        if (!channel(from, to).empty()) possible_.push_back({from, to});
    return static_cast<int>(possible_.size());
  }

  void take(int step) {
    const auto [from, to] = possible_[static_cast<std::size_t>(step)];
    if (to < 0)
      act(from);
    else
      deliver(from, to);
    check_invariant();
  }

  void check_end() {
    for (int seed = 0; seed < seeds_; ++seed)
      if (begun_[static_cast<std::size_t>(seed)] != 1) throw std::runtime_error("a seed never begins");
    for (int pe = 0; pe < pes_; ++pe)
      for (const int other : lifeline_hosts(pe, pes_))
        if (!at(other).requests.keeps_request_of(pe)) throw std::runtime_error("a PE starves and is not heard");
  }

  void encode(explore::fingerprint& made) {
    const auto put = [&](int word) { made.put(static_cast<std::uint64_t>(word)); };
    const auto put_all = [&](const auto& words) {
      put(static_cast<int>(words.size()));
      for (const int word : words) put(word);
    };
    for (pe_state& pe : all_) {
      pe.requests.encode(put);
      put_all(pe.own);
    }
    for (const auto& each : channels_) put_all(each);
    put_all(begun_);
  }

 private:
  static constexpr int request = -1;  // a message; others are seeds
  struct pe_state {
    seed_requests requests;
    std::deque<int> own;  // the newest at the end
  };
  struct step_of {
    int from, to;
  };
  pe_state& at(int pe) { return all_[static_cast<std::size_t>(pe)]; }
  std::deque<int>& channel(int from, int to) { return channels_[static_cast<std::size_t>(from * pes_ + to)]; }

  void act(int pe) {
    pe_state& here = at(pe);
    if (here.own.empty()) {
      here.requests.starving([&](int other) { channel(pe, other).push_back(request); });
      return;
    }
    const int seed = here.own.back();
    here.own.pop_back();
    give(pe, 0);
    if (++begun_[static_cast<std::size_t>(seed)] != 1) throw std::runtime_error("a seed begins twice");
    if (roots_ == 1)
      for (const int child : {2 * seed + 1, 2 * seed + 2})
        if (child < seeds_) here.own.push_back(child);
  }
  void give(int pe, std::size_t kept) {
    pe_state& here = at(pe);
    here.requests.serve([&](int asker) {
      if (here.own.size() <= kept) return false;
      const auto count = seed_requests::share_of(static_cast<std::int64_t>(here.own.size() - kept));
      for (std::int64_t i = 0; i < count; ++i) {
        channel(pe, asker).push_back(here.own.front());
        here.own.pop_front();
      }
      return true;
    });
  }
  void deliver(int from, int to) {
    const int message = channel(from, to).front();
    channel(from, to).pop_front();
    if (message == request) {
      at(to).requests.asked_by(from);
      return give(to, 1);
    }
    if (rules_ == rules::whole) at(to).requests.arrived_from(from);
    at(to).own.push_back(message);
  }

  // Who has asked is heard, or will be, or is answered.
  void check_invariant() {
    if (rules_ != rules::whole) return;
    for (int pe = 0; pe < pes_; ++pe)
      for (int other = 0; other < pes_; ++other) {
        if (!at(pe).requests.has_asked(other) || at(other).requests.keeps_request_of(pe)) continue;
        bool in_flight = !channel(other, pe).empty();
        for (const int message : channel(pe, other)) in_flight |= message == request;
        if (!in_flight) throw std::runtime_error("a request was lost");
      }
  }

  int pes_;
  int seeds_;
  rules rules_;
  int roots_ = 0;
  std::vector<int> begun_;
  std::vector<pe_state> all_;
  std::vector<std::deque<int>> channels_;
  std::vector<step_of> possible_;
};

void expect_sound(world start, std::uint64_t least_states) {
  const explore::model_outcome found = explore::explore_all(start, 20'000'000);
  EXPECT_EQ(found.fault, "") << found.text();
  EXPECT_TRUE(found.complete);
  EXPECT_GE(found.states, least_states);
}

TEST(seed_requests, all_interleavings_of_two_hosts) {
  expect_sound(world(2, 7, {0}), 50);
  expect_sound(world(2, 15, {1}), 1000);
  expect_sound(world(2, 5, {0, 0, 0, 0, 0}), 30);
  expect_sound(world(2, 4, {0, 0, 1, 1}), 30);
}

TEST(seed_requests, all_interleavings_of_three_hosts) {
  expect_sound(world(3, 5, {0}), 1000);
  expect_sound(world(3, 4, {0, 0, 0, 2}), 1000);
}

TEST(seed_requests, random_interleavings_of_many_hosts) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    world start(9, 200, {3});
    const explore::model_outcome found = explore::explore_random(start, seed, 100'000);
    EXPECT_EQ(found.fault, "") << found.text();
    EXPECT_EQ(found.ends, 1U);
  }
}

TEST(seed_requests, where_gifts_leave_requests_somebody_is_not_heard) {
  EXPECT_NE(explore::explore_all(world(2, 7, {0}, rules::gifts_leave_requests), 20'000'000).fault, "");
}

TEST(seed_requests, lifelines_reach_every_host) {
  for (int hosts = 1; hosts <= 40; ++hosts) {
    std::vector<int> steps_to(static_cast<std::size_t>(hosts), hosts);
    std::deque<int> reached{0};
    steps_to[0] = 0;
    for (; !reached.empty(); reached.pop_front())
      for (const int next : lifeline_hosts(reached.front(), hosts)) {
        ASSERT_NE(next, reached.front());
        if (steps_to[static_cast<std::size_t>(next)] < hosts) continue;
        steps_to[static_cast<std::size_t>(next)] = steps_to[static_cast<std::size_t>(reached.front())] + 1;
        reached.push_back(next);
      }
    for (const int steps : steps_to)
      EXPECT_LE(steps, static_cast<int>(lifeline_hosts(0, hosts).size())) << hosts << " hosts";
  }
}

}  // namespace
}  // namespace tri::sched
