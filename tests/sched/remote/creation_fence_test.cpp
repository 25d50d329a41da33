// A PE that takes a message has taken the creation of every collection that the message can speak of: all interleavings
// of several hosts, processes and creators; and what goes wrong with less than the whole protocol.
#include "sched/remote/creation_fence.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "explore/in_place.hpp"
#include "explore/plain_word.hpp"
#include "sched/remote/host_tree.hpp"

namespace tri::sched {
namespace {

// What a PE (one for each process) does, in this order and whenever it likes. Meanwhile it takes what comes.
constexpr int make = -1;  // a collection; anything else: a message to that process
using script = std::vector<int>;

enum class packet_kind : std::uint8_t { data, creation, acknowledged, globally_visible };
struct packet {
  packet_kind kind = packet_kind::data;
  std::uint32_t knows = 0;  // collections, by bit; of a creation: the one
  int other = 0;            // creation, acknowledged: its maker's process; data that waits: its destination
};

enum class protocol : std::uint8_t { whole, creations_are_only_acknowledged, none };

class world {
 public:
  using creations = host_creations<explore::plain_word>;
  using gate = creation_fence<packet, explore::plain_word>;

  /// `width`: of the tree over hosts; 1 is a chain.
  world(int hosts, int processes_of_host, int width, std::vector<script> scripts, protocol rules = protocol::whole)
      : processes_of_host_(processes_of_host),
        width_(width),
        rules_(rules),
        hosts_(static_cast<std::size_t>(hosts)),
        others_(static_cast<std::size_t>(hosts)),
        relayed_(static_cast<std::size_t>(hosts)),
        packets_at_(static_cast<std::size_t>(hosts), 0),
        processes_(scripts.size()) {
    if (scripts.size() != static_cast<std::size_t>(hosts * processes_of_host)) throw std::invalid_argument("scripts");
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      processes_[i].lines = std::move(scripts[i]);
      const std::size_t host = host_of(static_cast<int>(i));
      gates_.emplace_back(hosts_[host], tree(host).children(static_cast<int>(host)));
    }
  }
  world(const world& other)
      : processes_of_host_(other.processes_of_host_),
        width_(other.width_),
        rules_(other.rules_),
        collections_(other.collections_),
        hosts_(other.hosts_),
        others_(other.others_),
        relayed_(other.relayed_),
        packets_at_(other.packets_at_),
        processes_(other.processes_),
        channels_(other.channels_) {
    for (std::size_t i = 0; i < processes_.size(); ++i)
      gates_.emplace_back(other.gates_[i], hosts_[host_of(static_cast<int>(i))]);
  }
  world& operator=(const world&) = delete;
  ~world() = default;

