// The sender's rules one by one (README.md): when a request is made, made again, and not made.
#include "flow/sender.hpp"

#include <gmock/gmock.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tri::flow {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A sender to peer 0 (and 1), whose requests are known by the message they are for.
class flow_sender : public testing::Test {
 protected:
  // "RTS m@a": request for message m with age a; "DATA m>p": data for place p.
  std::vector<std::string> send(message_token message, peer_number to = 0) {
    std::vector<outgoing> out;
    here_.send(to, {.token = message, .bytes = 8, .context = 0, .tag = static_cast<std::int32_t>(message)}, out);
    return text(out);
  }
  std::vector<std::string> answer(message_token to, packet_kind kind, std::uint64_t place = 0) {
    packet what;
    if (kind == packet_kind::ncts) what.age = static_cast<std::uint32_t>(std::exchange(place, 0));  // of the receiver
    what.kind = kind;
    what.request = requests_.at(to);
    what.place = place;
    return give(what);
  }
  std::vector<std::string> resend_all(std::uint32_t age) {
    packet what;
    what.kind = packet_kind::resend_all;
    what.age = age;
    return give(what);
  }
  std::vector<std::string> resend_one(std::uint32_t age, std::int32_t tag) {
    packet what;
    what.kind = packet_kind::resend_one;
    what.age = age;
    what.tag = tag;
    return give(what);
  }
  std::vector<std::string> give(const packet& what, peer_number from = 0) {
    std::vector<outgoing> out;
    here_.on_packet(from, what, out);
    return text(out);
  }
  std::vector<std::string> text(const std::vector<outgoing>& out) {
    std::vector<std::string> all;
    for (const outgoing& one : out) {
      if (one.what.kind == packet_kind::data) {
        all.push_back("DATA " + std::to_string(one.message) + ">" + std::to_string(one.what.place));
        continue;
      }
      const auto message = static_cast<message_token>(one.what.tag);
      requests_[message] = one.what.request;
      last_ = one.what;
      all.push_back("RTS " + std::to_string(message) + "@" + std::to_string(one.what.age));
    }
    return all;
  }

  sender here_{2};
  packet last_;  // request
  std::map<message_token, std::uint64_t> requests_;
};

TEST_F(flow_sender, asks_at_once_in_the_order_of_sending) {
  EXPECT_THAT(send(1), ElementsAre("RTS 1@0"));
  EXPECT_THAT(send(2), ElementsAre("RTS 2@0")) << "also while the first is unanswered: its age is the same";
  EXPECT_EQ(here_.pending(0), 2U);
}

TEST_F(flow_sender, accepted_sends_the_data_and_forgets) {
  send(1);
  EXPECT_THAT(answer(1, packet_kind::cts, 77), ElementsAre("DATA 1>77"));
  EXPECT_TRUE(here_.is_idle());
}

TEST_F(flow_sender, recorded_leaves_the_queue_and_holds_the_data) {
  send(1);
  send(2);
  EXPECT_THAT(answer(1, packet_kind::nctsd), IsEmpty());
  EXPECT_EQ(here_.pending(0), 1U);
  EXPECT_EQ(here_.pending(), 2U);
  EXPECT_THAT(resend_all(1), IsEmpty()) << "2 is unanswered, 1 is not asked for again";
  EXPECT_THAT(answer(1, packet_kind::cts, 5), ElementsAre("DATA 1>5"));
}

TEST_F(flow_sender, refused_waits_for_a_new_age) {
  send(1);
  EXPECT_THAT(answer(1, packet_kind::ncts), IsEmpty());
  EXPECT_THAT(resend_all(0), IsEmpty()) << "the age that it was refused with";
  EXPECT_THAT(resend_all(1), ElementsAre("RTS 1@1"));
  EXPECT_EQ(here_.age(0), 1U);
}

TEST_F(flow_sender, asks_again_in_the_order_of_sending) {
  for (const message_token one : {1U, 2U, 3U}) send(one);
  answer(2, packet_kind::ncts);
  answer(1, packet_kind::ncts);
  answer(3, packet_kind::ncts);
  EXPECT_THAT(resend_all(1), ElementsAre("RTS 1@1", "RTS 2@1", "RTS 3@1"));
}

TEST_F(flow_sender, remembers_a_restart_that_came_before_the_answer) {
  send(1);
  EXPECT_THAT(resend_all(1), IsEmpty()) << "asking again now would make two of it";
  EXPECT_THAT(answer(1, packet_kind::ncts), ElementsAre("RTS 1@1")) << "hole 1 of the printed rules: lost there";
}

TEST_F(flow_sender, goes_on_with_the_restart_where_it_had_to_stop) {
  for (const message_token one : {1U, 2U, 3U}) send(one);
  answer(1, packet_kind::ncts);
  answer(3, packet_kind::ncts);
  EXPECT_THAT(resend_all(1), ElementsAre("RTS 1@1")) << "2 is unanswered";
  EXPECT_THAT(answer(2, packet_kind::ncts), ElementsAre("RTS 2@1", "RTS 3@1"));
}

TEST_F(flow_sender, an_old_request_that_is_accepted_lets_the_others_go_on) {
  for (const message_token one : {1U, 2U}) send(one);
  answer(2, packet_kind::ncts);
  EXPECT_THAT(resend_all(1), IsEmpty());
  EXPECT_THAT(answer(1, packet_kind::cts, 9), ElementsAre("DATA 1>9", "RTS 2@1"));
}

