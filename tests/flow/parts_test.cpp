// The parts that the two machines are made of.
#include <gmock/gmock.h>

#include <vector>

#include "flow/bounded_memory.hpp"
#include "flow/peer_set.hpp"
#include "flow/pending_sends.hpp"
#include "flow/reserved_reply_slots.hpp"

namespace tri::flow {
namespace {

TEST(flow_bounded_memory, never_exceeds_its_limit) {
  bounded_memory memory(100);
  EXPECT_TRUE(memory.try_take(60));
  EXPECT_FALSE(memory.try_take(41));
  EXPECT_FALSE(memory.try_take(~std::uint64_t{0})) << "no overflow";
  EXPECT_TRUE(memory.try_take(40));
  EXPECT_TRUE(memory.try_take(0));
  EXPECT_THROW(memory.give_back(101), std::logic_error);
  memory.give_back(100);
  EXPECT_EQ(memory.used(), 0U);
  EXPECT_EQ(memory.most_used(), 100U);
}

TEST(flow_peer_set, finds_members_round_the_end) {
  peer_set set(200);
  for (const peer_number peer : {3U, 64U, 199U, 64U}) set.insert(peer);
  EXPECT_EQ(set.size(), 3U);
  EXPECT_EQ(set.next_from(0), 3U);
  EXPECT_EQ(set.next_from(3), 3U);
  EXPECT_EQ(set.next_from(4), 64U);
  EXPECT_EQ(set.next_from(65), 199U);
  set.erase(199);
  set.erase(199);
  EXPECT_EQ(set.size(), 2U);
  EXPECT_EQ(set.next_from(65), 3U);
  set.erase(64);
  EXPECT_EQ(set.next_from(4), 3U) << "also below, in the same word";
}

TEST(flow_reserved_reply_slots, are_first_in_first_out_and_no_more_than_made) {
  reserved_reply_slots places(2);
  for (peer_number round = 0; round < 5; ++round) {
    places.put({.to = round, .what = {}});
    places.put({.to = round + 100, .what = {}});
    EXPECT_FALSE(places.has_capacity());
    EXPECT_THROW(places.put({}), std::logic_error);
    EXPECT_EQ(places.take().to, round);
    EXPECT_EQ(places.take().to, round + 100);
  }
  EXPECT_EQ(places.most_used(), 2U);
}

TEST(flow_pending_sends, entries_leave_from_anywhere_and_are_used_again) {
  pending_sends entries;
  destination queue;
  const auto append = [&](message_token message) {
    pending_send entry;
    entry.message = message;
    return entries.append(queue, entry);
  };
  const auto in_order = [&] {
    std::vector<message_token> all;
    for (entry_index i = queue.first; i != no_entry; i = entries[i].next) all.push_back(entries[i].message);
    std::vector<message_token> backwards;
    for (entry_index i = queue.last; i != no_entry; i = entries[i].previous)
      backwards.insert(backwards.begin(), entries[i].message);
    EXPECT_EQ(all, backwards);
    return all;
  };
  const entry_index first = append(1), second = append(2), third = append(3);
  EXPECT_EQ(queue.unasked, first);
  const std::uint64_t number = entries.number_of(second);
  EXPECT_EQ(entries.find(number), second);
  entries.unlink(queue, second);
  entries.release(second);
  EXPECT_EQ(entries.find(number), no_entry);
  EXPECT_THAT(in_order(), testing::ElementsAre(1, 3));
  EXPECT_EQ(append(4), second);
  EXPECT_EQ(entries.find(number), no_entry) << "another request in the same entry";
  EXPECT_THAT(in_order(), testing::ElementsAre(1, 3, 4));
  entries.unlink(queue, first);
  EXPECT_EQ(queue.unasked, third);
  entries.unlink(queue, second);
  EXPECT_THAT(in_order(), testing::ElementsAre(3));
  entries.unlink(queue, third);
  EXPECT_THAT(in_order(), testing::IsEmpty());
  EXPECT_EQ(queue.unasked, no_entry);
  EXPECT_EQ(entries.capacity(), 3U);
  EXPECT_EQ(entries.find(99), no_entry);
}

}  // namespace
}  // namespace tri::flow
