// A PE that takes a message has taken the creation of every collection that the message can speak of, and messages of
// one PE to another stay in their order: all interleavings of several hosts, processes and creators; and what goes
// wrong with less than the whole protocol.
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
#include "explore/listed_steps.hpp"
#include "explore/plain_word.hpp"
#include "sched/remote/arrival_gate.hpp"
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
  int from = -1;            // data to another host: its sender, and the number among those to that destination
  std::uint32_t order = 0;
  known_creations named = {};
};

enum class protocol : std::uint8_t {
  whole,
  nothing_is_kept_at_receivers,
  creations_leave_at_once,  // before they lie in the inboxes of their own host
  none,
};

// Whether messages name creations, or wait at their sender because no host has a place in the list.
enum class listing : std::uint8_t { of_all, of_one, of_none };

class world {
 public:
  using creations = host_creations<explore::plain_word>;
  using gate = creation_fence<packet, explore::plain_word>;
  using inner_gate = arrival_gate<packet>;

  /// `width`: of the tree over hosts; 1 is a chain.
  world(int hosts, int processes_of_host, int width, std::vector<script> scripts, protocol rules = protocol::whole,
        listing places = listing::of_all)
      : processes_of_host_(processes_of_host),
        width_(width),
        rules_(rules),
        hosts_(static_cast<std::size_t>(hosts)),
        others_(static_cast<std::size_t>(hosts)),
        relayed_(static_cast<std::size_t>(hosts)),
        packets_at_(static_cast<std::size_t>(hosts), 0),
        in_inboxes_(static_cast<std::size_t>(hosts), std::vector<std::uint32_t>(static_cast<std::size_t>(hosts), 0)),
        processes_(scripts.size()) {
    if (places != listing::of_all)
      for (creations& host : hosts_) host.places = places == listing::of_one ? 1 : 0;
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
        in_inboxes_(other.in_inboxes_),
        processes_(other.processes_),
        channels_(other.channels_) {
    for (std::size_t i = 0; i < processes_.size(); ++i)
      gates_.emplace_back(other.gates_[i], hosts_[host_of(static_cast<int>(i))]);
  }
  world& operator=(const world&) = delete;
  ~world() = default;

  int steps() const {
    return explore::count_listed([this](auto&& visit) { for_each_step(visit); });
  }
  void take(int wanted) {
    const auto [kind, first, second] = explore::listed<step>([this](auto&& visit) { for_each_step(visit); }, wanted);
    switch (kind) {
      case what::line:
        return run_line(first);
      case what::message:
        return take_message(first);
      case what::rung:
        processes_[static_cast<std::size_t>(first)].is_rung = false;
        return flush(first);
      case what::arrival:
        return arrive(first, second);
      case what::poll:
        return flush_arrivals(first);
    }
  }
  void check_end() const {
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      if (gates_[i].holds_something() || !processes_[i].kept.is_empty())
        throw std::logic_error("a message is kept for ever");
      if (processes_[i].has != collections_) throw std::logic_error("a PE lacks a collection");
    }
    for (const creations& host : hosts_)
      if (host.pending.value != 0 || host.heard.value != host.heard_and_globally_visible.value ||
          host.begun.value != host.globally_visible.value || host.unlisted_makers.value != 0 ||
          host.open_makers[0].value != 0)
        throw std::logic_error("a creation is not globally visible");
  }
  void encode(explore::fingerprint& state) const {
    const auto put = [&state](std::uint64_t word) { state.put(word); };
    const auto put_packet = [&](const packet& each) {
      put(static_cast<std::uint64_t>(each.kind) | std::uint64_t{each.knows} << 8U |
          static_cast<std::uint64_t>(each.other) << 48U);
      put(static_cast<std::uint64_t>(each.from + 1) << 32U | each.order);
      put(each.named.makers);
      for (std::uint32_t i = 0; i < each.named.makers; ++i)
        put(std::uint64_t{each.named.maker[i].host} << 32U | each.named.maker[i].creations);
    };
    for (const creations& host : hosts_) {
      put(host.pending.value), put(host.begun.value), put(host.globally_visible.value);
      put(host.heard.value), put(host.heard_and_globally_visible.value), put(host.unlisted_makers.value);
      for (const auto& place : host.open_makers) put(place.value);
    }
    constexpr std::uint64_t end = ~std::uint64_t{0};  // of a list
    for (const remote_creations<explore::plain_word>& host : others_) host.encode(put), put(end);
    for (const relayed_creations& host : relayed_) host.encode(put), put(end);
    for (const auto& host : in_inboxes_)
      for (const std::uint32_t each : host) put(each);
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      const process& one = processes_[i];
      put(one.line), put(one.has), put(one.is_rung ? 1 : 0), put(one.making), put(one.inbox.size());
      for (const auto& [sender, order] : one.taken) put(static_cast<std::uint64_t>(sender) << 32U | order);
      put(end);
      one.kept.encode([&](const auto& each) {
        if constexpr (std::is_same_v<std::decay_t<decltype(each)>, packet>)
          put_packet(each);
        else
          put(each);
      });
      put(end);
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
  int held() const { return held_; }

 private:
  enum class what : std::uint8_t { line, message, rung, arrival, poll };
  struct process {
    script lines;
    std::size_t line = 0;
    std::uint32_t has = 0;     // collections that its PE has made its part of
    std::uint32_t making = 0;  // a creation that does not lie in the inboxes of this host yet
    bool is_rung = false;
    std::deque<packet> inbox;
    inner_gate kept;
    std::map<int, std::uint32_t> sent, taken;  // to and from each process of another host
  };

  std::size_t host_of(int number) const { return static_cast<std::size_t>(number / processes_of_host_); }
  host_tree tree(std::size_t root) const {
    return {static_cast<int>(hosts_.size()), static_cast<int>(root), 0, width_};
  }
  int first_of(std::size_t host) const { return static_cast<int>(host) * processes_of_host_; }

  struct step {
    what kind;
    int first, second;
  };
  template <class Visit>
  void for_each_step(Visit&& visit) const {
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      const int number = static_cast<int>(i);
      const process& one = processes_[i];
      if (one.line < one.lines.size() || one.making != 0) visit(step{what::line, number, 0});
      if (one.kept.has_passable(in_inboxes_at(number))) visit(step{what::poll, number, 0});
      if (!one.inbox.empty()) visit(step{what::message, number, 0});
      if (one.is_rung) visit(step{what::rung, number, 0});
    }
    for (const auto& [pair, queue] : channels_)
      if (!queue.empty()) visit(step{what::arrival, pair.first, pair.second});
  }

