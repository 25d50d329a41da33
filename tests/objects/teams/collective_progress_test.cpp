// Collectives under way on all members of a small team, several at a time: all interleavings of calls and messages, on
// every tree. Each member finishes each collective once, with the value of all, and needs nobody's call but those that
// its result depends on; nothing is left over.
#include "trireme/detail/objects/collective_progress.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "explore/explorer.hpp"
#include "objects/teams/team_tree.hpp"

namespace tri::objects {
namespace {

using direction = collective_progress::direction;

/// What all members call, in this order: where values go, and the root.
struct call {
  direction goes;
  int root;
};

enum class rule : std::uint8_t { whole, up_without_the_call };

class world {
 public:
  world(const std::vector<int>& hosts, std::vector<call> calls, rule rules = rule::whole)
      : calls_(std::move(calls)), rules_(rules) {
    const team_tree tree(hosts);
    for (int rank = 0; rank < tree.size(); ++rank) {
      called_.push_back(0);
      for (const call& each : calls_) {
        const team_place place = tree.place(rank, each.root);
        members_.push_back(
            {collective_progress(each.goes, static_cast<int>(place.children.size()), place.is_root()), place, 0, 0, 0});
        if (rules_ == rule::up_without_the_call) members_.back().progress.called();
      }
    }
  }

  int steps() const { return static_cast<int>(callers().size() + messages_.size()); }
  void take(int wanted) {
    const std::vector<int> ready = callers();
    if (wanted < static_cast<int>(ready.size())) return run_call(ready[at(wanted)]);
    auto chosen = messages_.begin();
    std::advance(chosen, wanted - static_cast<int>(ready.size()));
    const message arrived = *chosen;
    messages_.erase(chosen);
    member& to = member_of(arrived.to, arrived.number);
    if (arrived.is_up) {
      to.sum += arrived.value;
      to.progress.child_arrived();
    } else {
      to.down = arrived.value;
      to.progress.parent_arrived();
    }
    go_on(arrived.to, arrived.number);
  }
  void check_end() const {
    for (const member& each : members_)
      if (each.finished != 1) throw std::logic_error("a collective does not finish");
  }
  void encode(explore::fingerprint& state) const {
    for (const member& each : members_) {
      state.put(each.progress.state());
      state.put(static_cast<std::uint64_t>(each.sum) << 32 | static_cast<std::uint64_t>(each.down));
    }
    for (const int each : called_) state.put(static_cast<std::uint64_t>(each));
    for (const message& each : messages_)
      state.put(static_cast<std::uint64_t>(((each.to * 16 + each.number) * 2 + each.is_up) * 4096 + each.value));
  }

 private:
  struct member {
    collective_progress progress;
    team_place place;
    int sum;   // of what came up, then of the subtree
    int down;  // what came down
    int finished;
  };
  struct message {
    int to, number, is_up, value;
    auto operator<=>(const message&) const = default;
  };
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  member& member_of(int rank, int number) { return members_[at(rank) * calls_.size() + at(number)]; }
  static int value_of(int rank) { return 1 << rank; }

  std::vector<int> callers() const {
    std::vector<int> ready;
    for (int rank = 0; rank < static_cast<int>(called_.size()); ++rank)
      if (called_[at(rank)] < static_cast<int>(calls_.size())) ready.push_back(rank);
    return ready;
  }
  void run_call(int rank) {
    const int number = called_[at(rank)]++;
    if (rules_ == rule::whole) member_of(rank, number).progress.called();
    go_on(rank, number);
  }
  void send(int to, int number, bool is_up, int value) {
    const message sent{to, number, is_up ? 1 : 0, value};
    messages_.insert(std::ranges::lower_bound(messages_, sent), sent);  // in any order: they are a set
  }
  void go_on(int rank, int number) {
    member& here = member_of(rank, number);
    const int own = called_[at(rank)] > number ? value_of(rank) : 0;
    while (const auto next = here.progress.next()) switch (*next) {
        case collective_progress::action::combine:
          here.sum += own;
          if (!here.place.is_root()) send(here.place.parent, number, true, here.sum);
          break;
        case collective_progress::action::hand_down:
          if (here.place.is_root()) here.down = calls_[at(number)].goes == direction::down ? own : here.sum;
          for (const team_place::child& child : here.place.children) send(child.rank, number, false, here.down);
          break;
        case collective_progress::action::finish:
          finish(here, rank, number);
          break;
      }
  }
  void finish(member& here, int rank, int number) {
    const call& of = calls_[at(number)];
    ++here.finished;
    if (called_[at(rank)] <= number) throw std::logic_error("a member finishes before it has called");
    const int all = value_of(static_cast<int>(called_.size())) - 1;
    if (of.goes == direction::up_and_down && here.down != all) throw std::logic_error("a value is missing");
    if (of.goes == direction::down && here.down != value_of(of.root)) throw std::logic_error("not the root's value");
    if (of.goes == direction::up && here.place.is_root() && here.sum != all)
      throw std::logic_error("a value is missing at the root");
  }

  std::vector<call> calls_;
  rule rules_;
  std::vector<member> members_;  // by rank, then by number
  std::vector<int> called_;      // by rank: how many
  std::vector<message> messages_;
};

void expect_right(const std::vector<int>& hosts, const std::vector<call>& calls) {
  const auto found = explore::explore_all(world(hosts, calls), 3'000'000);
  EXPECT_EQ(found.failure(), "");
  EXPECT_TRUE(found.complete);
  EXPECT_GT(found.ends, 0U);
}

const std::vector<direction> all_directions{direction::up, direction::down, direction::up_and_down};

TEST(collective_progress, one_collective_in_every_team_of_up_to_five) {
  for (const auto& hosts : std::vector<std::vector<int>>{{0},
                                                         {0, 0},
                                                         {0, 1},
                                                         {0, 0, 0},
                                                         {0, 1, 0},
                                                         {0, 1, 2},
                                                         {0, 0, 1, 1},
                                                         {0, 1, 2, 3},
                                                         {0, 1, 0, 2, 1},
                                                         {0, 1, 2, 3, 4}})
    for (const direction goes : all_directions)
      for (int root = 0; root < static_cast<int>(hosts.size()); ++root) expect_right(hosts, {{goes, root}});
}

TEST(collective_progress, two_at_a_time) {
  for (const auto& hosts : std::vector<std::vector<int>>{{0, 0}, {0, 1, 1}, {0, 1, 2}})
    for (const direction first : all_directions)
      for (const direction second : all_directions)
        for (int root = 0; root < static_cast<int>(hosts.size()); ++root)
          expect_right(hosts, {{first, 0}, {second, root}});
}

TEST(collective_progress, three_at_a_time) {
  expect_right({0, 1, 1}, {{direction::down, 2}, {direction::up_and_down, 0}, {direction::up, 1}});
}

TEST(collective_progress, what_goes_up_must_wait_for_the_call) {
  const auto found =
      explore::explore_all(world({0, 1, 2}, {{direction::up_and_down, 0}}, rule::up_without_the_call), 3'000'000);
  EXPECT_NE(found.failure(), "");
}

}  // namespace
}  // namespace tri::objects