  int steps() const {
    int count = 0;
    for_each_step([&](auto&&...) { ++count; });
    return count;
  }
  void take(int wanted) {
    int count = 0;
    std::pair<int, int> chosen;
    what kind{};
    for_each_step([&](what step, int first, int second) {
      if (count++ == wanted) kind = step, chosen = {first, second};
    });
    switch (kind) {
      case what::line:
        return run_line(chosen.first);
      case what::message:
        return take_message(chosen.first);
      case what::rung:
        processes_[static_cast<std::size_t>(chosen.first)].is_rung = false;
        return flush(chosen.first);
      case what::arrival:
        return arrive(chosen.first, chosen.second);
    }
  }
  void check_end() const {
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      if (gates_[i].holds_something()) throw std::logic_error("a message is kept for ever");
      if (processes_[i].has != collections_) throw std::logic_error("a PE lacks a collection");
    }
    for (const creations& host : hosts_)
      if (host.pending.value != 0 || host.heard.value != host.heard_and_globally_visible.value ||
          host.begun.value != host.globally_visible.value)
        throw std::logic_error("a creation is not globally visible");
  }
  void encode(explore::fingerprint& state) const {
    const auto put = [&state](std::uint64_t word) { state.put(word); };
    const auto put_packet = [&](const packet& each) {
      put(static_cast<std::uint64_t>(each.kind) | std::uint64_t{each.knows} << 8U |
          static_cast<std::uint64_t>(each.other) << 48U);
    };
    for (const creations& host : hosts_) {
      put(host.pending.value), put(host.begun.value), put(host.globally_visible.value);
      put(host.heard.value), put(host.heard_and_globally_visible.value);
    }
    constexpr std::uint64_t end = ~std::uint64_t{0};  // of a list
    for (const remote_creations<explore::plain_word>& host : others_) host.encode(put), put(end);
    for (const relayed_creations& host : relayed_) host.encode(put), put(end);
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      const process& one = processes_[i];
      put(one.line), put(one.has), put(one.is_rung ? 1 : 0), put(one.inbox.size());
      for (const packet& each : one.inbox) put_packet(each);
      gates_[i].encode([&](const auto& each) {
        if constexpr (std::is_same_v<std::decay_t<decltype(each)>, packet>)
          put_packet(each);
        else
          put(each);
      });
      put(end);
    }
    for (const auto& [pair, queue] : channels_) {
      if (queue.empty()) continue;
      put(static_cast<std::uint64_t>(pair.first * 100 + pair.second)), put(queue.size());
      for (const packet& each : queue) put_packet(each);
    }
  }
  /// Of creations and what is said of them: sent and taken.
  int packets_at(int host) const { return packets_at_[static_cast<std::size_t>(host)]; }

 private:
  enum class what : std::uint8_t { line, message, rung, arrival };
  struct process {
    script lines;
    std::size_t line = 0;
    std::uint32_t has = 0;  // collections that its PE has made its part of
    bool is_rung = false;
    std::deque<packet> inbox;
  };

  std::size_t host_of(int number) const { return static_cast<std::size_t>(number / processes_of_host_); }
  host_tree tree(std::size_t root) const {
    return {static_cast<int>(hosts_.size()), static_cast<int>(root), 0, width_};
  }
  int first_of(std::size_t host) const { return static_cast<int>(host) * processes_of_host_; }

  template <class Visit>
  void for_each_step(Visit&& visit) const {
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      const int number = static_cast<int>(i);
      if (processes_[i].line < processes_[i].lines.size()) visit(what::line, number, 0);
      if (!processes_[i].inbox.empty()) visit(what::message, number, 0);
      if (processes_[i].is_rung) visit(what::rung, number, 0);
    }
    for (const auto& [pair, queue] : channels_)
      if (!queue.empty()) visit(what::arrival, pair.first, pair.second);
  }

  void run_line(int number) {
    process& self = processes_[static_cast<std::size_t>(number)];
    gate& own = gates_[static_cast<std::size_t>(number)];
    const int to = self.lines[self.line++];
    if (to == make) {
      const std::uint32_t made = collections_ + 1;  // the next bit
      collections_ |= made;
      own.begin_creation({packet_kind::creation, made, number}, made);
      flush(number);
      to_inboxes(host_of(number), number, {packet_kind::creation, made, number});
      self.has |= made;
    } else if (host_of(to) == host_of(number)) {
      processes_[static_cast<std::size_t>(to)].inbox.push_back({packet_kind::data, self.has, to});
    } else if (rules_ == protocol::none || own.is_open()) {
      channels_[{number, to}].push_back({packet_kind::data, self.has, to});
    } else {
      own.hold({packet_kind::data, self.has, to});
      flush(number);
    }
  }
  void take_message(int number) {
    process& self = processes_[static_cast<std::size_t>(number)];
    const packet taken = self.inbox.front();
    self.inbox.pop_front();
    if (taken.kind == packet_kind::creation)
      self.has |= taken.knows;
    else if ((taken.knows & ~self.has) != 0)
      throw std::logic_error("a message came before a creation that its sender knew");
  }
  void to_inboxes(std::size_t host, int but, const packet& message) {
    for (int i = first_of(host); i < first_of(host) + processes_of_host_; ++i)
      if (i != but) processes_[static_cast<std::size_t>(i)].inbox.push_back(message);
  }
  void flush(int number) {
    gates_[static_cast<std::size_t>(number)].flush([&](const packet& one) {
      if (one.kind == packet_kind::creation)
        to_child_hosts(number, one);
      else
        channels_[{number, one.other}].push_back(one);
    });
  }
  void say(int from, int to, const packet& one) {
    ++packets_at_[host_of(from)];
    channels_[{from, to}].push_back(one);
  }
  int to_child_hosts(int number, const packet& one) {
    int children = 0;
    tree(host_of(one.other)).for_each_child(static_cast<int>(host_of(number)), [&](int child) {
      say(number, first_of(static_cast<std::size_t>(child)), one);
      ++children;
    });
    return children;
  }
  void acknowledge(int number, const packet& creation) {
    const std::size_t root = host_of(creation.other);
    const auto parent = static_cast<std::size_t>(tree(root).parent(static_cast<int>(host_of(number))));
    say(number, parent == root ? creation.other : first_of(parent),
        {packet_kind::acknowledged, creation.knows, creation.other});
  }
  void ring_others(int number) {
    for (int i = first_of(host_of(number)); i < first_of(host_of(number)) + processes_of_host_; ++i)
      if (i != number) processes_[static_cast<std::size_t>(i)].is_rung = true;
  }
  void arrive(int from, int to) {
    auto& queue = channels_[{from, to}];
    const packet came = queue.front();
    queue.pop_front();
    if (came.kind != packet_kind::data) ++packets_at_[host_of(to)];
    switch (came.kind) {
      case packet_kind::data:
        processes_[static_cast<std::size_t>(to)].inbox.push_back(came);
        break;
      case packet_kind::creation: {
        const int children = to_child_hosts(to, came);
        if (rules_ == protocol::whole)
          others_[host_of(to)].heard(hosts_[host_of(to)], static_cast<int>(host_of(came.other)));
        to_inboxes(host_of(to), -1, came);
        if (relayed_[host_of(to)].relayed(came.knows, children)) acknowledge(to, came);
        break;
      }
      case packet_kind::acknowledged:
        if (host_of(came.other) != host_of(to)) {
          if (relayed_[host_of(to)].acknowledged(came.knows)) acknowledge(to, came);
          break;
        }
        if (!gates_[static_cast<std::size_t>(to)].acknowledged(came.knows)) break;
        if (rules_ == protocol::whole) to_child_hosts(to, {packet_kind::globally_visible, 0, to});
        flush(to);
        ring_others(to);
        break;
      case packet_kind::globally_visible:
        to_child_hosts(to, came);
        others_[host_of(to)].globally_visible(hosts_[host_of(to)], static_cast<int>(host_of(came.other)));
        flush(to);
        ring_others(to);
        break;
    }
  }

  int processes_of_host_;
  int width_;
  protocol rules_;
  std::uint32_t collections_ = 0;
  std::vector<creations> hosts_;
  std::vector<remote_creations<explore::plain_word>> others_;  // of the first process of each host
  std::vector<relayed_creations> relayed_;                     // the same
  std::vector<int> packets_at_;                                // not in the fingerprint: nothing depends on it
  std::vector<process> processes_;
  std::deque<gate> gates_;
  std::map<std::pair<int, int>, std::deque<packet>> channels_;
};