TEST_F(flow_sender, an_old_request_that_is_recorded_lets_the_others_go_on) {
  for (const message_token one : {1U, 2U}) send(one);
  answer(2, packet_kind::ncts);
  EXPECT_THAT(resend_all(1), IsEmpty());
  EXPECT_THAT(answer(1, packet_kind::nctsd), ElementsAre("RTS 2@1"));
}

TEST_F(flow_sender, a_new_message_does_not_overtake_an_old_request) {
  send(1);
  resend_all(1);
  EXPECT_THAT(send(2), IsEmpty()) << "hole 2 of the printed rules: 2 would be taken while 1 is refused for its age";
  EXPECT_THAT(answer(1, packet_kind::ncts), ElementsAre("RTS 1@1", "RTS 2@1"));
}

TEST_F(flow_sender, a_new_message_goes_behind_requests_of_the_same_age) {
  send(1);
  answer(1, packet_kind::ncts);
  resend_all(1);
  EXPECT_THAT(send(2), ElementsAre("RTS 2@1"));
}

TEST_F(flow_sender, the_same_restart_told_twice_is_one) {
  send(1);
  answer(1, packet_kind::ncts);
  EXPECT_THAT(resend_all(1), ElementsAre("RTS 1@1"));
  EXPECT_THAT(resend_all(1), IsEmpty());
  EXPECT_THAT(answer(1, packet_kind::ncts), IsEmpty()) << "refused with this age: it waits for the next";
  EXPECT_THAT(resend_all(2), ElementsAre("RTS 1@2"));
}

TEST_F(flow_sender, the_age_may_wrap_around) {
  send(1);
  answer(1, packet_kind::ncts);
  EXPECT_THAT(resend_all(0xffffffffU), ElementsAre("RTS 1@4294967295"));
  answer(1, packet_kind::ncts);
  EXPECT_THAT(resend_all(0), ElementsAre("RTS 1@0"));
}

TEST_F(flow_sender, destinations_do_not_wait_for_each_other) {
  send(1, 0);
  resend_all(1);
  EXPECT_THAT(send(2, 1), ElementsAre("RTS 2@0"));
}

TEST_F(flow_sender, asks_for_one_that_is_named_in_its_place) {
  for (message_token message = 1; message <= 4; ++message) send(message);
  for (message_token message = 1; message <= 4; ++message) answer(message, packet_kind::ncts);
  EXPECT_THAT(resend_one(1, 3), ElementsAre("RTS 3@1"));
  EXPECT_TRUE(last_.is_wanted);
  EXPECT_FALSE(last_.none_asleep);
  EXPECT_THAT(resend_one(2, 7), IsEmpty()) << "no such tag; but the age is new";
  EXPECT_THAT(answer(3, packet_kind::ncts), ElementsAre("RTS 3@2")) << "too late for the age it was made with";
  EXPECT_THAT(answer(3, packet_kind::cts, 9), ElementsAre("DATA 3>9"));
  EXPECT_THAT(resend_one(3, any_tag), ElementsAre("RTS 1@3"));
  EXPECT_THAT(send(5), ElementsAre("RTS 5@3")) << "a new message asks once";
  EXPECT_THAT(answer(1, packet_kind::ncts, 3), IsEmpty()) << "judged: asleep";
  EXPECT_EQ(here_.pending(0), 4U);
  EXPECT_THAT(resend_all(4), ElementsAre("RTS 1@4", "RTS 2@4", "RTS 4@4")) << "5 is not answered";
  EXPECT_TRUE(last_.none_asleep);
  EXPECT_FALSE(last_.is_wanted);
}

TEST_F(flow_sender, what_was_judged_before_a_newer_age_was_heard_asks_again) {
  send(1);
  send(2);
  answer(1, packet_kind::ncts);
  EXPECT_THAT(resend_one(1, 2), IsEmpty()) << "2 is on its way";
  EXPECT_THAT(answer(2, packet_kind::ncts), ElementsAre("RTS 2@1")) << "judged without the receive that was told";
}

TEST_F(flow_sender, refuses_what_cannot_come) {
  send(1);
  packet what;
  what.kind = packet_kind::cts;
  what.request = requests_[1];
  EXPECT_THROW(give(what, 1), protocol_error) << "the request was made to peer 0";
  EXPECT_THROW(give(what, 2), protocol_error);
  const std::uint64_t first = requests_[1];
  answer(1, packet_kind::cts);
  EXPECT_THROW(give(what), protocol_error) << "answered before";
  send(2);
  EXPECT_NE(requests_[2], first) << "a number that is used again is told from the old one";
  EXPECT_THROW(give(what), protocol_error);
  answer(2, packet_kind::ncts);
  EXPECT_THROW(answer(2, packet_kind::cts), protocol_error) << "refused is no longer asked for";
  EXPECT_THROW(give(packet{}), protocol_error) << "an RTS";
  EXPECT_THROW(send(3, 2), std::invalid_argument);
  try {
    give(what);
    FAIL();
  } catch (const protocol_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("CTS from peer 0: there is no request"));
  }
}

}  // namespace
}  // namespace tri::flow
