// Every interleaving of a few elements that contribute, move, are inserted and deleted, on the PEs of one host, or of
// one and another below it in the tree, and elsewhere. The PEs behave as collection_manager::flush_contributions says.
#include "objects/collectives/host_contributions.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "explore/explorer.hpp"

namespace tri::objects {
namespace {

constexpr int pes = 2, elements = 3;
constexpr std::uint64_t numbers = 2;
constexpr int elsewhere = pes;  // another host: what contributes there is no business of this one

constexpr int unborn = 100, dead = 101;

struct element {
  int place = 0;  // `pes + 1` + its destination: on its way there
  std::uint64_t next = 0;
};

struct packet {
  bool is_part;
  std::uint64_t number;
  reported_watermark told;
  int count;
};

enum class tree : std::uint8_t { one_host, chain };  // chain: the second PE is on a host below that of the first

struct pe_side {
  std::map<std::uint64_t, int> parts;  // by number
  reported_watermark told;
  std::deque<packet> channel;
};

class world {
 public:
  /// `may_pass`: what a PE sends may come in any order, as when some of its reductions are immediate.
  world(tree shape, const std::array<int, elements>& places, int most_moves, int most_deaths, bool may_pass)
      : shape_(shape),
        moves_left_(most_moves),
        deaths_left_(most_deaths),
        may_pass_(may_pass),
        may_cross_often_(most_moves > 0 || may_pass) {
    std::vector<std::uint64_t> levels(pes, no_level);
    for (int i = 0; i < elements; ++i) {
      of_[static_cast<std::size_t>(i)].place = places[static_cast<std::size_t>(i)];
      if (places[static_cast<std::size_t>(i)] < pes)
        levels[static_cast<std::size_t>(places[static_cast<std::size_t>(i)])] = 0;
      // A part of it may come when the sum has gone.
      if (places[static_cast<std::size_t>(i)] == unborn) may_cross_often_ = true;
    }
    for (std::size_t pe = 0; pe < pes; ++pe) sides_[pe].told.level = levels[pe];
    if (shape_ == tree::one_host) {
      hosts_.emplace_back(levels);
    } else {
      hosts_.emplace_back(levels);  // its PE, and the host below
      hosts_.emplace_back(std::vector<std::uint64_t>{levels[1]});
    }
  }

  int steps() const { return static_cast<int>(possible().size()); }
  void take(int which) {
    const auto [kind, who, to] = possible()[static_cast<std::size_t>(which)];
    if (kind == deliver) return arrive(who, to);
    element& one = of_[static_cast<std::size_t>(who)];
    if (kind == give) {
      const std::uint64_t number = one.next++;
      ++given_[number];
      if (one.place == elsewhere) {
        ++counted_[number];
      } else {
        ++sides_[static_cast<std::size_t>(one.place)].parts[number];
        flush(one.place);
      }
    } else if (kind == die) {
      --deaths_left_;
      const int from = std::exchange(one.place, dead);
      if (from != elsewhere) flush(from);
    } else if (kind == be_born) {
      one.place = to;
      if (to != elsewhere) flush(to);
    } else if (kind == leave) {
      --moves_left_;
      const int from = std::exchange(one.place, pes + 1 + to);
      if (from != elsewhere) flush(from);
    } else {
      one.place -= pes + 1;
      if (one.place != elsewhere) tell(one.place);
    }
  }
  void check_end() const {
    for (std::uint64_t number = 0; number < numbers; ++number) {
      if (counted_[number] != given_[number]) throw std::logic_error("contributions are missing");
      if (!may_cross_often_ && crossed_[number] > 1) throw std::logic_error("more than one message crossed");
    }
    for (const auto& host : hosts_) host.visit_waiting([](auto...) { throw std::logic_error("a sum still waits"); });
  }
  void encode(explore::fingerprint& state) const {
    const auto put = [&state](std::uint64_t word) { state.put(word); };
    put(static_cast<std::uint64_t>(moves_left_)), put(static_cast<std::uint64_t>(deaths_left_));
    for (const int given : given_) put(static_cast<std::uint64_t>(given));
    for (const element& one : of_) put(static_cast<std::uint64_t>(one.place)), put(one.next);
    const auto put_channel = [&](const std::deque<packet>& channel) {
      put(channel.size());
      for (const packet& each : channel)
        put(each.is_part), put(each.number), put(each.told.level), put(each.told.number),
            put(static_cast<std::uint64_t>(each.count));
    };
    for (const pe_side& side : sides_) {
      put(side.told.level), put(side.told.number), put(side.parts.size());
      for (const auto& [number, count] : side.parts) put(number), put(static_cast<std::uint64_t>(count));
      put_channel(side.channel);
    }
    put_channel(between_hosts_);
    for (const auto& host : hosts_) {
      for (const std::uint64_t level : host.levels()) put(level);
      put(host.told().level), put(host.told().number);
      host.visit_waiting(
          [&](std::uint64_t number, int sum, std::size_t) { put(number), put(static_cast<std::uint64_t>(sum)); });
    }
    for (const std::uint64_t number : heard_) put(number);
    for (std::uint64_t number = 0; number < numbers; ++number)
      put(static_cast<std::uint64_t>(counted_[number])), put(static_cast<std::uint64_t>(crossed_[number]));
  }