  void run_line(int number) {
    process& self = processes_[static_cast<std::size_t>(number)];
    gate& own = gates_[static_cast<std::size_t>(number)];
    if (self.making != 0) return end_making(number);
    const int to = self.lines[self.line++];
    if (to == make) {
      const std::uint32_t made = collections_ + 1;  // the next bit
      collections_ |= made;
      own.begin_creation({packet_kind::creation, made, number}, made);
      self.making = made;
      if (rules_ == protocol::creations_leave_at_once) own.lies_in_inboxes(made);
      flush(number);
      return;
    }
    packet message{packet_kind::data, self.has, to};
    if (host_of(to) == host_of(number)) {
      processes_[static_cast<std::size_t>(to)].inbox.push_back(message);
      return;
    }
    message.from = number;
    message.order = ++self.sent[to];
    if (rules_ == protocol::none || own.is_open() ||
        own.name_open(static_cast<std::uint32_t>(host_of(number)), message.named)) {
      channels_[{number, to}].push_back(message);
    } else {
      own.hold(message);
      ++held_;
      flush(number);
    }
  }
  void end_making(int number) {
    process& self = processes_[static_cast<std::size_t>(number)];
    const std::uint32_t made = std::exchange(self.making, 0);
    to_inboxes(host_of(number), number, {packet_kind::creation, made, number});
    self.has |= made;
    gates_[static_cast<std::size_t>(number)].lies_in_inboxes(made);
    flush(number);
  }
  void take_message(int number) {
    process& self = processes_[static_cast<std::size_t>(number)];
    const packet taken = self.inbox.front();
    self.inbox.pop_front();
    if (taken.kind == packet_kind::creation)
      self.has |= taken.knows;
    else if ((taken.knows & ~self.has) != 0)
      throw std::logic_error("a message came before a creation that its sender knew");
    else if (taken.from >= 0 && ++self.taken[taken.from] != taken.order)
      throw std::logic_error("messages of one PE to another came in another order");
  }
  auto in_inboxes_at(int number) const {
    return [this, host = host_of(number)](std::uint32_t maker) {
      return maker == host ? ~std::uint32_t{0} : in_inboxes_[host][maker];
    };
  }
  void flush_arrivals(int number) {
    process& self = processes_[static_cast<std::size_t>(number)];
    self.kept.flush(in_inboxes_at(number), [&](const packet& each) { self.inbox.push_back(each); });
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
        take_data(from, to, came);
        break;
      case packet_kind::creation: {
        const int children = to_child_hosts(to, came);
        const std::size_t maker = host_of(came.other);
        others_[host_of(to)].heard(hosts_[host_of(to)], static_cast<int>(maker));
        to_inboxes(host_of(to), -1, came);
        in_inboxes_[host_of(to)][maker] = others_[host_of(to)].heard_of(static_cast<int>(maker));
        if (relayed_[host_of(to)].relayed(came.knows, children)) acknowledge(to, came);
        break;
      }
      case packet_kind::acknowledged:
        if (host_of(came.other) != host_of(to)) {
          if (relayed_[host_of(to)].acknowledged(came.knows)) acknowledge(to, came);
          break;
        }
        if (!gates_[static_cast<std::size_t>(to)].acknowledged(came.knows)) break;
        to_child_hosts(to, {packet_kind::globally_visible, 0, to});
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

  void take_data(int from, int to, const packet& came) {
    process& self = processes_[static_cast<std::size_t>(to)];
    const auto sender = static_cast<std::uint32_t>(from);
    if (rules_ == protocol::nothing_is_kept_at_receivers || self.kept.passes(sender, came.named, in_inboxes_at(to)))
      self.inbox.push_back(came);
    else
      self.kept.keep(sender, came.named, came);
  }

  int processes_of_host_;
  int width_;
  protocol rules_;
  std::uint32_t collections_ = 0;
  std::vector<creations> hosts_;
  std::vector<remote_creations<explore::plain_word>> others_;  // of the first process of each host
  std::vector<relayed_creations> relayed_;                     // the same
  std::vector<int> packets_at_;                                // not in the fingerprint: nothing depends on it
  std::vector<std::vector<std::uint32_t>> in_inboxes_;         // creations in the inboxes of a host, by their maker
  int held_ = 0;                                               // at senders; not in the fingerprint either
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
constexpr listing all_listings[] = {listing::of_all, listing::of_one, listing::of_none};

void expect_right(int hosts, int processes_of_host, int width, const std::vector<script>& scripts) {
  for (const listing places : all_listings)
    expect_right(world(hosts, processes_of_host, width, scripts, protocol::whole, places));
}

TEST(creation_fence, one_maker_and_a_message_that_goes_round_the_other_hosts) {
  for (const int width : {star, chain}) expect_right(3, 1, width, {{make, 1, 2}, {2, 2}, {1, 0}});
}
TEST(creation_fence, two_makers_on_two_hosts) { expect_right(2, 1, star, {{make, 1, make, 1}, {make, 0, 0}}); }
TEST(creation_fence, one_after_the_other_from_one_maker) {
  for (const int width : {star, chain}) expect_right(3, 1, width, {{make, make, 1, 2}, {2}, {0}});
}
TEST(creation_fence, two_makers_of_one_host) { expect_right(2, 2, star, {{make, 1, 3}, {make, 2}, {}, {}}); }
TEST(creation_fence, two_makers_of_one_host_in_a_chain) {
  expect_right(world(3, 2, chain, {{make}, {make, 4}, {}, {}, {}, {}}));
}
TEST(creation_fence, a_host_of_two_processes_passes_on) { expect_right(2, 2, star, {{make, 1}, {3}, {make}, {}}); }
TEST(creation_fence, answers_to_a_host_that_still_creates) { expect_right(2, 2, star, {{make}, {}, {1, 1}, {1}}); }
TEST(creation_fence, two_makers_on_three_hosts) {
  for (const int width : {star, chain}) expect_right(3, 1, width, {{make, 1}, {make, 2}, {}});
}
TEST(creation_fence, the_leaf_of_a_chain_sends_to_its_root) { expect_right(4, 1, chain, {{make}, {3}, {}, {0}}); }

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
    world start(4, 2, 1 + static_cast<int>(seed % 3), scripts, protocol::whole, all_listings[seed / 3 % 3]);
    const auto found = explore::explore_random(start, seed, 100'000);
    ASSERT_EQ(found.failure(), "") << "seed " << seed;
    ASSERT_EQ(found.ends, 1U) << "seed " << seed;
  }
}

// The creation comes, the subtree's acknowledgements, the notification: 3 for each edge, however many hosts there are.
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
  EXPECT_EQ(left, std::vector<int>());  // they do not lie in the inboxes of their own host
  for (const std::uint64_t name : {101, 102, 103}) own.lies_in_inboxes(name);
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
  first.begin_creation(1, 101), first.lies_in_inboxes(101);
  second.begin_creation(2, 102), second.lies_in_inboxes(102);
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

// A message passes creations that wait, and names them; where hosts with open creations have no place, it waits.
TEST(creation_fence, messages_name_what_is_open) {
  host_creations<> host;
  remote_creations<> others;
  creation_fence<int> own(host, 1);
  known_creations known;
  const auto named = [&] {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> list;
    EXPECT_TRUE(own.name_open(0, known));
    for (std::uint32_t i = 0; i < known.makers; ++i) list.emplace_back(known.maker[i].host, known.maker[i].creations);
    return list;
  };
  using list = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  EXPECT_EQ(named(), list());
  others.heard(host, 7), others.heard(host, 9), others.heard(host, 7);
  EXPECT_EQ(named(), list({{7, 2}, {9, 1}}));
  own.begin_creation(1, 101);  // waits for those of others
  EXPECT_EQ(named(), list({{7, 2}, {9, 1}, {0, 1}}));
  others.globally_visible(host, 9), others.heard(host, 8), others.heard(host, 5);
  EXPECT_EQ(named(), list({{7, 2}, {8, 1}, {5, 1}, {0, 1}}));
  others.heard(host, 4);
  EXPECT_FALSE(own.name_open(0, known));
  others.globally_visible(host, 7);
  EXPECT_FALSE(own.name_open(0, known));
  others.globally_visible(host, 7);
  EXPECT_EQ(named(), list({{4, 1}, {8, 1}, {5, 1}, {0, 1}}));
  own.hold(2);
  EXPECT_FALSE(own.name_open(0, known)) << "it would pass an earlier message";
}

// As long as up to three hosts create all the time, no message waits at its sender.
TEST(creation_fence, a_program_that_creates_all_the_time_holds_nothing_at_senders) {
  constexpr int hosts = 6, rounds = 10;
  std::vector<script> scripts(hosts);
  for (int host = 0; host < hosts; ++host)
    for (int round = 0; round < rounds; ++round) {
      if (host < 3) scripts[static_cast<std::size_t>(host)].push_back(make);
      for (int to = 0; to < hosts; ++to)
        if (to != host) scripts[static_cast<std::size_t>(host)].push_back(to);
    }
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    world job(hosts, 1, 2, scripts);
    ASSERT_EQ(explore::explore_random(job, seed, 1'000'000).failure(), "");
    ASSERT_EQ(job.held(), 0) << seed;
  }
}

// What the exploration finds with less.
TEST(creation_fence, it_is_not_enough_that_messages_name_creations) {
  const world start(3, 1, star, {{make}, {2}, {}}, protocol::nothing_is_kept_at_receivers);
  EXPECT_NE(explore::explore_all_in_place(start, 1'000'000).failure().find("before a creation"), std::string::npos);
}
TEST(creation_fence, an_answer_is_faster_than_a_creation_that_left_too_early) {
  const world start(2, 2, star, {{make}, {}, {1}, {}}, protocol::creations_leave_at_once);
  EXPECT_NE(explore::explore_all_in_place(start, 1'000'000).failure().find("before a creation"), std::string::npos);
}
TEST(creation_fence, without_them_a_message_is_faster_than_a_creation) {
  const world start(2, 2, star, {{make, 3}, {}, {}, {}}, protocol::none);
  EXPECT_NE(explore::explore_all_in_place(start, 1'000'000).failure().find("before a creation"), std::string::npos);
}

}  // namespace
}  // namespace tri::sched