void expect_right(const world& start) {
  const auto found = explore::explore_all_in_place(start, 4'000'000);
  EXPECT_EQ(found.failure(), "");
  EXPECT_TRUE(found.complete);
  EXPECT_GT(found.ends, 0U);
  testing::Test::RecordProperty("states", std::to_string(found.states));
  testing::Test::RecordProperty("ends", std::to_string(found.ends));
}

constexpr int star = host_tree::most_children;  // of a few hosts: all are children of the root
constexpr int chain = 1;

TEST(creation_fence, one_maker_and_a_message_that_goes_round_the_other_hosts) {
  for (const int width : {star, chain}) expect_right(world(3, 1, width, {{make, 1, 2}, {2, 2}, {1, 0}}));
}
TEST(creation_fence, two_makers_on_two_hosts) { expect_right(world(2, 1, star, {{make, 1, make, 1}, {make, 0, 0}})); }
TEST(creation_fence, one_after_the_other_from_one_maker) {
  for (const int width : {star, chain}) expect_right(world(3, 1, width, {{make, make, 1, make, 2}, {2}, {0}}));
}
TEST(creation_fence, two_makers_of_one_host) { expect_right(world(2, 2, star, {{make, 1, 3}, {make, 2}, {}, {}})); }
TEST(creation_fence, two_makers_of_one_host_in_a_chain) {
  expect_right(world(3, 2, chain, {{make}, {make, 4}, {}, {}, {}, {}}));
}
TEST(creation_fence, a_host_of_two_processes_passes_on) {
  expect_right(world(2, 2, star, {{make, 1}, {3}, {make}, {}}));
}
TEST(creation_fence, two_makers_on_three_hosts) {
  for (const int width : {star, chain}) expect_right(world(3, 1, width, {{make, 1}, {make, 2}, {}}));
}
TEST(creation_fence, the_leaf_of_a_chain_sends_to_its_root) {
  expect_right(world(4, 1, chain, {{make}, {3}, {}, {0}}));
}

TEST(creation_fence, larger_hosts_by_chance) {
  std::vector<script> scripts;
  for (int process = 0; process < 8; ++process) {
    script lines;
    for (int round = 0; round < 3; ++round) {
      if (process % 3 == round) lines.push_back(make);
      for (int step = 1; step <= 4; ++step) lines.push_back((process + step * (round + 1)) % 8);
    }
    std::erase(lines, process);
    scripts.push_back(lines);
  }
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    world start(4, 2, 1 + static_cast<int>(seed % 3), scripts);
    const auto found = explore::explore_random(start, seed, 100'000);
    ASSERT_EQ(found.failure(), "") << "seed " << seed;
    ASSERT_EQ(found.ends, 1U) << "seed " << seed;
  }
}

