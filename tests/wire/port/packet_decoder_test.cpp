// What is believed of a packet: each field at the ends of what it may be and beyond, and any bytes at all.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "wire/arrived_numbers.hpp"
#include "wire/packet_decoder.hpp"
#include "wire/port.hpp"

namespace tri::wire::test {
namespace {

constexpr packet_rules rules = {.tag = 77, .self = 2, .peers = 5, .key = nullptr};

class packet_bytes {
 public:
  explicit packet_bytes(const packet_head& head) { add(head); }
  template <class Part>
  packet_bytes& add(const Part& part) {
    const std::size_t before = bytes_.size();
    bytes_.resize(before + sizeof part);
    std::memcpy(bytes_.data() + before, &part, sizeof part);
    return *this;
  }
  packet_bytes& add_zeros(std::size_t count) {
    bytes_.resize(bytes_.size() + count);
    return *this;
  }
  std::span<const std::byte> span() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

struct decoded {
  packet_verdict verdict;
  packet_view view;
  std::string fault;
};

decoded decode(std::span<const std::byte> header, std::span<const std::byte> body,
               std::optional<std::size_t> announced = std::nullopt, const packet_rules& by = rules) {
  decoded result;
  packet_fault fault;
  result.verdict = decode_packet(by, header, body, announced, result.view, fault);
  if (result.verdict == packet_verdict::malformed) result.fault = fault.text();
  return result;
}

packet_head head_of(packet_kind kind, std::uint16_t messages) {
  return {.tag = 77, .sequence = 9, .from = 4, .kind = kind, .messages = messages};
}

TEST(packet_decoder, valid_packets) {
  const std::array<std::byte, 3> body = {};
  const decoded alone = decode(packet_bytes(head_of(packet_kind::one_message, 0)).add_zeros(header_limit).span(), body);
  EXPECT_EQ(alone.verdict, packet_verdict::valid) << alone.fault;
  const packet_bytes two = packet_bytes(head_of(packet_kind::short_messages, 2))
                               .add(message_head{.body_bytes = 5, .header_bytes = 3, .copies = 1})
                               .add_zeros(8)
                               .add(message_head{.body_bytes = 0, .header_bytes = 0, .copies = 7});
  const decoded several = decode({}, two.span());
  ASSERT_EQ(several.verdict, packet_verdict::valid) << several.fault;
  std::span<const std::byte> rest = several.view.body;
  const message_view first = next_message(rest);
  EXPECT_EQ(first.header.size(), 3U);
  EXPECT_EQ(first.body.size(), 5U);
  EXPECT_EQ(next_message(rest).copies, 7U);
  EXPECT_TRUE(rest.empty());
  const flow::credit_control note = {.what = flow::credit_control::kind::returned, .more = 1, .total = 2, .bytes = 3};
  const decoded credit = decode({}, packet_bytes(head_of(packet_kind::credit, 0)).add(note).span());
  ASSERT_EQ(credit.verdict, packet_verdict::valid) << credit.fault;
  EXPECT_EQ(credit.view.note.bytes, 3U);
  for (const auto kind : {packet_kind::disconnect, packet_kind::heartbeat, packet_kind::answer})
    EXPECT_EQ(decode({}, packet_bytes(head_of(kind, 0)).span()).verdict, packet_verdict::valid);
}

TEST(packet_decoder, a_wrong_field_is_named_with_its_value) {
  const auto fault_of = [](const packet_bytes& bytes) { return decode({}, bytes.span()).fault; };
  const auto fault_alone = [](const packet_bytes& bytes) { return decode(bytes.span(), {}).fault; };
  packet_head head = head_of(packet_kind::disconnect, 0);
  head.from = 5;
  EXPECT_EQ(fault_of(packet_bytes(head)), "its field 'from' is 5, which must be 0 to 4");
  head.from = 2;
  EXPECT_EQ(fault_of(packet_bytes(head)), "its field 'from' is 2, which must be at least 5");
  EXPECT_EQ(fault_of(packet_bytes(head_of(static_cast<packet_kind>(6), 0))),
            "its field 'kind' is 6, which must be 0 to 5");
  EXPECT_EQ(fault_of(packet_bytes(head_of(packet_kind::one_message, 1))), "its field 'kind' is 1, which must be 0");
  EXPECT_EQ(fault_alone(packet_bytes(head_of(packet_kind::credit, 0))), "its field 'kind' is 3, which must be 1");
  EXPECT_EQ(fault_of(packet_bytes(head_of(packet_kind::disconnect, 1))), "its field 'messages' is 1, which must be 0");
  EXPECT_EQ(fault_of(packet_bytes(head_of(packet_kind::short_messages, 0))),
            "its field 'messages' is 0, which must be 1 to 65535");
  EXPECT_EQ(fault_of(packet_bytes(head_of(packet_kind::heartbeat, 0)).add_zeros(4)),
            "its field 'bytes behind the last message' is 4, which must be 0");
  EXPECT_EQ(fault_alone(packet_bytes(head_of(packet_kind::one_message, 1)).add_zeros(header_limit + 1)),
            "its field 'bytes of the header' is 129, which must be 0 to 128");
  EXPECT_EQ(fault_of(packet_bytes(head_of(packet_kind::short_messages, 1)).add_zeros(7)),
            "its field 'bytes left for messages' is 7, which must be at least 8");
  EXPECT_EQ(fault_of(packet_bytes(head_of(packet_kind::short_messages, 1))
                         .add(message_head{.body_bytes = 0, .header_bytes = 129, .copies = 1})
                         .add_zeros(129)),
            "its field 'header_bytes' is 129, which must be 0 to 128");
  EXPECT_EQ(fault_of(packet_bytes(head_of(packet_kind::short_messages, 1))
                         .add(message_head{.body_bytes = 0, .header_bytes = 9, .copies = 1})
                         .add_zeros(8)),
            "its field 'header_bytes' is 9, which must be 0 to 8");
  EXPECT_EQ(fault_of(packet_bytes(head_of(packet_kind::short_messages, 1))
                         .add(message_head{.body_bytes = 6, .header_bytes = 3, .copies = 1})
                         .add_zeros(8)),
            "its field 'body_bytes' is 6, which must be 0 to 5");
  EXPECT_EQ(fault_of(packet_bytes(head_of(packet_kind::credit, 0)).add_zeros(23)),
            "its field 'bytes of a credit message' is 23, which must be 24");
  flow::credit_control note = {.what = static_cast<flow::credit_control::kind>(4), .more = 0, .total = 0, .bytes = 0};
  EXPECT_EQ(fault_of(packet_bytes(head_of(packet_kind::credit, 0)).add(note)),
            "its field 'credit note' is 4, which must be 0 to 3");
  note = {.what = flow::credit_control::kind::request, .more = 1U << 29, .total = 0, .bytes = 0};
  EXPECT_EQ(fault_of(packet_bytes(head_of(packet_kind::credit, 0)).add(note)),
            "its field 'more' is 536870912, which must be 0 to 536870911");
  EXPECT_EQ(decode(packet_bytes(head_of(packet_kind::one_message, 1)).span(), {}, 0).fault,
            "its field 'bytes announced' is 0, which must be at least 1");
}

TEST(packet_decoder, without_the_tag_nothing_is_said) {
  packet_head head = head_of(packet_kind::disconnect, 0);
  for (int bit = 0; bit < 64; ++bit) {
    head.tag = 77 ^ std::uint64_t{1} << bit;
    EXPECT_EQ(decode({}, packet_bytes(head).span()).verdict, packet_verdict::foreign);
  }
  const packet_bytes whole(head_of(packet_kind::disconnect, 0));
  for (std::size_t size = 0; size < sizeof(packet_head); ++size)
    EXPECT_EQ(decode({}, whole.span().first(size)).verdict, packet_verdict::foreign);
}

// Each bit of a packet that is changed on its way is noticed.
TEST(packet_decoder, a_check_value_is_of_the_whole_packet) {
  try {
    load_check_library();
  } catch (const std::exception& missing) {
    GTEST_SKIP() << missing.what();
  }
  const packet_key key = {std::byte{1}, std::byte{2}};
  const packet_rules with_key = {.tag = 77, .self = 2, .peers = 5, .key = &key};
  const packet_head head = head_of(packet_kind::one_message, 1);
  const std::array<std::byte, 3> rest = {};
  std::array<std::byte, 5> body = {};
  const check_value check = check_of_packet(key, head, rest, body, std::nullopt);
  const packet_bytes right = packet_bytes(head).add(check).add(rest);
  EXPECT_EQ(decode(right.span(), body, std::nullopt, with_key).verdict, packet_verdict::valid);
  for (std::size_t bit = sizeof(std::uint64_t) * 8; bit < right.span().size() * 8; ++bit) {  // behind the tag
    std::vector<std::byte> changed(right.span().begin(), right.span().end());
    changed[bit / 8] ^= std::byte{1} << bit % 8;
    EXPECT_EQ(decode(changed, body, std::nullopt, with_key).verdict, packet_verdict::unchecked) << bit;
  }
  EXPECT_EQ(decode(right.span(), std::span(body).first(4), std::nullopt, with_key).verdict, packet_verdict::unchecked);
  EXPECT_EQ(decode(right.span(), {}, body.size(), with_key).verdict, packet_verdict::unchecked);
  body[4] = std::byte{1};
  EXPECT_EQ(decode(right.span(), body, std::nullopt, with_key).verdict, packet_verdict::unchecked);
  EXPECT_EQ(decode({}, packet_bytes(head_of(packet_kind::disconnect, 0)).span(), std::nullopt, with_key).verdict,
            packet_verdict::unchecked);
}

// Whatever comes, what is said to be valid can be read to its end.
TEST(packet_decoder, any_bytes) {
  std::mt19937_64 random(15);
  std::uint64_t valid = 0;
  for (int round = 0; round < 200'000; ++round) {
    packet_head head = head_of(static_cast<packet_kind>(random() % 7), static_cast<std::uint16_t>(random() % 4));
    packet_bytes bytes(head);
    for (unsigned part = 0; part < random() % 4; ++part)
      bytes
          .add(message_head{.body_bytes = static_cast<std::uint32_t>(random() % 9),
                            .header_bytes = static_cast<std::uint16_t>(random() % 9),
                            .copies = static_cast<std::uint16_t>(random())})
          .add_zeros(random() % 17);
    const bool alone = random() % 2 == 0;
    const decoded result = alone ? decode(bytes.span(), {}) : decode({}, bytes.span());
    if (result.verdict != packet_verdict::valid) continue;
    ++valid;
    if (result.view.head.kind != packet_kind::short_messages) continue;
    std::span<const std::byte> rest = result.view.body;
    for (unsigned i = 0; i < result.view.head.messages; ++i) next_message(rest);
    EXPECT_TRUE(rest.empty());
  }
  EXPECT_GT(valid, 1000U);
}

TEST(port_address, comes_back_as_it_was) {
  const packet_secret secret = packet_secret::make();
  const std::array<std::byte, 3> conduit = {std::byte{1}, std::byte{2}, std::byte{3}};
  const std::vector<std::byte> bytes = encode_address(secret, true, conduit);
  const port_address read = decode_address(3, bytes);
  EXPECT_EQ(read.secret.tag, secret.tag);
  EXPECT_EQ(read.secret.key, secret.key);
  EXPECT_TRUE(read.has_checks);
  EXPECT_EQ(read.of_conduit, std::vector<std::byte>(conduit.begin(), conduit.end()));
  EXPECT_NE(packet_secret::make().tag, secret.tag);
  EXPECT_THROW(decode_address(3, std::span(bytes).first(47)), std::runtime_error);
}

TEST(arrived_numbers, each_comes_once) {
  arrived_numbers numbers;
  std::mt19937 random(1);
  std::vector<std::uint64_t> order(1000);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  for (const std::uint64_t number : order) {
    EXPECT_TRUE(numbers.add(number));
    EXPECT_FALSE(numbers.add(number));
  }
  EXPECT_EQ(numbers.low_water_mark(), order.size());
  EXPECT_EQ(numbers.above(), 0U);
  for (const std::uint64_t number : order) EXPECT_FALSE(numbers.add(number));
}

}  // namespace
}  // namespace tri::wire::test
