// The receiver's rules one by one: the table of what it answers to a request (README.md), and what restarts senders.
#include "flow/receiver.hpp"

#include <gmock/gmock.h>

#include <vector>

namespace tri::flow {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

packet request(std::uint64_t number, std::uint32_t age, std::int32_t tag, std::uint64_t bytes) {
  packet rts;
  rts.request = number;
  rts.age = age;
  rts.tag = tag;
  rts.bytes = bytes;
  return rts;
}

packet data_for(std::uint64_t place) {
  packet data;
  data.kind = packet_kind::data;
  data.place = place;
  return data;
}

receive receive_of(peer_number source, std::int32_t tag, message_token token, std::uint64_t capacity = 1000) {
  return {{source, 0, tag}, capacity, token};
}

struct sent {
  peer_number to;
  packet_kind kind;
  std::uint64_t number;  // of the request; of a resendAll: the age
  friend bool operator==(const sent&, const sent&) = default;
};
void PrintTo(const sent& one, std::ostream* out) { *out << name_of(one.kind) << " " << one.number << " to " << one.to; }

std::vector<sent> packets(receiver& from) {
  std::vector<sent> all;
  while (const auto one = from.next_packet()) {
    const bool is_restart = one->what.kind == packet_kind::resend_all || one->what.kind == packet_kind::resend_one;
    all.push_back({one->to, one->what.kind, is_restart ? one->what.age : one->what.request});
  }
  return all;
}

sent cts(peer_number to, std::uint64_t request) { return {to, packet_kind::cts, request}; }
sent ncts(peer_number to, std::uint64_t request) { return {to, packet_kind::ncts, request}; }
sent nctsd(peer_number to, std::uint64_t request) { return {to, packet_kind::nctsd, request}; }
sent resend_all(peer_number to, std::uint64_t age) { return {to, packet_kind::resend_all, age}; }

sent resend_one(peer_number to, std::uint64_t age) { return {to, packet_kind::resend_one, age}; }

// ---- the answer to a request

TEST(flow_request, that_a_receive_waits_for_goes_to_its_memory_whatever_memory_there_is) {
  receiver here(1, 0);
  EXPECT_FALSE(here.post(receive_of(0, 7, 42)));
  const decision made = here.on_request(0, request(1, 0, 7, 500));
  EXPECT_EQ(made.what, verdict::to_receive);
  EXPECT_EQ(made.receive, 42U);
  EXPECT_THAT(packets(here), ElementsAre(cts(0, 1)));
  EXPECT_EQ(here.memory().most_used(), 0U);
  const auto done = here.on_data(0, data_for(made.place));
  ASSERT_TRUE(done);
  EXPECT_EQ(done->receive, 42U);
  EXPECT_EQ(done->bytes, 500U);
  EXPECT_FALSE(done->buffered);
  EXPECT_EQ(here.receiving(), 0U);
}

TEST(flow_request, of_more_than_the_receive_holds_is_cut_and_the_size_is_told) {
  receiver here(1, 0);
  here.post(receive_of(0, 7, 42, 100));
  const decision made = here.on_request(0, request(1, 0, 7, 500));
  EXPECT_EQ(here.next_packet()->what.bytes, 100U);
  EXPECT_EQ(here.on_data(0, data_for(made.place))->bytes, 500U);
}

TEST(flow_request, that_fits_with_its_buffer_is_buffered) {
  receiver here(1, record_bytes + 500);
  const decision made = here.on_request(0, request(1, 0, 7, 500));
  EXPECT_EQ(made.what, verdict::buffered);
  EXPECT_THAT(packets(here), ElementsAre(cts(0, 1)));
  EXPECT_EQ(here.memory().free(), 0U);
  EXPECT_FALSE(here.on_data(0, data_for(made.place)));
  const auto done = here.post(receive_of(0, 7, 42));
  ASSERT_TRUE(done);
  EXPECT_TRUE(done->buffered);
  EXPECT_EQ(done->place, made.place);
  EXPECT_EQ(here.memory().used(), 500U) << "the record is gone, the buffer is in use";
  here.consumed(done->buffer_bytes);
  EXPECT_EQ(here.memory().used(), 0U);
}

TEST(flow_request, that_is_received_while_its_data_comes_is_delivered_with_the_data) {
  receiver here(1, 1000);
  const decision made = here.on_request(0, request(1, 0, 7, 500));
  EXPECT_FALSE(here.post(receive_of(0, 7, 42)));
  EXPECT_FALSE(here.post(receive_of(0, 7, 43))) << "the message belongs to the first receive";
  const auto done = here.on_data(0, data_for(made.place));
  ASSERT_TRUE(done);
  EXPECT_EQ(done->receive, 42U);
  EXPECT_EQ(here.posted(), 1U);
}

TEST(flow_request, whose_record_fits_without_the_buffer_is_recorded_and_granted_later) {
  receiver here(1, record_bytes + 499);
  EXPECT_EQ(here.on_request(0, request(1, 0, 7, 500)).what, verdict::recorded);
  EXPECT_THAT(packets(here), ElementsAre(nctsd(0, 1)));
  EXPECT_EQ(here.memory().used(), record_bytes);
  EXPECT_FALSE(here.post(receive_of(0, 7, 42)));
  EXPECT_EQ(here.memory().used(), 0U) << "the record goes when the receive takes over";
  const auto grant = here.next_packet();
  ASSERT_TRUE(grant);
  EXPECT_EQ(grant->what.kind, packet_kind::cts);
  EXPECT_EQ(grant->what.request, 1U);
  EXPECT_EQ(here.on_data(0, data_for(grant->what.place))->receive, 42U);
}

TEST(flow_request, whose_record_does_not_fit_is_refused_and_its_sender_marked) {
  receiver here(2, record_bytes - 1);
  EXPECT_EQ(here.on_request(1, request(5, 0, 7, 0)).what, verdict::refused);
  EXPECT_THAT(packets(here), ElementsAre(ncts(1, 5)));
  EXPECT_TRUE(here.is_marked(1));
  EXPECT_FALSE(here.is_marked(0));
  EXPECT_EQ(here.memory().used(), 0U);
}

// A receiver that has restarted sender 0, whose age is 1 now; the restart is told.
receiver restarted_receiver(std::uint64_t memory) {
  receiver here(2, memory);
  EXPECT_TRUE(here.reserve(memory));
  here.on_request(0, request(1, 0, 7, 0));
  here.release(memory);
  EXPECT_THAT(packets(here), ElementsAre(ncts(0, 1), resend_all(0, 1)));
  return here;
}

TEST(flow_request, of_an_age_that_is_over_is_refused_though_there_is_memory) {
  receiver here = restarted_receiver(10'000);
  EXPECT_EQ(here.on_request(0, request(2, 0, 8, 0)).what, verdict::stale);
  EXPECT_THAT(packets(here), ElementsAre(ncts(0, 2)));
  EXPECT_FALSE(here.is_marked(0));
  EXPECT_EQ(here.recorded(), 0U);
}

TEST(flow_request, of_an_age_that_is_over_with_a_receive_for_it_restarts_its_sender_as_well) {
  receiver here = restarted_receiver(10'000);
  here.post(receive_of(0, 8, 42));
  EXPECT_THAT(packets(here), IsEmpty());
  EXPECT_EQ(here.on_request(0, request(2, 0, 8, 0)).what, verdict::stale);
  EXPECT_EQ(here.posted(), 1U) << "the receive waits on";
  EXPECT_THAT(packets(here), ElementsAre(ncts(0, 2), resend_all(0, 1)));
  EXPECT_EQ(here.age(0), 1U) << "with the age that it has";
  EXPECT_EQ(here.on_request(0, request(1, 1, 7, 0)).what, verdict::buffered);
  EXPECT_EQ(here.on_request(0, request(2, 1, 8, 0)).what, verdict::to_receive);
}

TEST(flow_request, of_the_new_age_makes_telling_it_again_needless) {
  receiver here = restarted_receiver(10'000);
  here.post(receive_of(0, 8, 42));
  here.on_request(0, request(2, 0, 8, 0));
  EXPECT_EQ(here.restarts_owed(), 1U);
  here.on_request(0, request(1, 1, 7, 0));
  EXPECT_EQ(here.restarts_owed(), 0U);
}

// ---- restarts

TEST(flow_restart, freed_memory_restarts_all_marked_senders_and_only_those) {
  receiver here(5, 1000);
  ASSERT_TRUE(here.reserve(1000));
  for (const peer_number peer : {1U, 2U, 4U}) here.on_request(peer, request(peer, 0, 7, 0));
  EXPECT_THAT(packets(here), ElementsAre(ncts(1, 1), ncts(2, 2), ncts(4, 4)));
  here.release(1000);
  EXPECT_THAT(packets(here), ElementsAre(resend_all(1, 1), resend_all(2, 1), resend_all(4, 1)));
  EXPECT_EQ(here.marked(), 0U);
  EXPECT_EQ(here.age(0), 0U);
  EXPECT_EQ(here.age(3), 0U);
  ASSERT_TRUE(here.reserve(500));
  here.release(500);
  EXPECT_THAT(packets(here), IsEmpty()) << "nobody was refused since";
}

TEST(flow_restart, memory_that_holds_no_record_restarts_nobody) {
  receiver here(1, 1000);
  ASSERT_TRUE(here.reserve(1000));
  here.on_request(0, request(1, 0, 7, 0));
  packets(here);
  here.release(record_bytes - 1);
  EXPECT_THAT(packets(here), IsEmpty());
  EXPECT_TRUE(here.is_marked(0));
  here.release(1);
  EXPECT_THAT(packets(here), ElementsAre(resend_all(0, 1)));
}

TEST(flow_restart, consumed_buffers_and_records_that_go_restart_senders) {
  receiver here(2, record_bytes + 500);
  const decision made = here.on_request(0, request(1, 0, 7, 500));
  here.on_data(0, data_for(made.place));
  here.on_request(1, request(2, 0, 7, 0));
  EXPECT_THAT(packets(here), ElementsAre(cts(0, 1), ncts(1, 2)));
  const auto done = here.post(receive_of(0, 7, 42));
  EXPECT_THAT(packets(here), ElementsAre(resend_all(1, 1))) << "the record went";
  ASSERT_TRUE(here.reserve(here.memory().free()));
  here.on_request(1, request(2, 1, 7, 0));
  EXPECT_THAT(packets(here), ElementsAre(ncts(1, 2)));
  here.consumed(done->buffer_bytes);
  EXPECT_THAT(packets(here), ElementsAre(resend_all(1, 2))) << "the buffer went";
}

TEST(flow_restart, a_receive_restarts_the_senders_that_it_could_match) {
  receiver here(3, 0);
  for (const peer_number peer : {0U, 1U, 2U}) here.on_request(peer, request(peer, 0, 7, 0));
  EXPECT_THAT(packets(here), ElementsAre(ncts(0, 0), ncts(1, 1), ncts(2, 2)));
  here.post(receive_of(1, any_tag, 42));
  EXPECT_THAT(packets(here), ElementsAre(resend_all(1, 1)));
  EXPECT_TRUE(here.is_marked(0));
  EXPECT_EQ(here.on_request(1, request(1, 1, 7, 0)).what, verdict::to_receive);
  EXPECT_THAT(packets(here), ElementsAre(cts(1, 1)));
}

TEST(flow_restart, a_receive_that_is_served_at_once_restarts_nobody) {
  receiver here(2, 2 * record_bytes - 1);
  const decision made = here.on_request(0, request(1, 0, 7, 0));
  here.on_data(0, data_for(made.place));
  ASSERT_TRUE(here.reserve(here.memory().free()));
  here.on_request(1, request(2, 0, 7, 0));
  packets(here);
  EXPECT_FALSE(here.post(receive_of(0, 99, 41)));
  EXPECT_EQ(here.age(1), 0U);
}

TEST(flow_restart, from_any_source_tells_one_sender_after_the_other_as_they_can_be_served) {
  receiver here(3, 0);
  for (const peer_number peer : {0U, 1U, 2U}) here.on_request(peer, request(peer, 0, 7, 0));
  packets(here);
  here.post(receive_of(any_source, 8, 42));
  EXPECT_THAT(packets(here), ElementsAre(resend_all(0, 1)));
  EXPECT_EQ(here.on_request(0, request(0, 1, 7, 0)).what, verdict::refused);
  EXPECT_THAT(packets(here), ElementsAre(ncts(0, 0), resend_all(1, 1))) << "the receive is still there for the next";
  here.on_request(1, request(1, 1, 7, 0));
  EXPECT_EQ(here.on_request(1, request(9, 1, 8, 0)).what, verdict::to_receive);
  EXPECT_THAT(packets(here), ElementsAre(ncts(1, 1), cts(1, 9))) << "nothing is left that could serve sender 2";
  EXPECT_EQ(here.restarts_owed(), 1U);
  here.post(receive_of(2, 7, 43));
  EXPECT_THAT(packets(here), ElementsAre(resend_all(2, 1)));
}

TEST(flow_restart, of_a_named_sender_is_told_before_those_that_the_receive_does_not_help) {
  receiver here(4, 1000);
  ASSERT_TRUE(here.reserve(1000));
  for (const peer_number peer : {0U, 1U, 2U, 3U}) here.on_request(peer, request(peer, 0, 7, 0));
  packets(here);
  here.release(record_bytes);
  ASSERT_TRUE(here.reserve(record_bytes)) << "gone again before anybody was told";
  EXPECT_THAT(packets(here), IsEmpty());
  EXPECT_EQ(here.restarts_owed(), 4U);
  here.post(receive_of(2, 7, 42));
  EXPECT_THAT(packets(here), ElementsAre(resend_all(2, 1)));
}

TEST(flow_restart, at_the_pace_of_the_thesis_tells_all_at_once) {
  receiver here(3, 0, 64, restart_pace::all_at_once);
  for (const peer_number peer : {0U, 1U, 2U}) here.on_request(peer, request(peer, 0, 7, 0));
  packets(here);
  here.post(receive_of(any_source, 8, 42));
  EXPECT_THAT(packets(here), ElementsAre(resend_all(0, 1), resend_all(1, 1), resend_all(2, 1)));
}

TEST(flow_restart, requests_made_before_the_restart_is_told_are_refused) {
  receiver here(1, record_bytes);
  ASSERT_TRUE(here.reserve(record_bytes));
  here.on_request(0, request(1, 0, 7, 0));
  here.release(record_bytes);
  EXPECT_EQ(here.on_request(0, request(2, 0, 7, 0)).what, verdict::stale) << "it would overtake request 1";
}

// ---- emergency memory

TEST(flow_restart, by_name_asks_the_named_sender_for_one_message) {
  receiver at(3, 0, 8, restart_pace::by_name);
  for (const peer_number from : {1U, 2U}) at.on_request(from, request(1, 0, 5, 8));
  packets(at);
  EXPECT_EQ(at.post(receive_of(1, 5, 77)), std::nullopt);
  const auto told = at.next_packet();
  ASSERT_TRUE(told.has_value());
  EXPECT_EQ(told->what.kind, packet_kind::resend_one);
  EXPECT_EQ(told->to, 1U);
  EXPECT_EQ(told->what.age, 1U);
  EXPECT_EQ(told->what.tag, 5);
  EXPECT_FALSE(at.has_packet());
  EXPECT_TRUE(at.is_marked(1) && at.is_marked(2)) << "they may have more";
  EXPECT_EQ(at.on_request(1, request(2, 0, 5, 8)).what, verdict::stale) << "it could have overtaken the one asked for";
  EXPECT_THAT(packets(at), ElementsAre(ncts(1, 2))) << "it has been told";
  packet last = request(1, 1, 5, 8);
  last.none_asleep = true;
  EXPECT_EQ(at.on_request(1, last).what, verdict::to_receive);
  EXPECT_FALSE(at.is_marked(1)) << "it has nothing more";
  packets(at);
  at.post(receive_of(any_source, any_tag, 78));
  EXPECT_THAT(packets(at), ElementsAre(resend_all(2, 1))) << "all, where anybody may send";
}

TEST(flow_restart, by_name_a_sender_that_was_refused_at_this_age_stays_marked) {
  receiver at(1, 0, 8, restart_pace::by_name);
  at.on_request(0, request(1, 0, 5, 8));
  packet next = request(2, 0, 6, 8);
  next.none_asleep = true;  // the refusal was under way
  EXPECT_EQ(at.on_request(0, next).what, verdict::refused);
  EXPECT_TRUE(at.is_marked(0));
  packets(at);
  at.post(receive_of(0, 5, 77));
  EXPECT_THAT(packets(at), ElementsAre(resend_one(0, 1)));
}

TEST(flow_restart, by_name_freed_memory_restarts_when_half_of_it_is_free) {
  receiver at(2, 4 * record_bytes, 8, restart_pace::by_name);
  for (std::uint64_t i = 0; i < 4; ++i) at.on_request(0, request(i, 0, static_cast<std::int32_t>(i), 0));
  for (const peer_number from : {0U, 1U}) at.on_request(from, request(9, 0, 9, 0));
  packets(at);
  for (std::uint64_t place = 1; place <= 4; ++place) at.on_data(0, data_for(place));
  EXPECT_TRUE(at.post(receive_of(0, 0, 1)).has_value());
  EXPECT_THAT(packets(at), IsEmpty());
  EXPECT_EQ(at.on_request(1, request(10, 0, 10, 0)).what, verdict::refused) << "there is memory, but 9 came before it";
  packets(at);
  at.post(receive_of(1, 9, 2));
  EXPECT_THAT(packets(at), ElementsAre(resend_one(1, 1)));
  EXPECT_TRUE(at.post(receive_of(0, 1, 3)).has_value());
  EXPECT_THAT(packets(at), ElementsAre(resend_all(0, 1), resend_all(1, 2)));
  EXPECT_EQ(at.marked(), 0U);
}

TEST(flow_emergency, answers_leave_with_all_memory_used_and_take_only_their_places) {
  receiver here(100, 1000, 2);
  ASSERT_TRUE(here.reserve(1000));
  std::vector<sent> out;
  for (peer_number peer = 0; peer < 100; ++peer) {
    while (!here.has_capacity()) {
      const auto one = here.next_packet();
      out.push_back({one->to, one->what.kind, one->what.request});
    }
    here.on_request(peer, request(peer, 0, 7, 10));
  }
  for (const sent& one : packets(here)) out.push_back(one);
  EXPECT_EQ(out.size(), 100U);
  for (const sent& one : out) EXPECT_EQ(one.kind, packet_kind::ncts);
  EXPECT_EQ(here.answers().most_used(), 2U);
  EXPECT_EQ(here.memory().most_used(), 1000U);
  // Restarts of all, still without a byte: they are bits until they are sent.
  for (int i = 0; i < 100; ++i) here.post(receive_of(any_source, 8, 42));
  std::size_t restarts = 0;
  for (const sent& one : packets(here)) restarts += one.kind == packet_kind::resend_all ? 1U : 0U;
  EXPECT_EQ(restarts, 100U);
  EXPECT_EQ(here.answers().most_used(), 2U);
  EXPECT_EQ(here.memory().used(), 1000U);
}

TEST(flow_emergency, without_a_place_nothing_is_taken_in) {
  receiver here(1, 0, 1);
  here.on_request(0, request(1, 0, 7, 0));
  EXPECT_FALSE(here.has_capacity());
  EXPECT_THROW(here.on_request(0, request(2, 0, 7, 0)), std::logic_error);
  EXPECT_THROW(here.post(receive_of(0, 7, 42)), std::logic_error);
  here.next_packet();
  EXPECT_EQ(here.on_request(0, request(2, 0, 7, 0)).what, verdict::refused);
}

TEST(flow_emergency, restarts_leave_between_answers) {
  receiver here(3, 1000, 8);
  ASSERT_TRUE(here.reserve(1000));
  here.on_request(0, request(1, 0, 7, 0));
  here.release(1000);
  for (std::uint64_t i = 2; i < 6; ++i) here.on_request(1, request(i, 0, 7, 0));
  EXPECT_EQ(here.next_packet()->what.kind, packet_kind::ncts);
  EXPECT_EQ(here.next_packet()->what.kind, packet_kind::resend_all) << "a stream of answers does not hold it up";
}

// ---- what a peer that keeps the protocol does not send

TEST(flow_receiver, refuses_what_cannot_come) {
  receiver here(2, 1000);
  EXPECT_THROW(here.on_request(2, request(1, 0, 7, 0)), protocol_error);
  EXPECT_THROW(here.on_data(0, data_for(1)), protocol_error);
  EXPECT_THROW(here.on_request(0, data_for(1)), protocol_error);
  const decision made = here.on_request(0, request(1, 0, 7, 10));
  EXPECT_THROW(here.on_data(1, data_for(made.place)), protocol_error);
  EXPECT_FALSE(here.on_data(0, data_for(made.place)));
  EXPECT_THROW(here.on_data(0, data_for(made.place)), protocol_error) << "twice";
  EXPECT_THROW(here.consumed(1000), std::logic_error);
  EXPECT_THROW(here.post(receive_of(2, 7, 1)), std::invalid_argument);
  EXPECT_THROW(receiver(1, 0, 0), std::invalid_argument);
  try {
    here.on_data(1, data_for(77));
    FAIL();
  } catch (const protocol_error& error) {
    EXPECT_STREQ(error.what(), "flow control: DATA from peer 1: no data is awaited at its place 77");
  }
}

TEST(flow_request, gets_no_buffer_beyond_what_buffers_may_take) {
  receiver here(1, 10 * record_bytes, 64, restart_pace::as_served, 100);
  EXPECT_EQ(here.on_request(0, request(1, 0, 7, 60)).what, verdict::buffered);
  EXPECT_EQ(here.on_request(0, request(2, 0, 7, 60)).what, verdict::recorded);
  EXPECT_EQ(here.on_request(0, request(3, 0, 7, 40)).what, verdict::buffered);
  EXPECT_EQ(here.buffers().used(), 100U);
  EXPECT_EQ(here.memory().used(), 3 * record_bytes + 100);
  here.on_data(0, data_for(1));
  const auto done = here.post(receive_of(0, 7, 1));
  ASSERT_TRUE(done && done->buffered);
  here.consumed(done->buffer_bytes);
  EXPECT_EQ(here.on_request(0, request(4, 0, 7, 60)).what, verdict::buffered);
}

// ---- receives that are given up, and looking

TEST(flow_receive, given_up_takes_nothing_any_more) {
  receiver here(2, record_bytes);
  EXPECT_FALSE(here.post(receive_of(any_source, 7, 1)));
  EXPECT_FALSE(here.post(receive_of(any_source, 7, 2)));
  EXPECT_TRUE(here.withdraw(1));
  EXPECT_FALSE(here.withdraw(1));
  EXPECT_EQ(here.posted(), 1U);
  EXPECT_EQ(here.on_request(0, request(1, 0, 7, 0)).receive, 2U);
  EXPECT_FALSE(here.withdraw(2)) << "a message is on its way to it";
  EXPECT_EQ(here.on_request(0, request(2, 0, 7, 0)).what, verdict::buffered);
}

TEST(flow_receive, given_up_before_its_sender_was_told_leaves_the_sender_to_the_next) {
  receiver here(1, 0);
  EXPECT_EQ(here.on_request(0, request(1, 0, 7, 10)).what, verdict::refused);
  EXPECT_THAT(packets(here), ElementsAre(ncts(0, 1)));
  EXPECT_FALSE(here.post(receive_of(0, 7, 1)));
  EXPECT_TRUE(here.withdraw(1));
  EXPECT_THAT(packets(here), IsEmpty()) << "there is neither memory nor a receive";
  EXPECT_FALSE(here.post(receive_of(0, 7, 2)));
  EXPECT_THAT(packets(here), ElementsAre(resend_all(0, 1)));
  EXPECT_EQ(here.on_request(0, request(1, 1, 7, 10)).receive, 2U);
}

TEST(flow_receive, looks_at_what_it_would_take) {
  receiver here(2, 10 * record_bytes);
  EXPECT_EQ(here.find({}), nullptr);
  here.on_request(1, request(1, 0, 7, 40));
  here.on_request(0, request(1, 0, 8, 50));
  EXPECT_EQ(here.find({})->bytes, 40U);
  EXPECT_EQ(here.find({.source = 0})->tag(), 8);
  EXPECT_EQ(here.find({.source = 0, .context = 0, .tag = 7}), nullptr);
  EXPECT_FALSE(here.post(receive_of(1, 7, 1)));  // its data is on the way
  EXPECT_EQ(here.find({})->bytes, 50U) << "the first one is spoken for";
}

}  // namespace
}  // namespace tri::flow
