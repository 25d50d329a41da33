// Distributed strategies as they run on hosts: messages in any order, early ones, and what no host may send.
#include "objects/balance/host_round.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <stdexcept>
#include <vector>

namespace tri::objects {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::int32_t pes_of_host = 2;

/// Hosts whose messages wait until the test lets one arrive; PEs answer at once.
struct fake_hosts {
  explicit fake_hosts(std::int32_t count, std::uint64_t seed) : random(seed) {
    for (std::int32_t host = 0; host < count; ++host)
      hosts.emplace_back(host_round::place{host, count, host * pes_of_host, pes_of_host, {1.0, 1.0}});
  }
  struct in_flight {
    std::int32_t from, to;
    std::uint32_t round;
    host_round::message what;
  };

  load_part part_of(std::int32_t pe) {
    load_part part;
    part.pe = pe;
    for (std::uint64_t i = 0; i < loads[pe].size(); ++i) {
      load_part::element one;
      one.name = {1, static_cast<std::uint64_t>(pe) * 1000 + i};
      one.load_ns = loads[pe][i];
      part.elements.push_back(one);
    }
    return part;
  }
  template <class Event>
  void step(std::int32_t host, Event&& event) {
    host_round::actions out;
    event(hosts[static_cast<std::size_t>(host)], out);
    perform(host, out);
  }
  void perform(std::int32_t host, host_round::actions& out) {
    host_round& state = hosts[static_cast<std::size_t>(host)];
    for (auto& [to, what] : out.messages) messages.push_back({host, to, state.round(), std::move(what)});
    if (out.decided) decided.push_back(*out.decided);
    if (out.moved) moved += *out.moved;
    if (out.ask_for_loads)
      for (std::int32_t pe = host * pes_of_host; pe < (host + 1) * pes_of_host; ++pe)
        step(host, [&](host_round& at, auto& next) { at.take(at.round(), part_of(pe), next); });
    for (const auto& each : out.orders) {
      for (const move_order& order : each.orders) placed[order.name.number] = order.to;
      step(host, [&](host_round& at, auto& next) {
        at.take(at.round(), each.pe, move_counts{static_cast<std::int64_t>(each.orders.size()), 0, 0}, next);
      });
    }
  }
  void arrive(std::size_t which) {
    in_flight one = std::move(messages[which]);
    messages.erase(messages.begin() + static_cast<std::ptrdiff_t>(which));
    step(one.to, [&](host_round& at, auto& out) { at.receive(one.round, one.from, std::move(one.what), out); });
  }
  // Hosts begin at any time between messages, which arrive in any order. As soon as all have decided they carry it out,
  // as PE 0 lets them; a message of the round that comes after that would be refused.
  void run(std::uint32_t round, const char* strategy) {
    decided.clear();
    moved = {};
    std::vector<std::int32_t> to_begin(hosts.size());
    for (std::size_t i = 0; i < to_begin.size(); ++i) to_begin[i] = static_cast<std::int32_t>(i);
    std::shuffle(to_begin.begin(), to_begin.end(), random);
    std::vector<std::int32_t> to_carry_out = to_begin;
    while (!to_carry_out.empty() || !messages.empty()) {
      if (decided.size() == hosts.size() && !to_carry_out.empty()) {
        const std::int32_t host = to_carry_out.back();
        to_carry_out.pop_back();
        step(host, [&](host_round& at, auto& out) { at.carry_out(round, out); });
      } else if (!to_begin.empty() && (messages.empty() || random() % 3 == 0)) {
        const std::int32_t host = to_begin.back();
        to_begin.pop_back();
        step(host, [&](host_round& at, auto& out) { at.begin(round, strategy, 1.0, out); });
      } else {
        ASSERT_FALSE(messages.empty()) << "a host never decides";
        arrive(random() % messages.size());
      }
    }
    ASSERT_EQ(decided.size(), hosts.size());
  }
  std::int64_t longest() const {
    std::map<std::int32_t, std::int64_t> times;
    for (const auto& [pe, list] : loads)
      for (std::uint64_t i = 0; i < list.size(); ++i) {
        const auto found = placed.find(static_cast<std::uint64_t>(pe) * 1000 + i);
        times[found == placed.end() ? pe : found->second] += list[i];
      }
    std::int64_t most = 0;
    for (const auto& [pe, time] : times) {
      EXPECT_GE(pe, 0);
      EXPECT_LT(pe, static_cast<std::int32_t>(hosts.size()) * pes_of_host);
      most = std::max(most, time);
    }
    return most;
  }