// The creation comes, the subtree's acknowledgements, the news: 3 for each edge, however many hosts there are.
TEST(creation_fence, each_host_has_to_do_with_its_neighbours_only) {
  for (const int hosts : {2, 6, 64, 200}) {
    std::vector<script> scripts(static_cast<std::size_t>(hosts));
    scripts[1] = {make};
    world job(hosts, 1, host_tree::most_children, scripts);
    while (job.steps() > 0) job.take(0);
    job.check_end();
    int all = 0;
    for (int host = 0; host < hosts; ++host) {
      EXPECT_LE(job.packets_at(host), 3 * (host_tree::most_children + 1)) << host;
      all += job.packets_at(host);
    }
    EXPECT_EQ(all, 2 * 3 * (hosts - 1));
  }
}

// A message waits for the creations before it, and not for those that others begin meanwhile.
TEST(creation_fence, creations_without_a_pause_keep_nothing_for_ever) {
  host_creations<> host;
  remote_creations<> others;
  creation_fence<int> own(host, 2);
  std::vector<int> left;
  const auto flush = [&] { own.flush([&](int each) { left.push_back(each); }); };
  others.heard(host, 1);
  EXPECT_FALSE(own.is_open());
  own.hold(10);
  others.heard(host, 2);
  own.hold(20);
  flush();
  EXPECT_EQ(left, std::vector<int>());
  others.heard(host, 1);
  others.globally_visible(host, 1);
  flush();
  EXPECT_EQ(left, std::vector<int>({10}));
  own.hold(30);
  others.globally_visible(host, 1);  // its second one; that of 2, which was heard of before it, is open
  flush();
  EXPECT_EQ(left, std::vector<int>({10}));
  others.globally_visible(host, 2);
  flush();
  EXPECT_EQ(left, std::vector<int>({10, 20, 30}));
  EXPECT_TRUE(own.is_open());
}
TEST(creation_fence, creations_of_one_process_do_not_wait_for_each_other) {
  host_creations<> host;
  creation_fence<int> own(host, 2);
  std::vector<int> left;
  const auto flush = [&] { own.flush([&](int each) { left.push_back(each); }); };
  own.begin_creation(1, 101), own.begin_creation(2, 102), own.hold(3), own.begin_creation(4, 103);
  flush();
  EXPECT_EQ(left, std::vector<int>({1, 2}));
  EXPECT_FALSE(own.acknowledged(101));
  EXPECT_FALSE(own.acknowledged(102));  // the second one by one host, before the first one by the other
  EXPECT_TRUE(own.acknowledged(101));
  flush();
  EXPECT_EQ(left, std::vector<int>({1, 2}));
  EXPECT_TRUE(own.acknowledged(102));
  flush();
  EXPECT_EQ(left, std::vector<int>({1, 2, 3, 4}));
}
TEST(creation_fence, creations_of_several_processes_go_one_after_the_other) {
  host_creations<> host;
  creation_fence<int> first(host, 1), second(host, 1);
  std::vector<int> left;
  const auto flush = [&](creation_fence<int>& which) { which.flush([&](int each) { left.push_back(each); }); };
  first.begin_creation(1, 101);
  second.begin_creation(2, 102);
  second.hold(3);
  first.hold(4);
  flush(second), flush(first);
  EXPECT_EQ(left, std::vector<int>({1}));
  EXPECT_TRUE(first.acknowledged(101));
  flush(first);
  EXPECT_EQ(left, std::vector<int>({1}));  // 4 was sent when the second creation had begun
  flush(second);
  EXPECT_EQ(left, std::vector<int>({1, 2}));
  EXPECT_TRUE(second.acknowledged(102));
  flush(first), flush(second);
  EXPECT_EQ(left, std::vector<int>({1, 2, 4, 3}));
  int dropped = 0;
  first.begin_creation(5, 103);
  first.hold(6);
  first.drop_all([&](int) { ++dropped; });
  EXPECT_EQ(dropped, 2);
  EXPECT_FALSE(first.holds_something());
}

// What the exploration finds where hosts that have heard of a creation go on sending, and where nothing is kept.
TEST(creation_fence, it_is_not_enough_that_the_maker_waits) {
  const world start(3, 1, star, {{make}, {2}, {}}, protocol::creations_are_only_acknowledged);
  EXPECT_NE(explore::explore_all_in_place(start, 1'000'000).failure().find("before a creation"), std::string::npos);
}
TEST(creation_fence, without_them_a_message_is_faster_than_a_creation) {
  const world start(2, 2, star, {{make, 3}, {}, {}, {}}, protocol::none);
  EXPECT_NE(explore::explore_all_in_place(start, 1'000'000).failure().find("before a creation"), std::string::npos);
}

}  // namespace
}  // namespace tri::sched