 private:
  enum step_kind { give, leave, come, die, be_born, deliver };
  struct step {
    step_kind kind;
    int who, to;
  };
  std::vector<step> possible() const {
    std::vector<step> all;
    for (int i = 0; i < elements; ++i) {
      const element& one = of_[static_cast<std::size_t>(i)];
      if (one.place == dead) continue;
      if (one.place == unborn) {
        for (int to = 0; to <= elsewhere; ++to) all.push_back({be_born, i, to});
        continue;
      }
      if (one.place > elsewhere) {
        all.push_back({come, i, 0});
        continue;
      }
      if (one.next < numbers) all.push_back({give, i, 0});
      if (deaths_left_ > 0) all.push_back({die, i, 0});
      for (int to = 0; to <= elsewhere && moves_left_ > 0; ++to)
        if (to != one.place) all.push_back({leave, i, to});
    }
    for (int from = 0; from <= pes; ++from)
      for (int i = 0; i < static_cast<int>(channel_of(from).size()); ++i)
        if (i == 0 || may_pass_) all.push_back({deliver, from, i});
    return all;
  }
  // From a PE; `pes`: from the host below.
  const std::deque<packet>& channel_of(int from) const {
    return from == pes ? between_hosts_ : sides_[static_cast<std::size_t>(from)].channel;
  }
  std::uint64_t level_of(int pe) const {
    std::uint64_t level = no_level;
    for (const element& one : of_)
      if (one.place == pe) level = std::min(level, one.next);
    return level;
  }
  void flush(int pe) {
    pe_side& side = sides_[static_cast<std::size_t>(pe)];
    const std::uint64_t reached = level_of(pe);
    while (!side.parts.empty() && side.parts.begin()->first < reached) {
      const auto [number, count] = *side.parts.begin();
      side.parts.erase(side.parts.begin());
      side.told = {side.parts.empty() ? reached : std::min(reached, side.parts.begin()->first), side.told.number + 1};
      side.channel.push_back({true, number, side.told, count});
    }
    tell(pe);
  }
  void tell(int pe) {
    pe_side& side = sides_[static_cast<std::size_t>(pe)];
    const std::uint64_t level = level_of(pe);
    if (level == side.told.level) return;
    side.told = {level, side.told.number + 1};
    side.channel.push_back({false, 0, side.told, 0});
  }
  void arrive(int from, int which) {
    auto& channel = const_cast<std::deque<packet>&>(channel_of(from));
    const packet next = channel[static_cast<std::size_t>(which)];
    channel.erase(channel.begin() + which);
    const bool is_below = shape_ == tree::chain && from == 1;
    auto& host = hosts_[is_below ? 1 : 0];
    if (next.is_part) host.sum(next.number) += next.count;
    host.heard(is_below ? 0U : from == pes ? 1U : static_cast<std::size_t>(from), next.told);
    std::uint64_t& heard = heard_[static_cast<std::size_t>(from)];
    heard = std::max(heard, next.told.number);
    host.take_complete([&](std::uint64_t number, int sum, const reported_watermark& told) {
      if (is_below) return between_hosts_.push_back({true, number, told, sum});
      counted_[number] += sum;
      ++crossed_[number];
    });
    if (!is_below) return;
    if (const auto told = host.take_report()) between_hosts_.push_back({false, 0, *told, 0});
  }

