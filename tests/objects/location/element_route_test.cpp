// One PE's machine by hand: which actions each event gives, what an entry is worth, what it refuses.
#include "objects/location/element_route.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>

#include "objects/location/location_protocol.hpp"

namespace tri::objects {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using signal = location_signal;

std::vector<std::string> text(const location_actions& actions) {
  static const std::vector<std::string> kinds{"deliver",  "send",           "control",     "depart",
                                              "inserted", "insert_refused", "dead_letter", "route"};
  static const std::vector<std::string> signals{"moved",  "flush",   "flush_insert", "flushed", "refused",
                                                "parked", "granted", "buried",       "prepare"};
  std::vector<std::string> lines;
  for (const auto& a : actions) {
    auto line = kinds[static_cast<std::size_t>(a.kind)];
    if (a.kind == location_action_kind::control) line = signals[static_cast<std::size_t>(a.control.signal)];
    if (a.peer != no_pe || line == "route") line.append(" ").append(std::to_string(a.peer));
    if (a.message != 0) line.append(" m").append(std::to_string(a.message)).append(a.backlog ? "b" : "");
    lines.push_back(line);
  }
  return lines;
}

using protocol = location_protocol<int, std::function<pe_number(const int&)>>;
protocol dense(pe_number self) {
  return protocol(self, population::dense, [](int e) { return e % 4; });
}
protocol sparse(pe_number self) {
  return protocol(self, population::sparse, [](int e) { return e % 4; });
}

TEST(location_protocol, a_buried_element_is_remembered_at_home_alone) {
  auto home = sparse(0);
  auto place = sparse(1);
  location_actions out;
  ASSERT_TRUE(place.insert(4, out));  // its home is PE 0
  out.clear();
  home.on_control(4, 1, {.signal = signal::flush_insert, .origin = 1}, out);
  out.clear();
  place.on_control(4, 0, {.signal = signal::granted}, out);
  out.clear();
  ASSERT_TRUE(place.erase(4, out));
  EXPECT_EQ(place.ranges_of_dead(), 1U);
  out.clear();
  place.bury(4, out);
  EXPECT_EQ(text(out).front(), "buried 0");
  EXPECT_TRUE(place.all_default());
  out.clear();
  home.on_control(4, 1, {.signal = signal::buried}, out);
  EXPECT_EQ(home.entries(), 0U);
  EXPECT_EQ(home.ranges_of_dead(), 1U);
  out.clear();
  home.on_arrival(4, 2, 7, false, out);
  EXPECT_EQ(text(out).front(), "dead_letter m7");
}

TEST(location_protocol, has_no_state_before_anything_migrates) {
  const auto p = dense(1);
  EXPECT_TRUE(p.all_default());
  EXPECT_EQ(p.fast_route(1), 1);
  EXPECT_EQ(p.fast_route(6), 2);
  EXPECT_TRUE(p.is_local_ready(5));
  EXPECT_FALSE(p.is_local_ready(6));
}

TEST(location_protocol, migration_asks_the_target_first_and_forwards_afterwards) {
  auto p = dense(1);
  location_actions out;
  ASSERT_TRUE(p.migrate(1, 3, out));
  EXPECT_THAT(text(out), ElementsAre("prepare 3"));
  EXPECT_TRUE(p.is_local_ready(1));
  out.clear();
  p.on_control(1, 3, {.signal = signal::flush, .prepared = true, .origin = 3}, out);
  EXPECT_THAT(text(out), ElementsAre("depart 3", "route 3"));
  out.clear();
  p.on_arrival(1, 2, 7, false, out);
  p.on_arrival(1, 2, 8, false, out);
  EXPECT_THAT(text(out), ElementsAre("send 3 m7", "moved 2", "send 3 m8"));
}

TEST(location_protocol, target_holds_until_the_element_comes_and_forgets_when_it_goes_home) {
  auto p = dense(3);
  location_actions out;
  p.on_control(1, 1, {.signal = signal::prepare}, out);
  EXPECT_THAT(text(out), ElementsAre("flush 1", "route -1"));
  out.clear();
  p.on_send(1, 5, out);
  p.on_arrival(1, 2, 6, false, out);
  EXPECT_THAT(out, IsEmpty());
  EXPECT_EQ(p.held_messages(), 2U);
  EXPECT_FALSE(p.is_settled());
  p.on_element_arrived(1, 1, out);
  EXPECT_THAT(text(out), ElementsAre("deliver m5", "deliver m6", "route 3"));
  out.clear();
  ASSERT_TRUE(p.migrate(1, 1, out));
  p.on_control(1, 1, {.signal = signal::flush, .prepared = true, .origin = 1}, out);
  EXPECT_THAT(text(out), ElementsAre("prepare 1", "depart 1", "route 1"));
  EXPECT_TRUE(p.all_default()) << "the route is the initial placement again";
}

TEST(location_protocol, hop_is_told_again_after_the_element_has_been_back) {
  auto p = dense(1);
  location_actions out;
  const auto leave = [&] {
    ASSERT_TRUE(p.migrate(2, 3, out));
    p.on_control(2, 3, {.signal = signal::flush, .prepared = true, .origin = 3}, out);
  };
  const auto come = [&] {
    p.on_control(2, 3, {.signal = signal::prepare}, out);
    p.on_element_arrived(2, 3, out);
  };
  come();  // home is PE 2, so that the entry outlives the visits
  leave();
  out.clear();
  p.on_arrival(2, 0, 5, false, out);
  EXPECT_THAT(text(out), ElementsAre("send 3 m5", "moved 0"));
  come();
  leave();
  out.clear();
  p.on_arrival(2, 0, 6, false, out);
  EXPECT_THAT(text(out), ElementsAre("send 3 m6", "moved 0"));
}

TEST(location_protocol, insertion_where_the_element_just_arrives_is_refused) {
  auto p = dense(3);
  location_actions out;
  p.on_control(1, 1, {.signal = signal::prepare}, out);
  ASSERT_TRUE(p.insert(1, out));
  p.on_element_arrived(1, 1, out);
  EXPECT_THAT(text(out), ElementsAre("flush 1", "route -1", "insert_refused", "route 3"));
}

TEST(location_protocol, sender_flushes_before_it_takes_the_shorter_way) {
  auto p = dense(0);
  location_actions out;
  p.on_control(1, 1, {.signal = signal::moved}, out);
  p.on_send(1, 5, out);
  p.on_control(1, 3, {.signal = signal::flushed}, out);
  EXPECT_THAT(text(out), ElementsAre("flush 1", "route -1", "send 3 m5", "route 3"));
  out.clear();
  p.on_control(1, 1, {.signal = signal::moved}, out);
  EXPECT_THAT(out, IsEmpty()) << "a notice about a route that is no longer used";
}

TEST(location_protocol, home_of_a_sparse_element_holds_and_hands_over) {
  auto p = sparse(2);
  location_actions out;
  EXPECT_EQ(p.fast_route(2), no_pe);
  p.on_arrival(2, 0, 5, false, out);
  p.on_send(2, 6, out);
  EXPECT_THAT(out, IsEmpty());
  p.on_control(2, 1, {.signal = signal::flush_insert, .origin = 1}, out);
  EXPECT_THAT(text(out), ElementsAre("granted 1", "send 1 m5b", "moved 0", "send 1 m6b", "route 1"));
  EXPECT_EQ(out.front().control.owed, 2);
}

TEST(location_protocol, inserted_element_takes_the_backlog_before_what_was_sent_since) {
  auto p = sparse(1);
  location_actions out;
  ASSERT_TRUE(p.insert(2, out));
  EXPECT_FALSE(p.insert(2, out)) << "one insertion at a time";
  p.on_send(2, 9, out);
  p.on_control(2, 2, {.signal = signal::granted, .owed = 1}, out);
  p.on_arrival(2, 2, 8, true, out);
  EXPECT_THAT(text(out), ElementsAre("flush_insert 2", "route -1", "inserted", "deliver m8", "deliver m9", "route 1"));
  EXPECT_FALSE(p.insert(2, out)) << "exists";
}

TEST(location_protocol, messages_to_a_deleted_element_are_dead_letters) {
  auto p = dense(1);
  location_actions out;
  ASSERT_TRUE(p.erase(1, out));
  p.on_send(1, 5, out);
  p.on_arrival(1, 2, 6, false, out);
  EXPECT_THAT(text(out), ElementsAre("route -1", "dead_letter m5", "dead_letter m6"));
  EXPECT_FALSE(p.erase(1, out));
  EXPECT_FALSE(p.migrate(1, 2, out));
  out.clear();
  ASSERT_TRUE(p.insert(1, out));
  EXPECT_THAT(text(out), ElementsAre("inserted", "route 1"));
  EXPECT_TRUE(p.all_default());
}

TEST(location_protocol, last_migration_request_counts_and_the_own_pe_withdraws) {
  auto p = dense(1);
  location_actions out;
  ASSERT_TRUE(p.migrate(1, 2, out));
  ASSERT_TRUE(p.migrate(1, 3, out));
  EXPECT_THAT(text(out), ElementsAre("prepare 2"));
  p.on_control(1, 2, {.signal = signal::flush, .prepared = true, .origin = 2}, out);
  EXPECT_THAT(text(out), ElementsAre("prepare 2", "flushed 2", "prepare 3"));
  ASSERT_TRUE(p.migrate(1, 1, out));
  out.clear();
  p.on_control(1, 3, {.signal = signal::flush, .prepared = true, .origin = 3}, out);
  EXPECT_THAT(text(out), ElementsAre("flushed 3"));
  EXPECT_TRUE(p.all_default());
}

TEST(location_protocol, impossible_event_names_pe_event_and_state) {
  auto p = dense(0);
  location_actions out;
  try {
    p.on_element_arrived(1, 2, out);
    FAIL() << "accepted an element it was not prepared for";
  } catch (const std::logic_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("PE 0: received the element while \"open via PE 1\""));
  }
}

