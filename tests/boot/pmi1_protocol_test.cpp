// The lines of PMI-1: building, parsing, answers in pieces and in any order.
#include "boot/kvs/pmi1_protocol.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <stdexcept>

#include "boot/bootstrap_messages.hpp"
#include "support/refusal.hpp"

namespace tri::boot::pmi1 {
namespace {

using ::testing::HasSubstr;
using testing::refusal_of;

std::vector<std::byte> bytes_from(std::mt19937& random, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::byte& each : bytes) each = static_cast<std::byte>(random());
  return bytes;
}

TEST(pmi1_protocol, lines_are_built_and_parsed) {
  EXPECT_EQ(build("barrier_in"), "cmd=barrier_in\n");
  EXPECT_EQ(build("put", {{"kvsname", "kvs_1"}, {"key", "k"}, {"value", "a=b"}}),
            "cmd=put kvsname=kvs_1 key=k value=a=b\n");
  EXPECT_THROW(build("put", {{"value", "a b"}}), std::invalid_argument);
  EXPECT_THROW(build("put", {{"value", "a\nb"}}), std::invalid_argument);
  EXPECT_THROW(build("put", {{"a key", "b"}}), std::invalid_argument);
  const message got = parse("cmd=get_result rc=0  value=(vector,(0,2,2)) flag= msg=all is well");
  EXPECT_EQ(got.command, "get_result");
  EXPECT_EQ(got.number("rc"), 0);
  EXPECT_EQ(got.text("value"), "(vector,(0,2,2))");
  EXPECT_EQ(got.text("flag"), "");
  EXPECT_EQ(got.text("msg"), "all is well");
  EXPECT_NO_THROW(got.check_success());
}

TEST(pmi1_protocol, what_is_wrong_with_a_line_is_named) {
  EXPECT_EQ(refusal_of([] { parse("rc=0"); }), "PMI line 'rc=0' has no cmd=");
  EXPECT_EQ(refusal_of([] { parse("hello"); }), "PMI line 'hello' has the word 'hello' without key=");
  EXPECT_EQ(refusal_of([] { parse("cmd=x").text("rc"); }), "PMI 'x' came without rc=");
  EXPECT_EQ(refusal_of([] { parse("cmd=x rc=one").number("rc"); }), "PMI 'x' came with rc='one'");
  EXPECT_EQ(refusal_of([] { parse("cmd=put_result rc=-1 msg=no room").check_success(); }),
            "PMI 'put_result' says rc=-1: 'no room'");
  EXPECT_EQ(refusal_of([] { parse(std::string(500, '\x01')); }).find('\x01'), std::string::npos);
}

TEST(pmi1_protocol, any_value_survives_the_journey) {
  std::mt19937 random(1);
  for (const std::size_t most : {15u, 16u, 64u, 1024u}) {
    for (const std::size_t size : {0u, 1u, 2u, 25u, 505u, 506u, 4096u}) {
      const auto bytes = bytes_from(random, size);
      if (most == 15 && size == 4096) continue;  // one byte a piece
      value_assembler assembled;
      for (const std::string& piece : split_value(bytes, most)) {
        EXPECT_LT(piece.size(), most);  // hydra cuts longer ones without a word
        EXPECT_FALSE(assembled.complete());
        assembled.add(piece);
      }
      EXPECT_TRUE(assembled.complete());
      EXPECT_EQ(assembled.value(), bytes);
    }
  }
  EXPECT_THAT(refusal_of([] { split_value({}, 14); }), HasSubstr("takes PMI values of 14 bytes only"));
  EXPECT_THROW(split_value(std::vector<std::byte>(20000), 15), std::length_error);
}

TEST(pmi1_protocol, pieces_that_do_not_belong_together_are_refused) {
  value_assembler assembled;
  assembled.add("0/3:00");
  EXPECT_EQ(refusal_of([&] { assembled.add("2/3:00"); }), "PMI value '2/3:00' is not piece 1 of 3");
  EXPECT_EQ(refusal_of([&] { assembled.add("1/4:00"); }), "PMI value '1/4:00' is not piece 1 of 3");
  EXPECT_EQ(refusal_of([&] { assembled.add("00"); }), "PMI value '00' is not piece 1 of 3");
  EXPECT_EQ(refusal_of([] { value_assembler().add("0/0:"); }), "PMI value '0/0:' is not piece 0 of a value");
  EXPECT_EQ(refusal_of([] { from_hex("0"); }), "a PMI value has 1 hexadecimal digits");
  EXPECT_EQ(refusal_of([] { from_hex("0x"); }), "'x' is not a hexadecimal digit of a PMI value");
}

TEST(pmi1_protocol, answer_and_end_of_barrier_come_in_any_order_and_any_pieces) {
  const std::string answer = "cmd=get_result rc=0 value=0/1:07\n";
  const std::string release = "cmd=barrier_out\n";
  for (const std::string& text : {answer + release, release + answer}) {
    for (std::size_t piece = 1; piece <= text.size(); ++piece) {
      conversation talk;
      EXPECT_EQ(talk.enter_barrier(), "cmd=barrier_in\n");
      EXPECT_EQ(talk.ask("get", {{"key", "k"}}, "get_result"), "cmd=get key=k\n");
      EXPECT_FALSE(talk.released());
      for (std::size_t at = 0; at < text.size(); at += piece) talk.receive(text.substr(at, piece));
      EXPECT_TRUE(talk.released());
      ASSERT_TRUE(talk.answered());
      EXPECT_EQ(talk.take_answer().text("value"), "0/1:07");
      EXPECT_FALSE(talk.answered());
      talk.ask("finalize", {}, "finalize_ack");  // the next question may come
    }
  }
}

TEST(pmi1_protocol, what_nobody_asked_for_is_refused) {
  EXPECT_EQ(refusal_of([] { conversation().receive("cmd=barrier_out\n"); }),
            "the launcher sent 'cmd=barrier_out' instead of nothing");
  conversation talk;
  talk.ask("get", {}, "get_result");
  EXPECT_THROW(talk.ask("get", {}, "get_result"), std::logic_error);
  EXPECT_EQ(refusal_of([&] { talk.receive("cmd=put_result rc=0\n"); }),
            "the launcher sent 'cmd=put_result rc=0' instead of 'cmd=get_result'");
  conversation waiting;
  waiting.enter_barrier();
  EXPECT_THROW(waiting.enter_barrier(), std::logic_error);
  EXPECT_EQ(refusal_of([&] { waiting.receive("cmd=barrier_out rc=1 msg=a member died\n"); }),
            "PMI 'barrier_out' says rc=1: 'a member died'");
  EXPECT_EQ(refusal_of([] { conversation().receive(std::string(70000, 'x')); }),
            "a PMI line of the launcher does not end");
  EXPECT_THROW(talk.take_answer(), std::logic_error);
}

}  // namespace
}  // namespace tri::boot::pmi1