  tree shape_;
  std::array<element, elements> of_{};
  std::array<pe_side, pes> sides_{};
  std::deque<packet> between_hosts_;
  std::vector<host_contributions<int>> hosts_;
  std::array<int, numbers> counted_{};
  std::array<int, numbers> crossed_{};
  std::array<int, numbers> given_{};
  std::array<std::uint64_t, pes + 1> heard_{};  // the number of what was heard last
  int moves_left_;
  int deaths_left_;
  bool may_pass_;
  bool may_cross_often_;
};

void explore(const std::array<int, elements>& places, int most_moves, int most_deaths = 0, bool may_pass = false) {
  for (const tree shape : {tree::one_host, tree::chain}) {
    const auto found = explore::explore_all(world(shape, places, most_moves, most_deaths, may_pass), 5'000'000);
    EXPECT_EQ(found.failure(), "");
    EXPECT_TRUE(found.complete);
    EXPECT_GT(found.ends, 0U);
  }
}

TEST(host_contributions, one_message_crosses_for_each_number_while_nothing_moves) {
  explore({0, 1, 1}, 0);
  explore({0, 0, 0}, 0);  // a PE without elements is not waited for
  explore({1, elsewhere, 1}, 0);
}

TEST(host_contributions, every_element_counts_once_while_they_move) {
  explore({0, 1, 1}, 2);
  explore({0, 0, elsewhere}, 2);
}

TEST(host_contributions, every_element_counts_once_where_immediate_parts_pass_others) {
  explore({0, 1, 1}, 0, 0, true);
  explore({0, 1, 1}, 1, 0, true);
  explore({0, 0, elsewhere}, 1, 0, true);
}

TEST(host_contributions, do_not_wait_for_those_that_are_deleted) {
  explore({0, 1, 1}, 0, 2);
  explore({0, 1, elsewhere}, 1, 3);
}

TEST(host_contributions, those_that_are_inserted_count) {
  explore({0, 1, unborn}, 0);
  explore({unborn, unborn, 1}, 1);
  explore({0, unborn, 1}, 1, 1);
}

TEST(host_contributions, names_the_pe_that_is_behind) {
  host_contributions<int> host({0, 3, 1});
  host.sum(1) = 7;
  std::vector<std::size_t> behind;
  const auto look = [&] { host.visit_waiting([&](std::uint64_t, int, std::size_t pe) { behind.push_back(pe); }); };
  look();
  host.heard(0, {2, 1});
  look();
  host.heard(2, {2, 1});
  int sent = 0;
  host.take_complete([&](std::uint64_t number, int sum, const reported_watermark& told) {
    sent += static_cast<int>(number) * 100 + sum;
    EXPECT_EQ(told.level, 2U);
  });
  EXPECT_FALSE(host.take_report()) << "the parent has just been told";
  look();
  EXPECT_EQ(behind, (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(sent, 107);
}

// What the parent is told with the first of two sums must not claim that the second has come.
TEST(host_contributions, tells_the_parent_what_is_still_to_come) {
  host_contributions<int> host({0, 0});
  std::vector<std::pair<std::uint64_t, reported_watermark>> sent;
  const auto take = [&] {
    host.take_complete(
        [&](std::uint64_t number, int, const reported_watermark& told) { sent.emplace_back(number, told); });
  };
  host.sum(0) = 1, host.sum(1) = 1;
  host.heard(0, {2, 1});
  take();
  host.heard(1, {no_level, 1});
  take();
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[0].second.level, 1U);
  EXPECT_EQ(sent[1].second.level, 2U);
  EXPECT_EQ(sent[1].second.number, sent[0].second.number + 1);
}

TEST(host_contributions, reports_to_the_parent_what_it_may_wait_for_and_the_first_elements) {
  host_contributions<int> host({no_level});
  const auto level = [&](std::uint64_t heard) -> std::optional<std::uint64_t> {
    static std::uint64_t number = 0;
    host.heard(0, {heard, ++number});
    const auto report = host.take_report();
    return report ? std::optional(report->level) : std::nullopt;
  };
  EXPECT_EQ(level(3), 3U);  // there were no elements
  EXPECT_EQ(level(3), std::nullopt);
  EXPECT_EQ(level(1), std::nullopt);  // one came that is behind: its parts cross separately
  EXPECT_EQ(level(3), std::nullopt);
  EXPECT_EQ(level(4), 4U);
  EXPECT_EQ(level(no_level), no_level);
}

}  // namespace
}  // namespace tri::objects