TEST(number_set, keeps_what_a_plain_set_keeps) {
  std::mt19937 random(5);
  number_set ranges;
  std::set<std::uint64_t> plain;
  constexpr std::uint64_t base = ~std::uint64_t{0} - 20;  // with the largest numbers, whose neighbour wraps
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t number = base + random() % 41;
    if (const std::uint64_t kind = random() % 4; kind == 0) {
      ranges.insert(number);
      plain.insert(number);
    } else if (kind == 1) {
      const std::uint64_t last = number + random() % 4;  // some wrap: they are none
      if (last < number) continue;
      ranges.insert(number, last);
      for (std::uint64_t each = number;; ++each) {
        plain.insert(each);
        if (each == last) break;
      }
    } else {
      ranges.erase(number);
      plain.erase(number);
    }
    std::size_t runs = 0;
    for (const std::uint64_t each : plain) runs += each == 0 || plain.count(each - 1) == 0 ? 1 : 0;
    ASSERT_EQ(ranges.ranges(), runs);
    for (std::uint64_t offset = 0; offset < 45; ++offset)
      ASSERT_EQ(ranges.contains(base + offset), plain.count(base + offset) == 1);
  }
}

TEST(location_protocol, remembers_deleted_elements_as_ranges) {
  protocol here = sparse(0);
  location_actions out;
  for (int key = 0; key < 400; key += 4) {
    EXPECT_TRUE(here.insert(key, out));
    EXPECT_TRUE(here.erase(key, out));
  }
  EXPECT_EQ(here.entries(), 0U);
  out.clear();
  here.on_send(8, 1, out);
  EXPECT_THAT(text(out), ElementsAre("dead_letter m1"));
  EXPECT_EQ(here.fast_route(8), no_pe);
  out.clear();
  EXPECT_TRUE(here.insert(8, out));  // alive again, and deleted again
  EXPECT_EQ(here.fast_route(8), 0);
  EXPECT_EQ(here.ranges_of_dead(), 99U);
  EXPECT_TRUE(here.erase(8, out));
  EXPECT_EQ(here.ranges_of_dead(), 100U);
}

}  // namespace
}  // namespace tri::objects
