// Every field of a message from another host, at the ends of what it may be and beyond.
#include "sched/remote/wire_message.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

namespace tri::sched {
namespace {

// Process 3 of a job of 8 PEs on 2 hosts; it has PEs 6 and 7.
constexpr wire_message_rules rules = {.handlers = 20, .pes = 8, .hosts = 2, .process = 3, .first_pe = 6, .own_pes = 2};

wire_message right_message() {
  wire_message message = {};
  message.to = reach::one_pe;
  message.destination = 6;
  message.handler = 19;
  message.source = 7;
  message.bytes = 5;
  return message;
}

std::string fault_of(const wire_message& message, std::size_t body_bytes = 0) {
  wire_message read;
  return decode_wire_message(rules, message.used(), body_bytes, read);
}

TEST(wire_message, what_a_process_may_send) {
  wire_message message = right_message();
  EXPECT_EQ(fault_of(message), "");
  message.set_trace_number(77);
  EXPECT_EQ(fault_of(message), "");
  message = right_message();
  message.bytes = 0;
  message.kind = payload_kind::serialized;
  message.flags = envelope::has_priority;
  message.block_bytes = 100;
  EXPECT_EQ(fault_of(message, 100), "");
  message.to = reach::all_pes_of_hosts;
  message.destination = 1;
  EXPECT_EQ(fault_of(message, 100), "");
  message.to = reach::any_pe_of_process;
  message.destination = 3;
  EXPECT_EQ(fault_of(message, 100), "");
  wire_message acknowledgement = {};
  acknowledgement.to = reach::creation_acknowledged;
  EXPECT_EQ(fault_of(acknowledgement), "");
}

TEST(wire_message, creations_that_it_names_are_behind_the_rest) {
  for (const bool is_traced : {false, true})
    for (const std::uint32_t makers : {1U, known_creations::most_makers}) {
      wire_message sent = right_message();
      if (is_traced) sent.set_trace_number(77);
      known_creations known{.makers = makers};
      for (std::uint32_t i = 0; i < makers; ++i) known.maker[i] = {i % 2, 1000 + i};
      sent.set_known(known);
      wire_message read;
      ASSERT_EQ(decode_wire_message(rules, sent.used(), 0, read), "");
      ASSERT_EQ(read.known().makers, makers);
      for (std::uint32_t i = 0; i < makers; ++i) {
        EXPECT_EQ(read.known().maker[i].host, i % 2);
        EXPECT_EQ(read.known().maker[i].creations, 1000 + i);
      }
      EXPECT_EQ(is_traced ? read.trace_number() : 77U, 77U);
      EXPECT_NE(decode_wire_message(rules, sent.used().first(sent.used_bytes() - 1), 0, read), "");
    }
}

TEST(wire_message, a_wrong_field_is_named_with_its_value) {
  const auto with = [](const std::function<void(wire_message&)>& change, std::size_t body_bytes = 0) {
    wire_message message = right_message();
    change(message);
    return fault_of(message, body_bytes);
  };
  EXPECT_EQ(with([](auto& m) { m.destination = 1'000'000; }),
            "its field 'destination' is 1000000, which must be 6 to 7");
  EXPECT_EQ(with([](auto& m) { m.destination = 5; }), "its field 'destination' is 5, which must be 6 to 7");
  EXPECT_EQ(with([](auto& m) { m.destination = -1; }), "its field 'destination' is -1, which must be 6 to 7");
  EXPECT_EQ(with([](auto& m) { m.to = reach::any_pe_of_process; }), "its field 'destination' is 6, which must be 3");
  EXPECT_EQ(with([](auto& m) { m.to = reach::all_pes_of_hosts; }),
            "its field 'destination' is 6, which must be 0 to 1");
  EXPECT_EQ(with([](auto& m) { m.to = reach::creation; }), "its field 'destination' is 6, which must be 0 to 1");
  EXPECT_EQ(with([](auto& m) { m.to = static_cast<reach>(6); }), "its field 'to' is 6, which must be 0 to 5");
  EXPECT_EQ(with([](auto& m) { m.source = 8; }), "its field 'source' is 8, which must be 0 to 7");
  EXPECT_EQ(with([](auto& m) { m.handler = 20; }), "its field 'handler' is 20, which must be 0 to 19");
  EXPECT_EQ(with([](auto& m) { m.set_known({}); }), "its field 'hosts of creations' is 0, which must be 1 to 4");
  EXPECT_EQ(with([](auto& m) {
              m.set_known({.makers = 2, .maker = {{1, 5}, {2, 1}}});
            }),
            "its field 'host of creations' is 2, which must be 0 to 1");
  EXPECT_EQ(with([](auto& m) {
              m.set_known({.makers = 1, .maker = {{1, 5}}});
              m.to = reach::creation;
              m.destination = 0;
            }),
            "its field 'flags' says that it names creations, but it is about one");
  EXPECT_EQ(with([](auto& m) { m.flags |= envelope::is_counted_copy; }),
            "its field 'flags' is 16, with bits that mean nothing on the wire");
  EXPECT_EQ(with([](auto& m) { m.bytes = 33; }), "its field 'bytes' is 33, which must be 0 to 32");
  EXPECT_EQ(with([](auto& m) { m.kind = static_cast<payload_kind>(4); }),
            "its field 'kind' is 4, which must be 0 to 3");
  EXPECT_EQ(with([](auto& m) {
              m.kind = payload_kind::objects;
              m.bytes = 0;
            }),
            "its field 'kind' says that its arguments are objects of another process");
  EXPECT_EQ(with([](auto&) {}, 9), "its field 'bytes of the body' is 9, which must be 0");
  EXPECT_EQ(with(
                [](auto& m) {
                  m.kind = payload_kind::block;
                  m.bytes = 0;
                  m.block_bytes = ~std::uint64_t{0};
                },
                9),
            "its field 'block_bytes' is -1, which must be 9");
  wire_message read;
  const wire_message message = right_message();
  EXPECT_EQ(decode_wire_message(rules, message.used().first(35), 0, read),
            "its field 'bytes of the header' is 35, which must be 36 to 112");
  EXPECT_EQ(decode_wire_message(rules, message.used().first(40), 0, read),
            "its field 'bytes of the header' is 40, which must be 41");
}

TEST(wire_message, arguments_are_those_of_their_handler) {
  using content = message_form::content;
  const std::array<message_form, 4> forms = {
      {{}, {.what = content::plain, .bytes = 5}, {.what = content::archive}, {.what = content::stays_in_host}}};
  wire_message_rules with = rules;
  with.handlers = forms.size();
  with.forms = forms;
  const auto fault = [&](std::uint32_t handler, payload_kind kind, std::uint64_t bytes, reach to = reach::one_pe) {
    wire_message message = right_message();
    message.handler = handler;
    message.kind = kind;
    message.to = to;
    if (to == reach::creation_acknowledged) message.destination = 0;
    const bool is_direct = kind == payload_kind::direct;
    message.bytes = is_direct ? static_cast<std::uint8_t>(bytes) : 0;
    message.block_bytes = is_direct ? 0 : bytes;
    wire_message read;
    return decode_wire_message(with, message.used(), is_direct ? 0 : bytes, read);
  };
  for (const payload_kind kind : {payload_kind::direct, payload_kind::block, payload_kind::serialized})
    EXPECT_EQ(fault(0, kind, 7), "");
  EXPECT_EQ(fault(1, payload_kind::direct, 5), "");
  EXPECT_EQ(fault(1, payload_kind::block, 5), "");
  EXPECT_EQ(fault(1, payload_kind::direct, 4), "its arguments have 4 bytes, which must be 5");
  EXPECT_EQ(fault(1, payload_kind::block, 6), "its arguments have 6 bytes, which must be 5");
  EXPECT_EQ(fault(1, payload_kind::serialized, 5), "its arguments come as an archive");
  EXPECT_EQ(fault(2, payload_kind::serialized, 99), "");
  EXPECT_EQ(fault(2, payload_kind::direct, 5), "its arguments do not come as an archive");
  EXPECT_EQ(fault(2, payload_kind::block, 5), "its arguments do not come as an archive");
  EXPECT_EQ(fault(3, payload_kind::serialized, 5), "its arguments mean nothing to another host");
  EXPECT_EQ(fault(3, payload_kind::direct, 0, reach::creation_acknowledged), "") << "nothing runs";
}

TEST(wire_message, a_priority_needs_a_block) {
  wire_message message = right_message();
  message.flags = envelope::has_priority;
  EXPECT_EQ(fault_of(message), "its field 'flags' says that it has a priority, but its arguments have no block");
}

TEST(wire_message, an_answer_goes_to_one_pe) {
  wire_message message = right_message();
  message.flags = wire_message::is_answer;
  EXPECT_EQ(fault_of(message), "");
  message.to = reach::any_pe_of_process;
  message.destination = 3;
  EXPECT_EQ(fault_of(message), "its field 'flags' says that it is an answer, but it does not go to one PE");
}

// Whatever comes, what is said to be right is within its bounds.
TEST(wire_message, any_bytes) {
  std::mt19937_64 random(15);
  int right = 0;
  for (int round = 0; round < 300'000; ++round) {
    wire_message message = right_message();
    auto* const bytes = reinterpret_cast<unsigned char*>(&message);
    for (int changes = 0; changes < 2; ++changes)
      bytes[8 + random() % (wire_message::fixed_bytes - 8)] = static_cast<unsigned char>(random() % 9);
    const std::size_t size = std::min<std::size_t>(message.used_bytes(), sizeof message);
    wire_message read;
    if (!decode_wire_message(rules, {reinterpret_cast<const std::byte*>(&message), size}, 0, read).empty()) continue;
    ++right;
    EXPECT_LE(read.used_bytes(), sizeof read);
    EXPECT_LT(read.handler, rules.handlers);
    EXPECT_LT(read.source, rules.pes);
    if (read.to == reach::one_pe) {
      EXPECT_GE(read.destination, rules.first_pe);
      EXPECT_LT(read.destination, rules.first_pe + rules.own_pes);
    }
  }
  EXPECT_GT(right, 1000);
}

}  // namespace
}  // namespace tri::sched
