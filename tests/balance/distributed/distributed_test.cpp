// The distributed strategies with their messages in every order (small scope) and in random orders (large scope): each
// ends, no object is lost or doubled, what immovable objects have stays, and the makespan never grows.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "balance/distributed/gossip_host.hpp"
#include "balance/distributed/hierarchy_host.hpp"
#include "balance/made_snapshot.hpp"
#include "balance/small_snapshots.hpp"
#include "explore/explorer.hpp"
#include "trireme/balance_strategy.hpp"

namespace tri::balancing {
namespace {

using words = std::vector<std::uint64_t>;

std::uint64_t word_of(double value) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(value * 1024)); }

template <class Message>
void put_lists(words& into, const Message& of) {
  into.push_back(of.offered.size());
  for (const offered_object& each : of.offered) {
    into.push_back(each.object);
    into.push_back(word_of(each.time_before));
  }
  into.push_back(of.accepted.size());
  for (const accepted_object& each : of.accepted)
    into.push_back(std::uint64_t{each.object} << 32U | static_cast<std::uint32_t>(each.pe));
}
words words_of(const gossip_message& of) {
  words all{static_cast<std::uint64_t>(of.what), word_of(of.work), static_cast<std::uint64_t>(of.round)};
  all.push_back(of.known.size());
  for (const auto& each : of.known) {
    all.push_back(static_cast<std::uint64_t>(each.host));
    all.push_back(word_of(each.work));
  }
  put_lists(all, of);
  return all;
}
words words_of(const hierarchy_message& of) {
  words all{static_cast<std::uint64_t>(of.what), word_of(of.work), of.rooms.size()};
  for (const host_part::room& each : of.rooms) {
    all.push_back(static_cast<std::uint64_t>(each.pe));
    all.push_back(word_of(each.load));
  }
  put_lists(all, of);
  return all;
}

// All hosts, and the messages under way, which may overtake each other.
template <class Host>
class host_world {
 public:
  template <class... Options>
  explicit host_world(const snapshot& of, const Options&... options) : of_(&of) {
    std::vector<host_part> parts = host_part::of_hosts(of);
    const auto count = static_cast<std::int32_t>(parts.size());
    for (std::int32_t host = 0; host < count; ++host)
      hosts_.emplace_back(parts[static_cast<std::size_t>(host)], host, count, options...);
    typename Host::outbox out;
    for (std::int32_t host = 0; host < count; ++host) {
      hosts_[static_cast<std::size_t>(host)].begin(out);
      send(host, out);
    }
  }

  int steps() const { return static_cast<int>(messages_.size()); }
  void take(int number) {
    const in_flight next = messages_.at(static_cast<std::size_t>(number));
    messages_.erase(messages_.begin() + number);
    typename Host::outbox out;
    hosts_[static_cast<std::size_t>(next.to)].receive(next.from, next.what, out);
    send(next.to, out);
  }
  void check_end() const {
    std::vector<int> times_placed(of_->objects.size());
    std::vector<move> moves;
    double work_of_hosts = 0.0;
    for (const Host& host : hosts_) {
      if (!host.is_done()) throw std::runtime_error("no message is under way, and a host waits");
      work_of_hosts += host.part().work();
      for (const accepted_object& each : host.part().placed()) {
        ++times_placed[each.object];
        if (of_->objects[each.object].pe != each.pe)
          moves.push_back({each.object, of_->objects[each.object].pe, each.pe});
      }
    }
    for (std::size_t object = 0; object < times_placed.size(); ++object)
      if (times_placed[object] != (of_->objects[object].is_migratable ? 1 : 0))
        throw std::runtime_error("object " + std::to_string(object) + " has " + std::to_string(times_placed[object]) +
                                 " places");
    check_moves(*of_, moves, "the hosts");
    if (quality_of(*of_, moves).longest_ns > quality_of(*of_, {}).longest_ns)
      throw std::runtime_error("the makespan grew");
    // With gossip a host counts what it has accepted: nothing twice, and nothing is forgotten.
    if (!std::is_same_v<Host, gossip_host>) return;
    const placement before(*of_);
    double work = 0.0;
    for (std::int32_t pe = 0; pe < before.bins().size(); ++pe) work += before.bins().load_of(pe);
    if (work_of_hosts != work) throw std::runtime_error("work was lost or made");
  }
  void encode(explore::fingerprint& into) const {
    for (const Host& each : hosts_) each.encode([&](std::uint64_t word) { into.put(word); });
    into.put(messages_.size());
    for (const in_flight& each : messages_)
      for (const std::uint64_t word : each.key) into.put(word);
  }
  const std::vector<Host>& hosts() const { return hosts_; }

 private:
  struct in_flight {
    std::int32_t from, to;
    typename Host::message what;
    words key;
  };
  // In an order of their own, so that equal messages in flight are equal states, however they came about.
  void send(std::int32_t from, typename Host::outbox& out) {
    for (auto& [to, what] : out) {
      in_flight added{from, to, std::move(what), {}};
      added.key = words_of(added.what);
      added.key.insert(added.key.begin(), static_cast<std::uint64_t>(from) << 32U | static_cast<std::uint32_t>(to));
      const auto place = std::upper_bound(messages_.begin(), messages_.end(), added,
                                          [](const in_flight& a, const in_flight& b) { return a.key < b.key; });
      messages_.insert(place, std::move(added));
    }
    out.clear();
  }