  std::vector<host_round> hosts;
  std::mt19937_64 random;
  std::map<std::int32_t, std::vector<std::int64_t>> loads;
  std::vector<in_flight> messages;
  std::vector<host_round::result> decided;
  move_counts moved;
  std::map<std::uint64_t, std::int32_t> placed;
};

TEST(host_round, every_order_of_messages_ends_and_never_lengthens_the_makespan) {
  for (const char* const strategy : {"gossip", "hierarchy"})
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      fake_hosts job(static_cast<std::int32_t>(2 + seed % 5), seed);
      std::int64_t all = 0;
      for (std::int32_t pe = 0; pe < static_cast<std::int32_t>(job.hosts.size()) * pes_of_host; ++pe)
        for (std::uint64_t i = 0; i < (pe < 2 ? 40u : 10u); ++i) {
          job.loads[pe].push_back(1000 + static_cast<std::int64_t>(job.random() % 1000));
          all += job.loads[pe].back();
        }
      const std::int64_t before = job.longest();
      job.run(3, strategy);
      const std::int64_t after = job.longest();
      EXPECT_LE(after, before);
      const double level = static_cast<double>(all) / static_cast<double>(job.hosts.size() * pes_of_host);
      EXPECT_LT(static_cast<double>(after), 1.2 * level) << strategy << " " << seed;
      EXPECT_EQ(job.moved.moved, static_cast<std::int64_t>(job.placed.size()));
      std::int64_t longest = 0;
      for (const auto& each : job.decided) longest = std::max(longest, static_cast<std::int64_t>(each.longest_ns));
      EXPECT_EQ(longest, before);
    }
}

TEST(host_round, rounds_follow_each_other) {
  fake_hosts job(3, 7);
  job.loads[0] = {5, 5, 5, 5, 5, 5};
  for (std::uint32_t round = 1; round <= 4; ++round) {
    job.placed.clear();
    job.run(round, round % 2 == 0 ? "gossip" : "hierarchy");
    EXPECT_LE(job.longest(), 10);
  }
}

TEST(host_round, what_was_not_asked_for_is_refused) {
  fake_hosts job(2, 1);
  host_round& host = job.hosts[0];
  host_round::actions out;
  EXPECT_THAT([&] { host.take(1, job.part_of(0), out); },
              ThrowsMessage<std::logic_error>(HasSubstr("PE 0 reports loads that host 0 has not asked for")));
  host.begin(1, "hierarchy", 1.0, out);
  EXPECT_THROW(host.begin(2, "hierarchy", 1.0, out), std::logic_error);
  EXPECT_THROW(host.take(1, job.part_of(2), out), std::logic_error);  // of another host
  host.take(1, job.part_of(0), out);
  EXPECT_THROW(host.take(1, job.part_of(0), out), std::logic_error);  // twice
  EXPECT_THROW(host.carry_out(1, out), std::logic_error);
  EXPECT_THROW(host.receive(0, 1, balancing::hierarchy_message{}, out), std::logic_error);
  EXPECT_THROW(host.receive(1, 2, balancing::hierarchy_message{}, out), std::logic_error);  // there is no host 2
  balancing::hierarchy_message of_nowhere;
  of_nowhere.offered.push_back({0, 9, 1.0, 1.0});
  EXPECT_THAT([&] { host.receive(1, 1, of_nowhere, out); },
              ThrowsMessage<std::logic_error>(HasSubstr("names no host of the job")));
  host.take(1, job.part_of(1), out);
  EXPECT_THAT([&] { host.receive(1, 1, balancing::gossip_message{}, out); },
              ThrowsMessage<std::logic_error>(HasSubstr("of another strategy")));
  EXPECT_THROW(host.take(1, 0, move_counts{}, out), std::logic_error);
}

}  // namespace
}  // namespace tri::objects