  const snapshot* of_;
  std::vector<Host> hosts_;
  std::vector<in_flight> messages_;
};

snapshot hosts_of_one_pe(const std::vector<std::vector<std::int64_t>>& loads) {
  snapshot made = one_host(loads);
  for (std::size_t pe = 0; pe < made.pes.size(); ++pe) made.pes[pe].host = static_cast<std::int32_t>(pe);
  return made;
}

template <class Host, class... Options>
explore::model_outcome explore_all_orders(const snapshot& of, const Options&... options) {
  return explore::explore_all(host_world<Host>(of, options...));
}

TEST(gossip, every_order_of_messages_ends_with_each_object_in_one_place) {
  std::uint64_t states = 0;
  for (const snapshot& of : {hosts_of_one_pe({{10, 10, 10, 10}, {}, {}}), hosts_of_one_pe({{9, 9}, {9, 5}, {3}}),
                             hosts_of_one_pe({{30}, {5, 5}, {1}}), hosts_of_one_pe({{6, 6, 6}, {7, 7}, {}, {}}),
                             hosts_of_one_pe({{6, 6, 6}, {7, 7}, {5, 4}, {}, {}})}) {
    for (const std::uint64_t seed : {3U, 4U, 5U}) {
      const explore::model_outcome found =
          explore_all_orders<gossip_host>(of, gossip_options{.rounds = 2, .seed = seed, .turns = 2, .few_targets = 2});
      EXPECT_EQ(found.failure(), "");
      EXPECT_TRUE(found.complete);
      EXPECT_GT(found.ends, 0u);
      states += found.states;
    }
  }
  EXPECT_GT(states, 10'000u) << "the scope is too small to show anything";
}

TEST(hierarchy, every_order_of_messages_ends_with_each_object_in_one_place) {
  std::uint64_t states = 0;
  for (const snapshot& of : {hosts_of_one_pe({{}, {}, {10, 10, 10, 10}, {7, 7, 7}, {}}),
                             hosts_of_one_pe({{9, 9}, {9, 5}, {3}, {30}, {1, 1, 1}}),
                             hosts_of_one_pe({{}, {9, 9, 9}, {3}, {30}, {1, 1, 1}, {}, {4, 4, 4, 4}})}) {
    const explore::model_outcome found = explore_all_orders<hierarchy_host>(of, 0.02, 2);
    EXPECT_EQ(found.failure(), "");
    EXPECT_TRUE(found.complete);
    states += found.states;
  }
  EXPECT_GT(states, 200u) << "the scope is too small to show anything";
}

// The order of messages does not change what a tree decides.
TEST(hierarchy, the_order_of_messages_does_not_matter) {
  const snapshot of = hosts_of_one_pe({{}, {}, {10, 10, 10, 10}, {7, 7, 7}, {}, {4, 4, 4}, {1}});
  std::vector<std::vector<accepted_object>> first;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    host_world<hierarchy_host> world(of, 0.02, 2);
    ASSERT_EQ(explore::explore_random(world, seed, 10'000).failure(), "");
    for (std::size_t host = 0; host < world.hosts().size(); ++host) {
      const std::vector<accepted_object> placed = world.hosts()[host].part().placed();
      if (seed == 0) first.push_back(placed);
      ASSERT_EQ(placed.size(), first[host].size());
      for (std::size_t i = 0; i < placed.size(); ++i) ASSERT_EQ(placed[i].pe, first[host][i].pe);
    }
  }
}

TEST(distributed, random_snapshots_in_random_orders) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    const snapshot of = drawn_snapshot(seed);
    host_world<gossip_host> gossip(of, gossip_options{.rounds = 1 + static_cast<std::int32_t>(seed % 4),
                                                      .seed = seed,
                                                      .most_known = 1 + seed % 5,
                                                      .few_targets = 1 + seed % 3});
    ASSERT_EQ(explore::explore_random(gossip, seed, 100'000).failure(), "") << "gossip, seed " << seed;
    host_world<hierarchy_host> hierarchy(of, 0.02, 1 + static_cast<std::int32_t>(seed % 3));
    ASSERT_EQ(explore::explore_random(hierarchy, seed, 100'000).failure(), "") << "hierarchy, seed " << seed;
  }
}

// Half of the hosts have all the work.
TEST(distributed, few_messages_come_near_the_level) {
  snapshot of = make_snapshot(wish_from("random,objects=8000,pes=256,hosts=64,seed=1"));
  for (object_load& each : of.objects) each.pe /= 2;
  for (const char* name : {"gossip", "hierarchy"}) {
    const outcome done = balance(of, find_strategy(name));
    EXPECT_GT(done.before.longest_ns, 2.0 * done.before.level_ns);
    EXPECT_LT(done.after.longest_ns, 1.1 * done.after.level_ns) << name;
    EXPECT_LE(done.cost.messages, 20 * 256) << name;
  }
}

}  // namespace
}  // namespace tri::balancing
